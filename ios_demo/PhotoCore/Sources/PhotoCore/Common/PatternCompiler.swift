/// Compiles a pattern's tree to the steps of the machine.
struct PatternCompiler {
    var steps: [Pattern.Step] = []
    var sets: [CharacterClass] = []
    var slots: Int

    init(groups: Int) { slots = 2 * groups + 2 }

    mutating func add(_ node: PatternNode) throws {
        switch node {
        case .one(let set):
            sets.append(set)
            steps.append(.one(sets.count - 1))
        case .sequence(let items): for item in items { try add(item) }
        case .choice(let branches): try choose(branches)
        case .group(let number, let inner):
            steps.append(.save(2 * number))
            try add(inner)
            steps.append(.save(2 * number + 1))
        case .loop(let inner, let least, let most, let greedy): try loop(inner, least, most, greedy)
        case .look(let inner, let ahead, let negated): try look(inner, ahead, negated)
        case .again(let group): steps.append(.again(group))
        case .begin: steps.append(.begin)
        case .end: steps.append(.end)
        case .boundary: steps.append(.boundary)
        case .notBoundary: steps.append(.notBoundary)
        }
    }

    private mutating func choose(_ branches: [PatternNode]) throws {
        var ends: [Int] = []
        for branch in branches.dropLast() {
            let fork = reserve()
            try add(branch)
            ends.append(reserve())
            steps[fork] = .fork(fork + 1, steps.count)
        }
        try add(branches[branches.count - 1])
        for end in ends { steps[end] = .jump(steps.count) }
    }

    private mutating func loop(_ inner: PatternNode, _ least: Int, _ most: Int?, _ greedy: Bool) throws {
        if case .one(let set) = inner {
            sets.append(set)
            steps.append(.run(sets.count - 1, least: least, most: most ?? .max, greedy: greedy))
            return
        }
        for _ in 0..<least { try add(inner) }
        if let most {
            var forks: [Int] = []
            for _ in least..<max(least, most) {
                forks.append(reserve())
                try add(inner)
            }
            for fork in forks { steps[fork] = greedy ? .fork(fork + 1, steps.count) : .fork(steps.count, fork + 1) }
            return
        }
        let fork = reserve(), slot = slots
        slots += 1
        steps.append(.mark(slot))
        try add(inner)
        steps.append(.progress(slot))  // ends the loop if an iteration consumed nothing
        steps.append(.jump(fork))
        steps[fork] = greedy ? .fork(fork + 1, steps.count) : .fork(steps.count, fork + 1)
    }

    private mutating func look(_ inner: PatternNode, _ ahead: Bool, _ negated: Bool) throws {
        let width = ahead ? nil : try self.width(inner)
        let look = reserve()
        try add(inner)
        steps.append(.done)
        steps[look] = .look(end: steps.count, width: width, negated: negated)
    }

    private mutating func reserve() -> Int {
        steps.append(.done)
        return steps.count - 1
    }

    /// The number of characters that a node matches, which a look-behind needs. Raises Failure.value if it
    /// varies.
    private func width(_ node: PatternNode) throws -> Int {
        switch node {
        case .one: return 1
        case .sequence(let items): return try items.reduce(0) { $0 + (try width($1)) }
        case .group(_, let inner): return try width(inner)
        case .loop(let inner, let least, let most, _) where most == least: return least * (try width(inner))
        case .choice(let branches):
            let widths = try branches.map(width)
            guard Set(widths).count == 1 else { throw Failure.value("look-behind requires fixed-width pattern") }
            return widths[0]
        case .look, .begin, .end, .boundary, .notBoundary: return 0
        default: throw Failure.value("look-behind requires fixed-width pattern")
        }
    }
}
