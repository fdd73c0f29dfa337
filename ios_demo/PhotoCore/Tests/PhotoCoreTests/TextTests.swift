import XCTest

@testable import PhotoCore

final class TextTests: XCTestCase {
    func testPatternIsGreedyLeftmostAndBacktracks() {
        let found = Pattern("(?<a>a+)(?<b>ab|b)").search("xaaab".scalars)
        XCTAssertEqual(found?.span, 1..<5)
        XCTAssertEqual(found?["a"]?.string, "aaa")
        XCTAssertEqual(found?["b"]?.string, "b")
        XCTAssertEqual(Pattern("a|ab").search("ab".scalars)?.span, 0..<1)
        XCTAssertEqual(Pattern("a{2,3}?").search("aaaa".scalars)?.span, 0..<2)
        XCTAssertNil(Pattern("a").fullMatch("ab".scalars))
    }

    func testPatternLooksAroundAndBack() {
        XCTAssertEqual(Pattern(#"(?<![a-z])cat(?!s)"#).all("cats cat bobcat".scalars).map(\.start), [5])
        XCTAssertEqual(Pattern(#"(?<q>['"])\w+\k<q>"#).search(#"'a" "b""#.scalars)?.start, 4)
        XCTAssertEqual(Pattern(#"(?<=/)[0-9]{2}"#).search("1/23".scalars)?.span, 2..<4)
    }

    func testPatternEndsWithEmptyTurns() {
        XCTAssertEqual(Pattern("(?:a*)*b").search("aab".scalars)?.span, 0..<3)
        XCTAssertNil(Pattern("(?:a?)*c").search("aaaa".scalars))
        XCTAssertEqual(Pattern("x*").all("axb".scalars).map(\.span), [0..<0, 1..<2, 2..<2, 3..<3])
    }

    func testPatternKnowsPythonsClasses() {
        XCTAssertEqual(Pattern(#"\w+"#).all("größe_1 ½ 写真-x".scalars).map { $0.whole.string }, ["größe_1", "½", "写真", "x"])
        XCTAssertNotNil(Pattern(#"\s"#).search("\u{1c}".scalars))
        XCTAssertNil(Pattern(#"\s"#).search("\u{200b}".scalars))
        XCTAssertNotNil(Pattern("K", ignoringCase: true).search("\u{212a}".scalars))
    }

    func testPatternRefusesWhatItCannotRead() {
        for source in ["(a", "[a", #"(?<=a+)b"#, #"\k<x>"#] { XCTAssertThrowsError(try Pattern(reading: source)) }
    }

    func testAnEvilPatternOverflowsNoStack() {
        XCTAssertNotNil(Pattern("(?:a|b)*$").fullMatch(Text(repeating: "a", count: 200_000)))
    }

    func testTextsAreEqualByCodePointsOnly() {
        XCTAssertNotEqual("é".scalars, "e\u{301}".scalars)
        XCTAssertEqual("é", "e\u{301}")
        XCTAssertEqual("ΑΣ ΑΣΑ İ".scalars.lowered().string.unicodeScalars.map(\.value), "ας ασα i\u{307}".unicodeScalars.map(\.value))
        XCTAssertEqual("Straße ẞ ı ﬁ".scalars.casefolded().string, "strasse ss ı fi")
    }

    func testQuotedIsPythonsRepr() {
        XCTAssertEqual("it's".scalars.quoted, #""it's""#)
        XCTAssertEqual("a\n\u{7f}\u{200b}é'\"".scalars.quoted, #"'a\n\x7f\u200bé\'"'"#)
    }

    func testRoundingIsByTheBinaryValue() {
        XCTAssertEqual(rounded(0.00005, 4), 0.0001)
        XCTAssertEqual(rounded(2.675, 2), 2.67)
        XCTAssertEqual(rounded(-0.5, 0), -0.0)
    }
}
