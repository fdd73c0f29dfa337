/// A binary heap that returns the least item first.
struct Heap<Item: Comparable> {
    private var items: [Item] = []

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
        if items.isEmpty { return least }
        items[0] = last
        var at = 0
        while true {
            var small = at
            for child in [2 * at + 1, 2 * at + 2] where child < items.count && items[child] < items[small] { small = child }
            if small == at { return least }
            items.swapAt(at, small)
            at = small
        }
    }
}
