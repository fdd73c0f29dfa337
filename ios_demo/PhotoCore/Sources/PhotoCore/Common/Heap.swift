/// A binary heap that returns the least item first.
struct Heap<Item: Comparable> {
    private(set) var items: [Item] = []

    var isEmpty: Bool { items.isEmpty }
    var count: Int { items.count }
    var first: Item? { items.first }

    mutating func push(_ item: Item) {
        items.append(item)
        var at = items.count - 1
        while at > 0, items[at] < items[(at - 1) / 2] {
            items.swapAt(at, (at - 1) / 2)
            at = (at - 1) / 2
        }
    }

    mutating func pop() -> Item? {
        guard let least = items.first else { return nil }
        let last = items.removeLast()
        if !items.isEmpty { replaceFirst(last) }
        return least
    }

    /// Puts an item in the place of the least one.
    mutating func replaceFirst(_ item: Item) {
        var at = 0
        while true {
            var child = 2 * at + 1
            if child >= items.count { break }
            if child + 1 < items.count && items[child + 1] < items[child] { child += 1 }
            if !(items[child] < item) { break }
            items[at] = items[child]
            at = child
        }
        items[at] = item
    }
}
