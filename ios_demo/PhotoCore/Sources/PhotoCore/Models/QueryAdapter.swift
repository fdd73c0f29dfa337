import Foundation

/// How a text tower reads queries (runtime/models/query_adapter.py): a line of JSON, then float32 values
/// [layers, 2, rank, width], little endian. `tower`: the source of the tower's weights that it was made for.
public struct QueryAdapter: Sendable {
    public static let input = "adapter"
    static let file = "query.adapter"
    private static let maxHeader = 4096, maxValues = 8 << 20

    let path: String
    let tower: String
    let shape: [Int]
    let values: Tensor

    /// A person's own, beside the album.
    public static func beside(_ album: String) -> String { album + ".adapter" }

    /// The shape of the adapters that a text tower takes; nil for one that takes none.
    static func shape(of artifact: Artifact) -> [Int]? { artifact.inputs.first { $0.name == input }?.shape.compactMap(\.fixed) }

    /// Raises Failure.runtime for a file that is no adapter.
    public init(_ path: String) throws {
        func refused(_ why: String) -> Failure { .runtime("\(path): not a query adapter (\(why)): delete it or train it again") }
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe) else { throw refused("it cannot be read") }
        guard data.count <= QueryAdapter.maxHeader + 4 * QueryAdapter.maxValues, let end = data.prefix(QueryAdapter.maxHeader).firstIndex(of: 10) else { throw refused("no header") }
        guard let header = try? JSON.parse([UInt8](data[..<end])), header["format"]?.int == 1, let tower = header["tower"]?.string,
            let shape = header["shape"]?.array?.compactMap(\.int), shape.count == 4, shape[1] == 2, shape.allSatisfy({ (1...65_536).contains($0) })
        else { throw refused("its first line does not say format, tower and shape") }
        let count = shape.reduce(1) { min($0 * $1, QueryAdapter.maxValues + 1) }
        let raw = [UInt8](data[(end + 1)...])
        guard count <= QueryAdapter.maxValues, raw.count == 4 * count else { throw refused("\(raw.count) bytes of values for shape \(shape)") }
        let read = try Bytes(raw).integers(UInt32.self, at: 0, count: count).map { Float(bitPattern: $0) }
        guard read.allSatisfy(\.isFinite) else { throw refused("a value is not a number") }
        (self.path, self.tower, self.shape, values) = (path, tower, shape, .float(read, shape: shape))
    }

    /// This adapter, if it was made for the tower; raises Failure.runtime otherwise.
    func fitting(_ artifact: Artifact, _ source: String) throws -> QueryAdapter {
        let wanted = QueryAdapter.shape(of: artifact)
        guard tower == source, shape == wanted else { throw Failure.runtime("\(path): made for the text tower '\(tower)' \(shape), not for '\(source)' \(wanted ?? []): train it again") }
        return self
    }
}
