import Foundation

/// `start`: the month's first moment in ms of wall time, nil for photos without a date. `rows`: newest first.
public struct Month: Sendable, Equatable {
    public let start: Int?
    public let rows: [Int]
}

/// A square of a map, in degrees: `south` and `west` belong to it, its other sides to others.
public struct Square: Sendable, Hashable {
    public let south: Double
    public let west: Double
    public let side: Double

    /// The square of a grid that a point lies in.
    init(_ lat: Double, _ lon: Double, side: Double) {
        (south, west, self.side) = ((lat / side).rounded(.down) * side, (lon / side).rounded(.down) * side, side)
    }
}

/// Photos that lie together on a map: their mean in degrees, their `rows`, newest first, and a near city's name where
/// it is known. `square`: where others lie that belong to them, after a change of the album too.
public struct Cell: Sendable, Equatable {
    public let lat: Double
    public let lon: Double
    public let rows: [Int]
    public let name: String?
    public let square: Square
}

/// Photos like another, best first. `channel`: in which they were compared.
public struct Similar: Sendable {
    public let channel: String
    public let rows: [Int]
    public let cosines: [Float]
}

/// An album without a query, as the web page shows it (runtime/serve/catalogue.py, overview.py,
/// runtime/search/similar.py). Copies of a photo are not put together here.
public enum Shelf {
    // What pictures show; what is said of them.
    private static let channels = ["image", "text"]
    // Degrees, about 5 km; doubled until there are at most `mostCells`.
    private static let cell = 0.05
    private static let mostCells = 3000
    private static let named = 200

    /// All photos newest first, those without a date last. An album that has pictures is shown without what was only
    /// said.
    public static func rows(_ album: Album) throws -> [Int] {
        let pictured = try album.pictured(), times = try album.times()
        let shown = pictured.contains(true) ? pictured.indices.filter { pictured[$0] } : Array(0..<album.count)
        return shown.sorted { (times[$1], $0) < (times[$0], $1) }
    }

    /// `rows`, in the order of the timeline (all photos if nil), by their months.
    public static func months(_ album: Album, _ rows: [Int]? = nil) throws -> [Month] {
        let times = try album.times()
        var out: [Month] = [], calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0)!
        for row in try rows ?? self.rows(album) {
            let start = times[row] == .min ? nil : month(times[row], calendar)
            if let last = out.last, last.start == start {
                out[out.count - 1] = Month(start: start, rows: last.rows + [row])
            } else {
                out.append(Month(start: start, rows: [row]))
            }
        }
        return out
    }

    private static func month(_ time: Int, _ calendar: Calendar) -> Int {
        let parts = calendar.dateComponents([.year, .month], from: Date(timeIntervalSince1970: Double(time) / 1000))
        return Int((calendar.date(from: parts)?.timeIntervalSince1970 ?? 0) * 1000)
    }

    /// The cells of a grid that hold photos with a place, the fullest first; with `gazetteer` the fullest have a name.
    public static func cells(_ album: Album, _ gazetteer: Gazetteer? = nil) throws -> [Cell] {
        let positions = try album.positions(), placed = try rows(album).filter { positions[$0] != nil }
        var side = cell
        func grid() -> [Square: [Int]] { Dictionary(grouping: placed) { Square(positions[$0]!.lat, positions[$0]!.lon, side: side) } }
        var found = grid()
        while found.count > mostCells {
            side *= 2
            found = grid()
        }
        let ordered = found.sorted { ($1.value.count, $0.key.south, $0.key.west) < ($0.value.count, $1.key.south, $1.key.west) }
        return try ordered.enumerated().map { rank, entry in
            func mean(_ of: (Int) -> Double) -> Double { rounded(entry.value.sorted().reduce(0) { $0 + of($1) } / Double(entry.value.count), 4) }
            let lat = mean { positions[$0]!.lat }, lon = mean { positions[$0]!.lon }
            return Cell(
                lat: lat, lon: lon, rows: entry.value, name: rank < named ? try gazetteer?.nearest(lat, lon)?.name : nil, square: entry.key)
        }
    }

    /// The rows that lie in `squares`, newest first.
    public static func within(_ album: Album, _ squares: Set<Square>) throws -> [Int] {
        let positions = try album.positions(), sides = Set(squares.map(\.side))
        return try rows(album).filter { row in
            guard let at = positions[row] else { return false }
            return sides.contains { squares.contains(Square(at.lat, at.lon, side: $0)) }
        }
    }

    /// The k photos most similar to that of `row`: by what the pictures show, or by what is said of them where it has no
    /// picture's vector. Raises Failure.runtime for a photo without a vector.
    public static func similar(_ album: Album, _ row: Int, k: Int) throws -> Similar {
        for channel in channels {
            guard let vector = try album.mean(channel, row) else { continue }
            let found = try album.searchVectors(channel, vector, k: k + 1)  // the photo itself is among them
            let others = found.rows.indices.filter { found.rows[$0] != row }.prefix(k)
            return Similar(channel: channel, rows: others.map { found.rows[$0] }, cosines: others.map { found.scores[$0] })
        }
        throw Failure.runtime("\(try album.photo(row).id): no vector of its picture or of a memory: index it again")
    }
}
