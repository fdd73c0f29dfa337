import Foundation

/// Which pictures' text is read (runtime/indexing/ocr.py): those of mostly flat colour, as screens have, those with rows of
/// fine strokes, as print has, and those in which the image encoder sees something that carries text.
public enum Written {
    private static let labelFloor: Float = 0.10
    private static let minFlat = 0.60 // the least share of neighbouring pixels that are equal
    private static let minPrint = 0.02 // the least share of the picture that looks like print
    private static let minConfidence = 0.70 // a line read with less confidence is noise
    private static let maxText = 4_000, side = 768, strong = 40, near = 24.0

    // First names of ImageNet classes whose objects carry text.
    private static let labels: Set<String> = [
        "web site", "menu", "comic book", "book jacket", "crossword puzzle", "packet", "envelope", "street sign", "scoreboard", "screen",
        "monitor", "notebook", "desktop computer", "hand-held computer", "cellular telephone", "slot", "vending machine", "tobacco shop",
        "bookshop", "grocery store", "pill bottle", "binder", "carton", "cash machine", "digital clock", "odometer", "rule", "pay-phone",
    ]

    /// The text of lines that were read, but of those that are noise.
    static func text(_ read: [Line]) -> String {
        let lines = read.filter { $0.confidence >= minConfidence }
            .map { $0.text.split(whereSeparator: \.isWhitespace).joined(separator: " ") }.filter { $0.unicodeScalars.count > 1 }
        return Text(lines.joined(separator: "\n")).prefix(maxText).reduce(into: "") { $0.unicodeScalars.append($1) }
    }

    static func isWorthReading(_ pixels: Pixels, _ seen: [(name: String, share: Float)]) -> Bool {
        if seen.contains(where: { $0.share >= labelFloor && labels.contains($0.name) }) { return true }
        let grey = Grey(pixels)
        return flat(grey) >= minFlat || print(grey) >= minPrint
    }

    /// Brightness, row by row; at most `side` on the longer side, averaged over areas.
    public struct Grey {
        let width, height: Int
        let values: [Int]

        subscript(x: Int, y: Int) -> Int { values[y * width + x] }

        public init(_ pixels: Pixels) {
            var bytes = pixels.bytes
            for at in stride(from: 0, to: bytes.count, by: 3) {
                let value = UInt8((19_595 * Int(bytes[at]) + 38_470 * Int(bytes[at + 1]) + 7_471 * Int(bytes[at + 2]) + 0x8000) >> 16)
                (bytes[at], bytes[at + 1], bytes[at + 2]) = (value, value, value)
            }
            let scale = min(1, Double(side) / Double(max(pixels.width, pixels.height)))
            width = max(1, Int((Double(pixels.width) * scale + 0.5).rounded(.down)))
            height = max(1, Int((Double(pixels.height) * scale + 0.5).rounded(.down)))
            let whole: Resize.Box = (0, 0, Float(pixels.width), Float(pixels.height))
            let small = Resize.rgb(bytes, width: pixels.width, height: pixels.height, box: whole, outWidth: width, outHeight: height, filter: .box)
            values = stride(from: 0, to: small.count, by: 3).map { Int(small[$0]) }
        }
    }

    public static func flat(_ grey: Grey) -> Double {
        if grey.width < 2 { return 1 }
        var equal = 0
        for y in 0..<grey.height { for x in 1..<grey.width where grey[x, y] == grey[x - 1, y] { equal += 1 } }
        return Double(equal) / Double((grey.width - 1) * grey.height)
    }

    /// The share of 8 × 32 blocks that look like print, beside another such block: brightness jumps up and down several
    /// times along most lines, over a plain background.
    public static func print(_ grey: Grey) -> Double {
        let rows = grey.height / 8, columns = (grey.width - 1) / 32
        if rows == 0 || columns < 2 { return 0 }
        var paired = 0
        for row in 0..<rows {
            let like = (0..<columns).map { isPrint(grey, 32 * $0, 8 * row) }
            paired += (1..<columns).filter { like[$0 - 1] && like[$0] }.count
        }
        return Double(paired) / Double(rows * (columns - 1))
    }

    private static func isPrint(_ grey: Grey, _ left: Int, _ top: Int) -> Bool {
        var busy = 0
        for y in top..<(top + 8) {
            var ups = 0, downs = 0
            for x in left..<(left + 32) {
                let step = grey[x + 1, y] - grey[x, y]
                if step > strong { ups += 1 } else if step < -strong { downs += 1 }
            }
            if ups >= 2 && downs >= 2 { busy += 1 }
        }
        if busy < 4 { return false }
        let block = (0..<256).map { Double(grey[left + 1 + $0 % 32, top + $0 / 32]) }, sorted = block.sorted()
        let low = (sorted[25] + sorted[26]) / 2, high = (sorted[229] + sorted[230]) / 2
        func count(_ level: Double) -> Int { block.filter { abs($0 - level) < near }.count }
        // Print leaves part of the paper blank; a block with jumps everywhere is grass or gravel.
        return Double(count((count(high) >= count(low) ? high : low).rounded(.down))) > 0.35 * 256
    }
}
