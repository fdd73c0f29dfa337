import Foundation

/// Reads the gazetteer file: a name → the places of that name, a position → the nearest city
/// (runtime/bundle/gazetteer.py). Read-only, no network.
public final class Gazetteer: @unchecked Sendable {
    static let maxWords = 4
    private static let applicationId = 0x476D_477A  // "GmGz"
    private static let version = 2  // version 1 has no parts: each country is one box
    private static let columns = "p.id, p.name, p.kind, p.country_code, p.lat, p.lon, p.south, p.north, p.west, p.east, p.population"
    private static let kmPerDegree = 111.195
    private static let point = 8  // bytes of a border's point: latitude and longitude, int32, little-endian
    private static let maxBorder = 20_000  // points

    public let path: String
    private let db: Database
    private let hasParts: Bool
    private let lock = NSLock()
    private var known: [Text: [Place]] = [:]
    private var borders: [String: Border?] = [:]

    /// Opens a gazetteer. Raises Failure.runtime for a file that is not one.
    public init(_ path: String) throws {
        self.path = path
        guard FileManager.default.fileExists(atPath: path) else { throw Failure.runtime("no gazetteer at \(path)") }
        do {
            db = try Database(path, .immutable)
            let id = try db.integer("PRAGMA application_id"), version = try db.integer("PRAGMA user_version")
            guard id == Gazetteer.applicationId else {
                throw Failure.runtime(
                    "\(path) is not a gazetteer (application_id 0x\(String(id, radix: 16)), expected 0x\(String(Gazetteer.applicationId, radix: 16)))")
            }
            guard (1...Gazetteer.version).contains(version) else {
                throw Failure.runtime("\(path) is a gazetteer of version \(version); this program reads up to \(Gazetteer.version): update it")
            }
            hasParts = version > 1
        } catch let error as SQLiteError {
            throw Failure.runtime("\(path) is not a gazetteer: \(error)")
        }
    }

    /// The form in which names are stored and looked up: casefolded, without accents, full stops and
    /// apostrophes; hyphens and white space become one space.
    public static func fold(_ name: Text) -> Text {
        let decomposed = name.string.decomposedStringWithCompatibilityMapping.scalars.casefolded()
        var out = Text()
        for letter in decomposed.string.decomposedStringWithCompatibilityMapping.unicodeScalars {
            if letter.properties.canonicalCombiningClass != .notReordered { continue }
            switch letter {
            case ".", "'", "’", "`", "\0": continue
            case "-", "‐", "‑", "–", "_": out.append(" ")
            case "ø": out.append("o")
            case "ł": out.append("l")
            case "đ", "ð": out.append("d")
            case "ı": out.append("i")
            case "æ": out += ["a", "e"]
            case "œ": out += ["o", "e"]
            case "þ": out += ["t", "h"]
            default: out.append(letter)
            }
        }
        return out.tidied()
    }

    /// The places of that name, best first: by population, where alternate names count a quarter. Case,
    /// accents and hyphens do not matter.
    public func lookup(_ name: Text) throws -> [Place] {
        if name.isEmpty || name.count > 100 { return [] }
        let folded = Gazetteer.fold(name)
        if folded.isEmpty { return [] }
        return try lock.withLock {
            if let found = known[folded] { return found }
            let found = try read(folded)
            if known.count > 4096 { known.removeAll() }
            known[folded] = found
            return found
        }
    }

    /// The longest run of words at the beginning that is a place name: the number of words, and its places,
    /// best first; nil if there is none.
    func longestMatch(_ words: [Text]) throws -> (count: Int, places: [Place])? {
        for length in stride(from: min(Gazetteer.maxWords, words.count), to: 0, by: -1) {
            let found = try lookup(Text.join(Array(words[..<length]), " "))
            if !found.isEmpty { return (length, found) }
        }
        return nil
    }

