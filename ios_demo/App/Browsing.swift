import Foundation
import PhotoCore

/// Which photos are shown without a query: all, those of squares of the map, those like another, or a person's.
enum Scope: Hashable, Sendable {
    case all
    case within(Set<Square>)
    case like(String)
    /// The photos of a person, by the number.
    case of(Int)
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
    private static let mostPeople = 200
    let ids: [String]
    let sections: [Section]

    init(_ scope: Scope) throws {
        // It is closed again at once: while a reader is open no copy takes the album's place.
        let album = try Album(Places.album.path)
        defer { album.close() }
        ids = try album.ids()
        switch scope {
        case .within(let squares): sections = try Browsing.sections(try Shelf.months(album, try Shelf.within(album, squares)))
        case .like(let id):
            guard let row = try album.row(of: id) else { throw Failure.album("\(id): no longer in the album") }
            sections = [Section(id: 0, month: nil, rows: try Shelf.similar(album, row, k: Browsing.mostSimilar).rows)]
        case .of(let person):
            let photos = try (try album.people() ?? People()).person(person).photos
            sections = [Section(id: 0, month: nil, rows: try photos.compactMap(album.row(of:)))]
        case .all: sections = try Browsing.sections(try Shelf.months(album))
        }
    }

    private static func sections(_ months: [Month]) throws -> [Section] {
        months.enumerated().map { Section(id: $0, month: $1.start, rows: $1.rows) }
    }

    /// Who was found in the photos: the named first, then those with the most faces.
    static func people() throws -> [Person] {
        guard Places.hasAlbum else { return [] }
        let album = try Album(Places.album.path)
        defer { album.close() }
        return Array((try album.people()?.people ?? []).prefix(mostPeople))
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
