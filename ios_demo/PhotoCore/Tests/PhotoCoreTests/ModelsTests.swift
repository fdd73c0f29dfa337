import XCTest

@testable import PhotoCore

final class ModelsTests: XCTestCase {
    func testRoutingKeepsTheFewestThatReachRho() throws {
        XCTAssertEqual(try Routing.choose([0.5, 0.3, 0.2], rho: 0.7).experts, [0, 1])
        XCTAssertEqual(try Routing.choose([0.2, 0.2, 0.6], rho: 0.5).weights, [1])
        for (weights, rho) in [([0, 0], 0.7), ([1], 0), ([1], 1.1)] as [([Float], Double)] { XCTAssertThrowsError(try Routing.choose(weights, rho: rho)) }
    }

    func testAGrammarLetsOnlyTheQuerysWordsThrough() throws {
        var grammar = Grammar()
        grammar.literal("{")
        grammar.span(of: ["red car park".scalars])
        grammar.literal("}")
        grammar.done()
        func accepts(_ text: String) -> Bool { grammar.accepts(grammar.step(grammar.start(), Array(text.utf8))) }
        for text in ["{}", "{red}", "{car park}", "{red car park}"] { XCTAssertTrue(accepts(text), text) }
        for text in ["{re}", "{ar}", "{park red}", "{red ", "red", "{blue}"] { XCTAssertFalse(accepts(text), text) }
    }

    func testAllowedTokensAreThoseThatTheGrammarCanFollow() throws {
        var grammar = Grammar()
        grammar.literal("<")
        grammar.span(of: ["abc def".scalars])
        grammar.literal(">")
        grammar.done()
        let texts = ["<", "<a", "a", "abc", "abc ", "d", "x", ">", "<>", "bc", "", " d", "def>"]
        let vocabulary = Vocabulary(Dictionary(uniqueKeysWithValues: texts.enumerated().map { ($0, Array($1.utf8)) }))
        for said in ["", "<", "<abc", "<abc d"] {
            let state = grammar.step(grammar.start(), Array(said.utf8))
            let plain = texts.indices.filter { !texts[$0].isEmpty && !grammar.step(state, Array(texts[$0].utf8)).isEmpty }
            XCTAssertEqual(vocabulary.allowed(grammar, state), plain, said)
        }
        let constraint = Constraint(grammar, vocabulary)
        try constraint.advance(0)
        XCTAssertThrowsError(try constraint.advance(6))
    }

    func testALongTextBecomesOverlappingWindows() {
        let text = (0..<200).map { "w\($0)" }.joined(separator: " ").scalars
        let chunks = TextEncoder.chunks(text)
        XCTAssertEqual(chunks.count, 3)
        XCTAssertEqual(chunks[1].words().first?.string, "w64")
        XCTAssertEqual(TextEncoder.chunks("a b".scalars).count, 1)
    }

    func testPercentilesAreOnALine() {
        XCTAssertEqual(Benchmark.percentile([1, 2, 3, 4], 0.5), 2.5)
        XCTAssertEqual(Benchmark.percentile([10], 0.9), 10)
    }
}
