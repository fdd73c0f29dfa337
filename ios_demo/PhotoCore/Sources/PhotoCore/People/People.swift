/// A photo that was searched for faces, with the hash of the content that was searched.
public struct LookedAt: Sendable {
    public let photo: String, sha256: String?, faces: [Face]

    public init(_ photo: String, sha256: String? = nil, _ faces: [Face]) { (self.photo, self.sha256, self.faces) = (photo, sha256, faces) }
}

/// A face of an album. `face`: its box in shares of the photo's sides. `isFixed`: the album's owner put it to this person.
public struct StoredFace: Sendable {
    public let row: Int, photo: String, face: Face, person: Int, isFixed: Bool
}

/// Faces of one person. `name`: nil until the owner gives one.
public struct Person: Sendable, Identifiable {
    public let row: Int, name: String?, faces: [StoredFace]
    public var id: Int { row }

    /// Their photos' ids, each once, in the order of the faces.
    public var photos: [String] {
        var seen = Set<String>()
        return faces.map(\.photo).filter { seen.insert($0).inserted }
    }
}

/// The faces of an album by row (index/people/records.py). `names`: of the people that have one. `lookedAt`: the photos that were
/// searched, and `closed` those in which nobody is searched any more, because someone in them was forgotten. `written`: photo →
/// the names that are memories of it because they were given. `encoder`: what made the vectors.
public struct People: Sendable {
    private static let maxName = 80 // characters
    public var faces: [StoredFace] = [], names: [Int: String] = [:], lookedAt: Set<String> = [], closed: Set<String> = []
    public var written: [String: Set<String>] = [:], encoder = ""

    public init() {}

    /// Those with a face: the named first, then those with the most faces.
    public var people: [Person] {
        let found = Dictionary(grouping: faces, by: \.person).map { Person(row: $0, name: names[$0], faces: $1) }
        return found.sorted { ($0.name == nil ? 1 : 0, -$0.faces.count, $0.row) < ($1.name == nil ? 1 : 0, -$1.faces.count, $1.row) }
    }

    /// The people whom the owner named, or to whom the owner put a face: never merged unasked.
    public var held: Set<Int> { Set(names.keys).union(faces.filter(\.isFixed).map(\.person)) }

    /// The person with this number. Raises Failure.album where there is none any more.
    public func person(_ row: Int) throws -> Person {
        guard let found = people.first(where: { $0.row == row }) else { throw Failure.album("there is nobody called 'p\(row)': look again who is there") }
        return found
    }

    /// Photo → the names of the people whose faces it shows, in alphabetical order.
    public var namedIn: [String: [String]] {
        var out: [String: Set<String>] = [:]
        for face in faces { if let name = names[face.person] { out[face.photo, default: []].insert(name) } }
        return out.mapValues { $0.sorted { $0.unicodeScalars.lexicographicallyPrecedes($1.unicodeScalars) } }
    }

    /// A name in one line. Raises Failure.album for one that is empty, too long, or would be read as several.
    public static func checkedName(_ name: String) throws -> String {
        let line = name.scalars.map { $0.isPrintable ? $0 : " " }.tidied()
        guard (1...maxName).contains(line.count) else { throw Failure.album("a name has 1 to \(maxName) characters, this one has \(line.count): give another") }
        if line.contains(",") { throw Failure.album("\(line.quoted): a name has no comma, which stands between the names of several people") }
        if line[0] == "p" || line[0] == "P", line.count > 1, line.dropFirst().allSatisfy({ ("0"..."9").contains($0) }) {
            throw Failure.album("\(line.quoted): is how people without a name are called: give another")
        }
        return line.string
    }
}
