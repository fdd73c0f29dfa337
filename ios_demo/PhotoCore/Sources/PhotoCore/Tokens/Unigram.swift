/// SentencePiece's unigram model (Kudo 2018): of all ways to cut a piece of text into pieces of the vocabulary,
/// the one of the greatest sum of scores. A character that no piece begins with costs `unknownCost` more than
/// the worst piece; adjacent ones become one unknown token, or their bytes.
///
/// The pieces are one array of bytes with sorted offsets and not a string each, since a multilingual vocabulary
/// has 250,000.
struct Unigram: Sendable {
    private let bytes: [UInt8]
    private let begins: [Int32]  // by id, and the end of the last
    private let scores: [Double]
    private let sorted: [Int32]  // ids in the order of their bytes
    private let unknown: Int
    private let unknownScore: Double
    private var byteIds: [Int]?

    private static let unknownCost = 10.0

    init(_ raw: JSON) throws {
        let vocab = raw["vocab"]?.array ?? []
        guard let unknown = raw["unk_id"]?.int, vocab.indices.contains(unknown) else { throw Failure.value("a Unigram vocabulary without an unknown token") }
        var bytes: [UInt8] = [], begins: [Int32] = [0], scores: [Double] = []
        for entry in vocab {
            bytes += Array((entry[0]?.string ?? "").utf8)
            begins.append(Int32(bytes.count))
            scores.append(entry[1]?.double ?? 0)
        }
        func compared(_ a: Int32, _ b: Int32) -> Int {
            let one = Int(begins[Int(a)])..<Int(begins[Int(a) + 1]), other = Int(begins[Int(b)])..<Int(begins[Int(b) + 1])
            for n in 0..<min(one.count, other.count) where bytes[one.lowerBound + n] != bytes[other.lowerBound + n] {
                return Int(bytes[one.lowerBound + n]) - Int(bytes[other.lowerBound + n])
            }
            return one.count - other.count
        }
        // Of two pieces with the same text the later one counts.
        let order = (0..<Int32(scores.count)).sorted {
            let difference = compared($0, $1)
            return difference != 0 ? difference < 0 : $0 > $1
        }
        sorted = order.indices.filter { $0 == 0 || compared(order[$0 - 1], order[$0]) != 0 }.map { order[$0] }
        (self.bytes, self.begins, self.scores, self.unknown) = (bytes, begins, scores, unknown)
        unknownScore = (scores.min() ?? 0) - Unigram.unknownCost
        if raw["byte_fallback"]?.bool == true {
            let digits = Array("0123456789ABCDEF")
            let ids = (0..<256).compactMap { value in
                let name = Array("<0x\(digits[value >> 4])\(digits[value & 15])>".utf8)
                return id(name, 0..<name.count)
            }
            byteIds = ids.count == 256 ? ids : nil
        }
    }

    func ids(_ word: Text) -> [Int] {
        let text = word.utf8
        let (starts, lasts) = bestPath(text)
        var spans: [(range: Range<Int>, isUnknown: Bool)] = [], end = text.count
        // Backwards along the best path; adjacent unknown characters are one.
        while end > 0 {
            let begin = starts[end], isUnknown = lasts[end] == unknown
            if isUnknown, let last = spans.last, last.isUnknown {
                spans[spans.count - 1].range = begin..<last.range.upperBound
            } else {
                spans.append((begin..<end, isUnknown))
            }
            end = begin
        }
        return spans.reversed().flatMap { span -> [Int] in
            if let id = id(text, span.range) { return [id] }
            return byteIds.map { ids in text[span.range].map { ids[Int($0)] } } ?? [unknown]
        }
    }

    /// The vocabulary, by id.
    func pieces() -> [Text] { scores.indices.map { String(decoding: bytes[Int(begins[$0])..<Int(begins[$0 + 1])], as: UTF8.self).scalars } }

    private func id(_ text: [UInt8], _ range: Range<Int>) -> Int? {
        var low = 0, high = sorted.count
        for at in range {
            let byte = Int(text[at])
            low = first(low, high, at - range.lowerBound, byte)
            high = first(low, high, at - range.lowerBound, byte + 1)
        }
        return low < high && length(sorted[low]) == range.count ? Int(sorted[low]) : nil
    }

    private func length(_ id: Int32) -> Int { Int(begins[Int(id) + 1] - begins[Int(id)]) }

    /// The first place in low..<high of `sorted` whose piece has at `depth` a byte of `least` or more.
    private func first(_ low: Int, _ high: Int, _ depth: Int, _ least: Int) -> Int {
        var (a, b) = (low, high)
        while a < b {
            let middle = (a + b) / 2, id = sorted[middle]
            let value = depth < length(id) ? Int(bytes[Int(begins[Int(id)]) + depth]) : -1
            if value < least { a = middle + 1 } else { b = middle }
        }
        return a
    }

    /// For each position where a piece ends: where the best path's last piece begins, and its id.
    private func bestPath(_ text: [UInt8]) -> (starts: [Int], ids: [Int]) {
        var starts = [Int](repeating: -1, count: text.count + 1), ids = starts, best = [Double](repeating: 0, count: text.count + 1)
        func offer(_ end: Int, _ score: Double, _ start: Int, _ id: Int) {
            if starts[end] < 0 || score > best[end] { (starts[end], ids[end], best[end]) = (start, id, score) }
        }
        var start = 0
        while start < text.count {
            let letter = text[start] < 0x80 ? 1 : text[start] < 0xe0 ? 2 : text[start] < 0xf0 ? 3 : 4, here = best[start]
            var hasLetter = false, low = 0, high = sorted.count, at = start
            while at < text.count, low < high {
                low = first(low, high, at - start, Int(text[at]))
                high = first(low, high, at - start, Int(text[at]) + 1)
                at += 1
                // The shortest piece of a range is its first: this prefix itself, if it is a piece.
                if low < high, length(sorted[low]) == at - start {
                    offer(at, here + scores[Int(sorted[low])], start, Int(sorted[low]))
                    if at - start == letter { hasLetter = true }
                }
            }
            if !hasLetter { offer(start + letter, here + unknownScore, start, unknown) }
            start += letter
        }
        return (starts, ids)
    }
}
