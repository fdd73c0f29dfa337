import Foundation

/// What a line in a picture says. `confidence`: the mean probability of its characters.
public struct Line: Sendable {
    public let text: String
    public let confidence: Double
    public let box: LineBox
}

/// Reads the text in a picture with a bundle's two text networks: one finds lines, the other reads a line
/// (runtime/models/printed.py). A line that is read with little confidence is read the other way up, too.
public final class LineReader {
    public static let detector = "ocr_detector", recogniser = "ocr_recogniser", characters = "ocr_characters.txt"
    /// The shorter side that a photo is to be decoded at, so that small print in it can be read.
    public static let photo = 1_200
    private static let least = 736, most = 1_280 // of a picture's shorter and longer side, in the detector
    private static let step = 32, narrowest = 320, widest = 2_400
    private static let grey: Float = 127.5
    private static let sure = 0.9 // below it, a line is read the other way up, too,
    private static let turns = 10 // until that was in vain for so many lines of a picture
    private static let maxCharacters = 65_536, maxCharacter = 16

    private let detector, recogniser: ModelSession
    private let characters: [String]
    private let fixed: Int

    /// Raises Failure.runtime for a detector of a fixed size that is no square of whole steps.
    public init(_ detector: ModelSession, _ recogniser: ModelSession, characters: [String]) throws {
        (self.detector, self.recogniser, self.characters) = (detector, recogniser, characters + [" "])
        let sides = Set(detector.artifact.inputs[0].shape[1..<3].compactMap(\.fixed))
        guard sides.count < 2, sides.allSatisfy({ $0 % LineReader.step == 0 }) else {
            throw Failure.runtime("the text detector takes \(sides.sorted()) pixels: export it again")
        }
        fixed = sides.first ?? 0
    }

    /// The characters of a bundle's file, a line each. Raises Failure.bundle for one that is no such list.
    public static func characters(_ path: String) throws -> [String] {
        guard let data = FileManager.default.contents(atPath: path), data.count <= maxCharacters * maxCharacter else {
            throw Failure.bundle("\(path): too large for a list of characters: export the bundle again")
        }
        var listed = String(decoding: data, as: UTF8.self).unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
        if listed.last == "" { listed.removeLast() }
        guard !listed.isEmpty, listed.count < maxCharacters, listed.allSatisfy({ !$0.isEmpty && $0.unicodeScalars.count <= maxCharacter }) else {
            throw Failure.bundle("\(path): must hold a character a line: export the bundle again")
        }
        return listed
    }

    /// The lines as one reads them: from the top, and in a row from the left. Raises Failure.runtime.
    public func read(_ pixels: Pixels) throws -> [Line] {
        var inVain = 0
        return try detect(pixels).compactMap { box in
            let (line, width, canvas) = cut(pixels, box)
            var best = try decoded(line, width, canvas)
            if best.1 < LineReader.sure, inVain < LineReader.turns {
                var turned = line
                for at in line.indices { turned[at] = line[line.count - 3 - at / 3 * 3 + at % 3] }
                let other = try decoded(turned, width, canvas)
                if other.1 > best.1 { best = other } else { inVain += 1 }
            }
            return best.0.allSatisfy(\.isWhitespace) ? nil : Line(text: best.0, confidence: best.1, box: box)
        }
    }

    private func detect(_ pixels: Pixels) throws -> [LineBox] {
        let wanted = detector.artifact.inputs[0]
        let (width, height) = LineReader.detectedSize(pixels.width, pixels.height, fixed: fixed)
        let whole: Resize.Box = (0, 0, Float(pixels.width), Float(pixels.height))
        let resized = Resize.rgb(
            pixels.bytes, width: pixels.width, height: pixels.height, box: whole, outWidth: width, outHeight: height, filter: .bilinear)
        let wide = fixed > 0 ? fixed : width, high = fixed > 0 ? fixed : height
        let values = Canvas.put(resized.map(Float.init), width, height, on: wide, high, grey: LineReader.grey)
        let out = try detector.run([wanted.name: .float(values, shape: [1, high, wide, 3])])
        let likely = out[detector.artifact.outputs[0].name]?.floats ?? []
        guard likely.count == wide * high else { throw Failure.runtime("the text detector gave \(likely.count) values for \(wide) × \(high): export it again") }
        let across = Double(pixels.width) / Double(width), down = Double(pixels.height) / Double(height)
        let found = LineBoxes.find(likely, width: width, height: height, stride: wide).prefix(LineBoxes.most)
        return LineBoxes.inReadingOrder(found.map { $0.scaled(across, down) })
    }

    /// A line, its width, and that of the canvas on which it is read.
    private func cut(_ pixels: Pixels, _ box: LineBox) -> (line: [Float], width: Int, canvas: Int) {
        let fixed = recogniser.artifact.inputs[0].shape[2].fixed
        let ideal = Int((Double(LineBoxes.height) * box.width / max(box.height, 1)).rounded(.up))
        let width = max(1, min(ideal, fixed ?? LineReader.widest))
        let canvas = fixed ?? max(LineReader.narrowest, (width + LineReader.step - 1) / LineReader.step * LineReader.step)
        return (LineBoxes.cut(pixels, box, width: width), width, canvas)
    }

    private func decoded(_ line: [Float], _ width: Int, _ canvas: Int) throws -> (String, Double) {
        let artifact = recogniser.artifact, values = Canvas.put(line, width, LineBoxes.height, on: canvas, LineBoxes.height, grey: LineReader.grey)
        let out = try recogniser.run([artifact.inputs[0].name: .float(values, shape: [1, LineBoxes.height, canvas, 3])])
        let both = artifact.outputs.map { out[$0.name]?.floats ?? [] }
        return try LineReader.decoded(both[0], both[1], characters)
    }

    /// The width and height in which the detector sees a picture; `fixed`: the side of its canvas, or 0.
    public static func detectedSize(_ width: Int, _ height: Int, fixed: Int) -> (width: Int, height: Int) {
        let short = Double(min(width, height)), long = Double(max(width, height))
        let scale = fixed > 0 ? Double(fixed) / long : min(max(1, Double(least) / short), Double(most) / long)
        func side(_ of: Int) -> Int { max(step, Int((Double(of) * scale / Double(step) + 0.5).rounded(.down)) * step) }
        return (side(width), side(height))
    }

    /// The text of codes and the mean of their scores: repeated codes count once, the code 0 is none. Raises Failure.runtime
    /// for a code without a character, or without a score.
    public static func decoded(_ codes: [Float], _ scores: [Float], _ characters: [String]) throws -> (String, Double) {
        guard codes.count == scores.count, codes.allSatisfy({ abs($0) < 1e9 }) else {
            throw Failure.runtime("the text recogniser gave no characters: export it again")
        }
        let whole = codes.map { Int($0) }, kept = whole.indices.filter { whole[$0] != 0 && ($0 == 0 || whole[$0] != whole[$0 - 1]) }
        guard kept.allSatisfy({ (1...characters.count).contains(whole[$0]) }) else {
            throw Failure.runtime("the text recogniser knows more characters than the bundle lists: export it again")
        }
        if kept.isEmpty { return ("", 0) }
        let text = kept.map { characters[whole[$0] - 1] }.joined()
        return (text, kept.reduce(0) { $0 + Double(scores[$1]) } / Double(kept.count))
    }
}