    private func read(_ folded: Text) throws -> [Place] {
        let sql = "SELECT \(Gazetteer.columns), n.flags FROM names n JOIN places p ON p.id = n.place_id WHERE n.name_folded = ?"
        var found: [(place: Place, weight: Double)] = []
        for row in try query(sql, [.text(folded.string)]) {
            let flags = row[11].integer ?? 0
            var place = Gazetteer.place(row)
            (place.isPrimary, place.isWord, place.isGiven) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0)
            if hasParts && place.kind == "country" {
                place.parts = try query("SELECT south, north, west, east FROM parts WHERE place_id = ? ORDER BY rowid", [.integer(place.id)])
                    .map { Gazetteer.box($0[...]) }
            }
            if place.kind == "region" { place.border = try border(String(place.id)) }
            if place.border == nil && place.kind != "city" && !place.countryCode.isEmpty { place.border = try border(place.countryCode) }
            found.append((place, place.isPrimary ? Double(place.population) : Double(place.population) / 4))
        }
        found.sort { $0.weight != $1.weight ? $0.weight > $1.weight : $0.place.id < $1.place.id }
        return found.prefix(24).map(\.place)
    }

    private func border(_ code: String) throws -> Border? {
        if let found = borders[code] { return found }
        let found = try readBorder(code)
        borders[code] = .some(found)
        return found
    }

    /// A border by a country's code or a region's id; nil if the file has none. Rings that are no rings are left out.
    private func readBorder(_ code: String) throws -> Border? {
        // An older file has no such table.
        guard let rows = try? db.rows("SELECT ring FROM borders WHERE country_code = ? ORDER BY rowid", [.text(code)]) else { return nil }
        let blobs = rows.compactMap { $0[0].blob }
        guard blobs.reduce(0, { $0 + $1.count / Gazetteer.point }) <= Gazetteer.maxBorder else {
            throw Failure.runtime("\(path): the border of \(code) has too many points")
        }
        let rings = blobs.filter { $0.count >= 3 * Gazetteer.point && $0.count % Gazetteer.point == 0 }
        func number(_ blob: [UInt8], _ at: Int) -> Int {
            Int(Int32(bitPattern: (0..<4).reduce(UInt32(0)) { $0 | UInt32(blob[at + $1]) << UInt32(8 * $1) }))
        }
        if rings.isEmpty { return nil }
        return Border(
            code: code,
            rings: rings.map { blob in
                stride(from: 0, to: blob.count, by: Gazetteer.point).map { Border.Point(lat: number(blob, $0), lon: number(blob, $0 + 4)) }
            })
    }

    private static func place(_ row: [Value]) -> Place {
        Place(
            id: row[0].integer ?? 0, name: row[1].text ?? "", kind: row[2].text ?? "", countryCode: row[3].text ?? "", lat: row[4].real ?? 0,
            lon: row[5].real ?? 0, box: box(row[6..<10]), population: row[10].integer ?? 0)
    }

    private static func box(_ row: ArraySlice<Value>) -> PlaceBox {
        let sides = row.map { $0.real ?? 0 }
        return PlaceBox(south: sides[0], north: sides[1], west: sides[2], east: sides[3])
    }

    private func query(_ sql: String, _ values: [Value]) throws -> [[Value]] {
        do { return try db.rows(sql, values) } catch { throw Failure.runtime("cannot read the gazetteer \(path): \(error)") }
    }

    /// Code → the name of each country: "DE" → "Germany".
    func countries() throws -> [String: String] {
        let rows = try lock.withLock { try query("SELECT country_code, name FROM places WHERE kind = 'country'", []) }
        return Dictionary(rows.map { ($0[0].text ?? "", $0[1].text ?? "") }) { $1 }
    }

    /// The city that a position in degrees lies in or nearest to, its centre within `maxKm` kilometres; nil if
    /// there is none. It is one of a country whose border holds the position, or that has a centre
    /// within 1 km, where one is near; a city reaches as far around its centre as the root of its population, 8 km
    /// at most.
    public func nearest(_ lat: Double, _ lon: Double, maxKm: Double = 50) throws -> Place? {
        guard lat.isFinite, lon.isFinite, (-90.0...90.0).contains(lat), maxKm > 0 else { return nil }
        let lon = floorMod(lon + 180, 360) - 180
        return try lock.withLock {
            var near: [City] = []
            // Most photos are close to a city, and a small box holds few rows.
            let reaches: [Double] = maxKm > 8 ? [8, maxKm] : [maxKm]
            for reach in reaches {
                let cities = try citiesAround(lat, lon, reach)
                let centres = Set(cities.filter { $0.away <= 1 }.map(\.country))
                let countries = try Set(cities.map(\.country)).filter {
                    try centres.contains($0) || border($0)?.holds(Space.e7(lat), Space.e7(lon)) == true
                }
                let home = cities.filter { countries.contains($0.country) }
                near = !home.isEmpty ? home : !near.isEmpty ? near : cities
                if !home.isEmpty { break }
            }
            guard let best = near.min(by: { ($0.edge, $0.id) < ($1.edge, $1.id) }) else { return nil }
            return try query("SELECT \(Gazetteer.columns) FROM places p WHERE p.id = ?", [.integer(best.id)]).first.map(Gazetteer.place)
        }
    }

    /// `edge`, `away`: the kilometres to its edge, below 0 inside of the city, and to its centre.
    private typealias City = (edge: Double, id: Int, country: String, away: Double)

    /// The cities whose centre is within `km` kilometres.
    private func citiesAround(_ lat: Double, _ lon: Double, _ km: Double) throws -> [City] {
        let dlat = km / Gazetteer.kmPerDegree, shrink = cos(min(90, abs(lat) + dlat) * .pi / 180)
        let dlon = shrink <= 0.01 ? 180 : min(180, dlat / shrink), west = lon - dlon, east = lon + dlon
        var sql = "SELECT id, country_code, population, lat, lon FROM places WHERE kind = 'city' AND lat BETWEEN ? AND ? AND (lon BETWEEN ? AND ?"
        var bounds = [lat - dlat, lat + dlat, west, east]
        // The box crosses the antimeridian, so the other side is searched too.
        if dlon < 180 && (west < -180 || east > 180) {
            let shift: Double = west < -180 ? 360 : -360
            sql += " OR lon BETWEEN ? AND ?"
            bounds += [west + shift, east + shift]
        } else if dlon >= 180 {
            bounds = [lat - dlat, lat + dlat, -180, 180]
        }
        return try query(sql + ")", bounds.map(Value.real)).compactMap { row in
            let away = Gazetteer.distance(lat, lon, row[3].real ?? 0, row[4].real ?? 0)
            if away > km { return nil }
            let reach = min(8, 0.005 * Double(max(0, row[2].integer ?? 0)).squareRoot())
            return (away - reach, row[0].integer ?? 0, row[1].text ?? "", away)
        }
    }

    /// Great-circle distance in km between two positions in degrees.
    private static func distance(_ lat1: Double, _ lon1: Double, _ lat2: Double, _ lon2: Double) -> Double {
        let a = lat1 * .pi / 180, b = lat2 * .pi / 180, dlon = (lon2 - lon1) * .pi / 180
        let h = pow(sin((b - a) / 2), 2) + cos(a) * cos(b) * pow(sin(dlon / 2), 2)
        return 2 * 6371 * asin(min(1, h.squareRoot()))
    }
}
