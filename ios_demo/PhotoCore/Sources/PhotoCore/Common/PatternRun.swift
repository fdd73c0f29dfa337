/// The machine that executes a pattern's steps.
extension Pattern {
    private enum Choice {
        case branch(step: Int, at: Int)
        case shorter(step: Int, least: Int, at: Int)
        case longer(step: Int, set: Int, most: Int, at: Int)
        case restore(slot: Int, value: Int)
    }

    /// The slots of a match that begins at `start` and, if `whole` is set, extends to the end of the range;
    /// nil if there is none.
    func run(_ text: UnsafeBufferPointer<Unicode.Scalar>, _ range: Range<Int>, from start: Int, whole: Bool) -> [Int]? {
        var slots = [Int](repeating: -1, count: self.slots)
        guard let end = walk(text, range, step: 0, at: start, whole: whole, &slots) else { return nil }
        (slots[0], slots[1]) = (start, end)
        return slots
    }

    private func walk(_ text: UnsafeBufferPointer<Unicode.Scalar>, _ range: Range<Int>, step: Int, at: Int, whole: Bool, _ slots: inout [Int]) -> Int? {
        var step = step, at = at
        var choices: [Choice] = []
        let high = range.upperBound

        while true {
            var holds = true
            switch steps[step] {
            case .one(let set):
                holds = at < high && sets[set].contains(text[at])
                at += 1
                step += 1
            case .run(let set, let least, let most, let greedy):
                let begin = at, limit = most == .max ? high : min(high, begin + most)
                let wanted = greedy ? limit : min(limit, begin + least)
                while at < wanted, sets[set].contains(text[at]) { at += 1 }
                holds = at - begin >= least
                step += 1
                if holds && greedy && at > begin + least { choices.append(.shorter(step: step, least: begin + least, at: at)) }
                if holds && !greedy && at < limit { choices.append(.longer(step: step, set: set, most: limit, at: at)) }
            case .fork(let first, let second):
                choices.append(.branch(step: second, at: at))
                step = first
            case .jump(let to): step = to
            case .save(let slot), .mark(let slot):
                choices.append(.restore(slot: slot, value: slots[slot]))
                slots[slot] = at
                step += 1
            case .progress(let slot):
                // The next step jumps back to the loop's start; an iteration that consumed nothing skips it.
                step += slots[slot] == at ? 2 : 1
            case .look(let end, let width, let negated):
                let begin = at - (width ?? 0)
                var inner = slots
                let found = begin >= range.lowerBound && walk(text, range, step: step + 1, at: begin, whole: false, &inner) != nil
                holds = found != negated
                if holds && !negated {
                    for slot in 0..<(2 * groups + 2) where inner[slot] != slots[slot] {
                        choices.append(.restore(slot: slot, value: slots[slot]))
                        slots[slot] = inner[slot]
                    }
                }
                step = end
            case .again(let group):
                let from = slots[2 * group], to = slots[2 * group + 1]
                holds = from >= 0 && to >= from && at + (to - from) <= high && (0..<(to - from)).allSatisfy { text[from + $0] == text[at + $0] }
                at += max(0, to - from)
                step += 1
            case .begin:
                holds = at == range.lowerBound
                step += 1
            case .end:
                holds = at == high || (at == high - 1 && text[at] == "\n")
                step += 1
            case .boundary, .notBoundary:
                let before = at > range.lowerBound && text[at - 1].isWord, after = at < high && text[at].isWord
                if case .boundary = steps[step] { holds = before != after } else { holds = before == after }
                step += 1
            case .done:
                if !whole || at == high { return at }
                holds = false
            }
            if holds { continue }
            resume: while true {
                guard let choice = choices.popLast() else { return nil }
                switch choice {
                case .restore(let slot, let value): slots[slot] = value
                case .branch(let other, let place):
                    (step, at) = (other, place)
                    break resume
                case .shorter(let next, let least, let place):
                    if place - 1 > least { choices.append(.shorter(step: next, least: least, at: place - 1)) }
                    (step, at) = (next, place - 1)
                    break resume
                case .longer(let next, let set, let most, let place):
                    guard sets[set].contains(text[place]) else { continue }
                    if place + 1 < most { choices.append(.longer(step: next, set: set, most: most, at: place + 1)) }
                    (step, at) = (next, place + 1)
                    break resume
                }
            }
        }
    }
}
