import Foundation
import PhotoCore

/// Which photos are shown without a query: all, some rows of the album as it was at a generation, or those like another.
enum Scope: Hashable, Sendable {
    case all
    case rows([Int], generation: Int)
    case like(String)
}

/// The album without a query, and the photos of a scope in sections.
struct Browsing: Sendable {
    struct Section: Sendable, Identifiable {
        let id: Int
        /// Nil for photos without a date, or that are not in the order of their dates.
        let month: Int?
        let rows: [Int]
    }

    // Photos like another.
    private static let mostSimilar = 60
    let album: Album
    let ids: [String]
    let sections: [Section]

    init(_ scope: Scope) throws {
        let album = try Album(Places.album.path)
        self.album = album
        ids = try album.ids()
        switch scope {
        case .rows(let rows, let generation) where generation == album.generation:
            sections = try Browsing.sections(try Shelf.months(album, rows))
        case .like(let id):
            guard let row = try album.row(of: id) else { throw Failure.album("\(id): no longer in the album") }
            sections = [Section(id: 0, month: nil, rows: try Shelf.similar(album, row, k: Browsing.mostSimilar).rows)]
        default: sections = try Browsing.sections(try Shelf.months(album))
        }
    }

    private static func sections(_ months: [Month]) throws -> [Section] {
        months.enumerated().map { Section(id: $0, month: $1.start, rows: $1.rows) }
    }

    /// Checks the album, and repairs what can be. Returns what was found, done, and is left, one line each; none if there
    /// was no damage.
    static func check() throws -> [String] {
        let path = Places.album.path
        let found = Check.problems(path)
        if found.isEmpty { return [] }
        let writer = try AlbumWriter(path)
        defer { writer.close() }
        let done = try writer.repair()
        return found + done + Check.problems(path)
    }
}
