/// How a photo shows an entity (`mentions.leaf`): it hangs on the first two; a `child` describes another entity
/// that the photo shows, and the graph reaches it from there.
enum Leaf: Int {
    case parent = 0
    case alone = 1
    case child = 2

    /// Entity → its code, for one photo. `alone`: entities that a memory names without saying what they
    /// describe; `children`: parent → entities that describe it. Entities that describe one another in a
    /// circle are not reached from outside: the photo hangs on all of them.
    static func leaves(_ alone: Set<Int>, _ children: [Int: Set<Int>]) -> [Int: Leaf] {
        let described = Set(children.values.joined())
        let roots = alone.union(children.keys.filter { !described.contains($0) })
        var reached = roots, waiting = Array(roots)
        while let entity = waiting.popLast() {
            waiting += (children[entity] ?? []).filter { reached.insert($0).inserted }
        }
        var out: [Int: Leaf] = [:]
        for entity in alone.union(described).union(children.keys) {
            let hangs = roots.contains(entity) || !reached.contains(entity)
            out[entity] = hangs ? (children[entity] == nil ? .alone : .parent) : .child
        }
        return out
    }
}
