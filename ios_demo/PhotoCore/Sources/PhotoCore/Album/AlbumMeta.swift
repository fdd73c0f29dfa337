/// The encoders that an album was built with. `delta`: the entity similarity threshold calibrated for
/// `textEncoder`. `dim`: entity vectors' length.
public struct AlbumMeta: Sendable, Equatable {
    public let textEncoder: String
    public let imageEncoder: String
    public let dim: Int
    public let delta: Double

    public init(textEncoder: String, imageEncoder: String, dim: Int, delta: Double) {
        (self.textEncoder, self.imageEncoder, self.dim, self.delta) = (textEncoder, imageEncoder, dim, delta)
    }

    /// Raises Failure.album for a table in which a value is missing or damaged.
    init(_ db: Database, _ path: String) throws {
        var found: [String: String] = [:]
        for row in try db.rows("SELECT key, value FROM meta") { found[row[0].text ?? ""] = AlbumMeta.said(row[1]) }
        if let crc = found["crc"], Int(crc) != AlbumMeta.checksum(found) {
            throw Failure.album("\(path): the meta table is damaged (its checksum differs); build the album again")
        }
        guard let text = found["text_encoder"], let image = found["image_encoder"], let dim = found["dim"].flatMap(Int.init),
            let delta = found["delta"].flatMap(Double.init)
        else { throw Failure.album("\(path): the meta table lacks or spoils a value; build the album again") }
        (textEncoder, imageEncoder, self.dim, self.delta) = (text, image, dim, delta)
    }

    /// What the table says of the encoders, and is covered by its checksum.
    var told: [String: String] { ["text_encoder": textEncoder, "image_encoder": imageEncoder, "dim": String(dim), "delta": "\(delta)"] }

    static func checksum(_ found: [String: String]) -> Int {
        Checksum.values(["text_encoder", "image_encoder", "dim", "delta"].map { .text(found[$0] ?? "") })
    }

    private static func said(_ value: Value) -> String {
        switch value {
        case .text(let text): return text
        case .integer(let number): return String(number)
        default: return ""
        }
    }
}
