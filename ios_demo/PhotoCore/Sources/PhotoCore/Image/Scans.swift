import Foundation

/// Counts the scans of a JPEG, each of which passes over the whole picture: half a megabyte can hold thousands.
/// As in the Python code (index/ingest/pixels.py).
public enum Scans {
    private static let most = 4_000_000_000  // pixels that all scans together may pass over
    private static let least = 65_536  // pixels that a scan counts for at least

    /// Whether a picture of this size may be decoded; always, if `data` is no JPEG.
    public static func mayBeDecoded(_ data: Data, width: Int, height: Int) -> Bool {
        count(data, atMost: Int(Double(most) / max(Double(width) * Double(height), Double(least)))) != nil
    }

    /// The scans of the first picture of a JPEG, which may be cut short; nil for more than `atMost`.
    static func count(_ data: Data, atMost: Int) -> Int? {
        data.withUnsafeBytes { bytes in
            guard bytes.starts(with: [0xFF, 0xD8]) else { return 0 }
            var (scans, at) = (0, 2)
            while let kind = marker(bytes, &at), kind != 0xD9 {
                if kind == 0xDA { scans += 1 }
                if scans > atMost { return nil }
                if kind == 0x01 || kind == 0xD8 { continue }  // all others have a length, which counts its own two bytes
                guard at + 1 < bytes.count else { break }
                at += max(Int(bytes[at]) << 8 | Int(bytes[at + 1]), 2)
            }
            return scans
        }
    }

    /// The next marker, past coded data, in which FF is followed by 00, by the number of a restart, or by another FF;
    /// `at` is behind it.
    private static func marker(_ bytes: UnsafeRawBufferPointer, _ at: inout Int) -> UInt8? {
        while at + 1 < bytes.count {
            let (first, second) = (bytes[at], bytes[at + 1])
            at += 1
            if first != 0xFF || second == 0 || second == 0xFF || (0xD0...0xD7).contains(second) { continue }
            at += 1
            return second
        }
        return nil
    }
}
