import Foundation

/// One word of the query, with the photos that hold it. `rows`: ascending photo rows; `bm25`: positive, of
/// each photo's best memory. `rarity`: the word's inverse document frequency over memories.
public struct Word: Sendable {
    public let text: String
    public let rows: [Int]
    public let bm25: [Float]
    public let rarity: Double

    public init(text: String, rows: [Int], bm25: [Float], rarity: Double) { (self.text, self.rows, self.bm25, self.rarity) = (text, rows, bm25, rarity) }
}

/// All words of a query, over an album of `photos` rows (index/album/layers/lexical.py: BM25 by FTS5, word by word).
public struct WordScores: Sendable {
    public let words: [Word]
    public let photos: Int
    private let sums: [Float]
    private let shares: [Float]

    public init(words: [Word], photos: Int) {
        let whole = words.reduce(0) { $0 + $1.rarity }
        var sums = [Float](repeating: 0, count: photos), shares = sums
        for word in words {
            let share = Float(word.rarity / whole)
            for (row, score) in zip(word.rows, word.bm25) {
                sums[row] += score
                shares[row] += share
            }
        }
        (self.words, self.photos, self.sums, self.shares) = (words, photos, sums, shares)
    }

    /// By row: the sum over words; 0 for a photo that holds none.
    public func bm25() -> [Float] { sums }

    /// By row, in 0..1: the share of query words that the photo holds, weighted by rarity.
    public func coverage() -> [Float] { shares }
}

enum Lexical {
    private static let maxWords = 64
    private static let sql = "SELECT rowid, bm25(memories_fts) FROM memories_fts WHERE memories_fts MATCH ? LIMIT ?"

    /// Looks up each word of a query. `spellings`: for each word its forms, the plain one first. `owner`: the
    /// photo row of each memory id. Common words are left out, since the vectors cover their meaning.
    static func lookUp(_ db: Database, _ spellings: [[Text]], _ owner: [Int], photos: Int) throws -> WordScores {
        let bound = min(10_000, Int(1_000 + 0.02 * Double(owner.count)))
        var words: [Word] = []
        for forms in spellings.prefix(maxWords) {
            let hits = try matches(db, forms, bound + 1)
            if hits.count <= bound { words.append(try word(forms, hits, owner)) }
        }
        return WordScores(words: words, photos: photos)
    }

    private static func matches(_ db: Database, _ forms: [Text], _ limit: Int) throws -> [(memory: Int, score: Double)] {
        try forms.flatMap { form in try db.rows(sql, [quoted(form), .integer(limit)]).map { ($0[0].integer ?? -1, $0[1].real ?? 0) } }
    }

    /// Whether a memory holds a form.
    static func holds(_ db: Database, _ form: Text) throws -> Bool {
        try !db.rows("SELECT 1 FROM memories_fts WHERE memories_fts MATCH ? LIMIT 1", [quoted(form)]).isEmpty
    }

    /// In quotation marks, so that no word is read as FTS5 syntax.
    private static func quoted(_ form: Text) -> Value { .text("\"" + form.string.replacingOccurrences(of: "\"", with: "\"\"") + "\"") }

    private static func word(_ forms: [Text], _ hits: [(memory: Int, score: Double)], _ owner: [Int]) throws -> Word {
        try Loader.within(hits.map(\.memory), owner.count, "words of memories")
        var rows: [Int] = [], best: [Float] = []
        for (row, score) in hits.map({ (owner[$0.memory], Float(-$0.score)) }).sorted(by: { $0.0 < $1.0 }) {
            if rows.last == row { best[best.count - 1] = max(best[best.count - 1], score) } else {
                rows.append(row)
                best.append(score)
            }
        }
        let n = Double(owner.count), held = Double(forms.count == 1 ? hits.count : Set(hits.map(\.memory)).count)
        return Word(text: forms[0].string, rows: rows, bm25: best, rarity: log(1 + (n - held + 0.5) / (held + 0.5)))
    }
}
