import Foundation

/// A .npy file (numpy's format 1 to 3, no pickle). Of the arrays of values, only the one of the file's dtype
/// is filled.
public struct NumpyFile: Sendable {
    public let dtype: String
    public let shape: [Int]
    public let values: [Float]
    public let integers: [Int64]
    public let bytes: [UInt8]

    private static let descr = Pattern(#"'descr':\s*'([^']*)'"#)
    private static let order = Pattern(#"'fortran_order':\s*(True|False)"#)
    private static let shapes = Pattern(#"'shape':\s*\(([0-9, ]*)\)"#)

    /// Raises Failure.value for bytes that are not such an array. For float64, only dtype and shape are read.
    public init(_ raw: [UInt8]) throws {
        guard raw.count >= 10, raw.starts(with: [0x93] + Array("NUMPY".utf8)) else { throw Failure.value("no .npy magic") }
        let blob = Bytes(raw), wide = raw[6] > 1
        let length = wide ? Int(try blob.integer(UInt32.self, at: 8)) : Int(try blob.integer(UInt16.self, at: 8)), begin = (wide ? 12 : 10) + length
        guard begin <= raw.count else { throw Failure.value("a header that is cut") }
        let header = String(decoding: raw[(wide ? 12 : 10)..<begin], as: UTF8.self).scalars
        guard let descr = NumpyFile.descr.search(header)?[1]?.string, NumpyFile.order.search(header)?[1]?.string == "False",
            let sizes = NumpyFile.shapes.search(header)?[1]?.string
        else { throw Failure.value("a header that says no plain array") }
        dtype = descr
        shape = sizes.split(separator: ",").compactMap { Int($0.trimmingCharacters(in: .whitespaces)) }
        guard let size = ["<f4": 4, "<f8": 8, "|u1": 1, "<u2": 2, "<i8": 8][descr] else { throw Failure.value("values of type \(descr)") }
        var count = 1
        for side in shape {
            let (product, overflow) = count.multipliedReportingOverflow(by: side)
            guard !overflow, product <= raw.count else { throw Failure.value("a shape that the file does not hold") }
            count = product
        }
        guard raw.count - begin >= count * size else { throw Failure.value("\(raw.count - begin) bytes where \(count * size) are needed") }
        values = descr == "<f4" ? try blob.integers(UInt32.self, at: begin, count: count).map { Float(bitPattern: $0) } : []
        switch descr {
        case "<i8": integers = try blob.integers(Int64.self, at: begin, count: count)
        case "<u2": integers = try blob.integers(UInt16.self, at: begin, count: count).map(Int64.init)
        default: integers = []
        }
        bytes = descr == "|u1" ? Array(raw[begin..<(begin + count)]) : []
    }
}
