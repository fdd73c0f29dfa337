import Foundation

/// A read-only view of one album file, with the searches of its three layers (index/album/album.py). Each
/// layer's arrays are loaded once, on first use. Queries arrive as vectors; no model is used here. If a
/// segment is behind or damaged, the rows are scanned.
///
/// Calls may come from any thread; they run one at a time.
public final class Album: @unchecked Sendable {
    public let path: String
    public let meta: AlbumMeta
    public let generation: Int
    public let count: Int

    // Matches of a query.
    public static let limit = 32
    // Edges between an entity that a photo is about and one that is similar to the query.
    public static let depth = 3
    /// Photos; what leads to more says nothing about any of them.
    public static let mostReached = 1000

    private let db: Database
    private let lock = NSRecursiveLock()
    private var vectorSets: [String: VectorSet] = [:]
    private var graphs: [String: (graph: HNSW?, behind: [Int])] = [:]
    private var sound = Set<Int>()  // rows whose values were found to be what their checksums say

    /// Raises Failure.album for a file that is no album, or that is damaged.
    public init(_ path: String) throws {
        self.path = path
        db = try AlbumFile.openReader(path)
        do {
            meta = try AlbumMeta(db, path)
            generation = try Loader.generation(db)
            count = try Loader.photoCount(db)
        } catch let error as SQLiteError {
            throw AlbumFile.damaged(path, "\(error)")
        } catch Failure.value(let line) {
            throw AlbumFile.damaged(path, line)
        }
    }

    public func close() { lock.withLock { db.close() } }

    // Photos

    public func photo(_ row: Int) throws -> Photo { try photos([row])[0] }

    /// The photos in these rows, in their order, each checked against its checksum when it is first read (format 1 stores none).
    /// Raises Failure.album.
    public func photos(_ rows: [Int]) throws -> [Photo] {
        let channels = try channels()
        return try load { db in
            let records = try PhotoRecords(db, rows), found = records.photos()
            let unknown = found.filter { !$1.crc.isNull && !sound.contains($0) }.map(\.key)
            let sums = unknown.isEmpty ? [:] : try (unknown.count == found.count ? records : PhotoRecords(db, unknown)).checksums(channels)
            return try rows.map { row in
                guard let (photo, crc) = found[row] else { throw Failure.album("\(path): no photo in row \(row); rows are 0..\(count - 1)") }
                if let sum = sums[row] {
                    guard crc.integer == sum else {
                        throw Failure.album("\(path): the photo in row \(row) is damaged (its checksum differs); run verify and index it again")
                    }
                    sound.insert(row)
                }
                return photo
            }
        }
    }

    /// The photos' ids by row.
    public func ids() throws -> [String] {
        let found = try load { try $0.rows("SELECT id FROM photos ORDER BY row").map { $0[0].text ?? "" } }
        guard found.count == count else { throw AlbumFile.damaged(path, "photo rows are not 0..n-1") }
        return found
    }

    public func row(of photoId: String) throws -> Int? { try load { try $0.first("SELECT row FROM photos WHERE id=?", [.text(photoId)])?[0].integer } }

    /// The clip with this id, nil for a photo. Raises Failure.album for a damaged row.
    public func clip(_ photoId: String) throws -> Clip? {
        guard try once("clips exist", { try load { try Clip.exist($0) } }) else { return nil }
        return try load { try Clip.of($0, path, photoId) }
    }

    /// Where in its file a clip fits a vector of the channel `image` best, in seconds; else its begin.
    public func second(_ row: Int, _ clip: Clip, _ query: [Float]) throws -> Double {
        guard let vectors = try vectors("image") else { return Double(clip.start) / 1000 }
        try check(query, vectors.dim, "image")
        let chunks = vectors.positions(of: row), ready = VectorQuery(query)
        guard !chunks.isEmpty, chunks.count == clip.frames.count else { return Double(clip.start) / 1000 }
        let scores = chunks.map { vectors.fineDot(ready, $0) }
        return Double(clip.frames[scores.firstIndex(of: scores.max()!) ?? 0]) / 1000
    }

    /// Wall time by row, in ms as if UTC; the lowest integer where unknown.
    public func times() throws -> [Int] { try points()[2] }

    /// Latitude and longitude in degrees by row, nil where unknown.
    public func positions() throws -> [(lat: Double, lon: Double)?] {
        let points = try points(), e7 = Double(Space.e7)
        return points[0].indices.map { row in
            let (lat, lon) = (points[0][row], points[1][row])
            return lat == .min || lon == .min ? nil : (lat: Double(lat) / e7, lon: Double(lon) / e7)
        }
    }

    // Layer 1: space and time

    public func inCubes(_ cubes: [Cube]) throws -> CubeResult { try space().inCubes(cubes) }

    public func near(_ k: Int, lat: Double? = nil, lon: Double? = nil, takenAt: Int? = nil, metresAnHour: Double = 1000) throws -> [Int] {
        try space().near(k, lat: lat, lon: lon, takenAt: takenAt, metresAnHour: metresAnHour)
    }

    // Layer 2: entities

    /// The entities with similarity ≥ `delta` that a depth-first search reaches from the entities on which the
    /// photos of `rows` hang, best first. The search follows edges from parent to child, at most `depth`,
    /// through nodes of any similarity. A match names only photos among `rows`: those that show the entity,
    /// and those that only hang on an entity above it, unless more than `mostReached` photos do.
    public func matchEntities(
        _ query: [Float], _ rows: [Int], delta: Double, limit: Int = Album.limit, depth: Int = Album.depth
    ) throws -> [EntityMatch] {
        guard let nodes = try nodes() else { return [] }
        try check(query, nodes.dim, "entities")
        let photosOf = try self.photosOf(), hanging = try self.hanging(), parents = try self.parents()
        let similarity = nodes.similar(VectorQuery(query), Float(delta))
        var wanted = [Bool](repeating: false, count: count)
        for row in rows { wanted[row] = true }
        let similar = similarity.indices.filter { similarity[$0] >= Float(delta) }
        var out: [EntityMatch] = []
        for row in similar.sorted(by: { (-similarity[$0], $0) < (-similarity[$1], $1) }) {
            if out.count >= limit { break }
            var links = Graph.above(row, parents: parents, depth: depth).flatMap { hanging.of($0) }
            let isMany = links.count > Album.mostReached
            links.sort()
            var own: [Int] = [], reached: [Int] = [], shown = photosOf.of(row)  // all ascending
            for (at, photo) in links.enumerated() where wanted[photo] && (at == 0 || links[at - 1] != photo) {
                shown = shown.drop { $0 < photo }
                if shown.first == photo { own.append(photo) } else if !isMany { reached.append(photo) }
            }
            if own.isEmpty && reached.isEmpty { continue }
            let named = try load { try $0.first("SELECT name, kind FROM entities WHERE row=?", [.integer(row)]) ?? [.null, .null] }
            out.append(
                EntityMatch(row: row, name: named[0].text ?? "", kind: named[1].text ?? "", similarity: similarity[row], photos: own, reached: reached))
        }
        return out
    }

    /// The names of the entities linked to the most photos, most linked first.
    public func entityNames(_ limit: Int) throws -> [String] {
        let roots = try load(Loader.entityRoots), photosOf = try self.photosOf()
        let order = roots.indices.sorted { (-photosOf.of($0).count, $0) < (-photosOf.of($1).count, $1) }.filter { roots[$0] == $0 }
        return try order.prefix(limit).map { row in try load { try $0.first("SELECT name FROM entities WHERE row=?", [.integer(row)])?[0].text ?? "" } }
    }

    /// The names of all entities, aliases left out, the most mentioned first, then by name.
    public func listedEntities() throws -> [Text] {
        let roots = try load(Loader.entityRoots), photosOf = try self.photosOf()
        let names = try load { try $0.rows("SELECT name FROM entities ORDER BY row").map { ($0[0].text ?? "").scalars } }
        return roots.indices.filter { roots[$0] == $0 }.map { (photos: photosOf.of($0).count, name: names[$0]) }
            .sorted { $0.photos != $1.photos ? $0.photos > $1.photos : $0.name.lexicographicallyPrecedes($1.name) }.map(\.name)
    }

    // Layer 3: vectors and words

    public func channels() throws -> [String] { try dims().keys.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) } }

    /// For each of `rows` (all photos if nil) the cosine of its best chunk, minus infinity for a photo
    /// without a vector in the channel. `isRough`: in half the time, to some 0.001.
    public func scores(_ channel: String, _ query: [Float], _ rows: [Int]? = nil, isRough: Bool = false) throws -> [Float] {
        let asked = rows ?? Array(0..<count)
        guard let vectors = try vectors(channel) else { return [Float](repeating: -.infinity, count: asked.count) }
        try check(query, vectors.dim, channel)
        return vectors.bestOf(VectorQuery(query), asked, isRough: isRough)
    }

    /// The mean of a photo's vectors, of length 1; nil if it has none in the channel.
    public func mean(_ channel: String, _ row: Int) throws -> [Float]? { try vectors(channel)?.mean(row) }

    /// The k best photos. `plan`: nil to let the planner choose.
    public func searchVectors(_ channel: String, _ query: [Float], k: Int, rows: [Int]? = nil, plan: Estimate.Plan? = nil) throws -> VectorResult {
        guard let vectors = try vectors(channel) else { return VectorResult(rows: [], scores: [], plan: .exact) }
        try check(query, vectors.dim, channel)
        let filter = rows.map(ascending)
        // The graph segment is read only if it may be used: loading it costs more than a small scan.
        var known = lock.withLock { graphs[channel] }
        if known == nil && plan != .exact {
            let costs = Estimate(total: vectors.count, left: filter?.count ?? vectors.count, dim: vectors.dim, k: k)
            if plan == .hnsw || costs.plan == .hnsw { known = try graph(channel, vectors) }
        }
        return Nearest.find(vectors, graph: known?.graph, behind: known?.behind ?? [], query: query, k: k, rows: filter, plan: plan)
    }

    /// The words of the query, each with the photos whose memories hold it. `forms`: the words to look up instead, each
    /// with what else may stand for it, of which the best counts.
    public func words(_ query: Text, forms: [[Text]]? = nil) throws -> WordScores {
        let owner = try memoryOwner(), asked = forms ?? Words.spellings(query)
        return try load { try Lexical.lookUp($0, asked, owner, photos: count) }
    }

    /// Whether a memory holds a word.
    public func holds(_ word: Text) throws -> Bool { try load { try Lexical.holds($0, word) } }

    /// The k photos with the highest BM25 for any of the query's words, best first.
    public func searchText(_ query: Text, k: Int) throws -> [Int] {
        let scores = try words(query).bm25()
        return topmost(scores, k).filter { scores[$0] > 0 }
    }

    /// By row: whether a chat message is attached. The messages just before and after such a photo belong to
    /// its meaning.
    public func conversations() throws -> [Bool] { try load { try marked($0, "SELECT DISTINCT photo FROM memories WHERE source = 'chat'", "memories") } }

    /// By row: whether a photo has a file, and is not only something that was said.
    public func pictured() throws -> [Bool] { try load { try marked($0, "SELECT row FROM photos WHERE path IS NOT NULL", "photos") } }

    /// By row: whether a query names it.
    private func marked(_ db: Database, _ sql: String, _ table: String, _ values: [Value] = []) throws -> [Bool] {
        let rows = try db.rows(sql, values).map { $0[0].integer ?? -1 }
        try Loader.within(rows, count, table)
        var out = [Bool](repeating: false, count: count)
        for row in rows { out[row] = true }
        return out
    }

    /// The row and the text of every memory of a source.
    public func memories(of source: String) throws -> [(row: Int, text: String)] {
        let found = try load { try $0.rows("SELECT photo, text FROM memories WHERE source = ? ORDER BY photo, id", [.text(source)]) }
        try load { _ in try Loader.within(found.map { $0[0].integer ?? -1 }, count, "memories") }
        return found.map { ($0[0].integer ?? 0, $0[1].text ?? "") }
    }

    /// The rows of the photos that share an event with a photo, itself among them; none without an event.
    func sharingEvent(_ row: Int) throws -> [Int] {
        let sql = "SELECT photo FROM event_photos WHERE event = (SELECT event FROM event_photos WHERE photo = ?) ORDER BY photo"
        let rows = try load { try $0.rows(sql, [.integer(row)]) }.compactMap { $0[0].integer }
        try load { _ in try Loader.within(rows, count, "event_photos") }
        return rows
    }

    /// By row: whether the optional table names the photo; with a `name`, for that alone.
    public func detailed(_ table: String, _ name: String? = nil) throws -> [Bool] {
        let named = name.map { [Value.text($0)] } ?? []
        let sql = "SELECT row FROM photos WHERE id IN (SELECT photo FROM \(table) WHERE \(named.isEmpty ? "1" : "name = ?"))"
        return try load { db in
            try OptionalTables.isThere(db, table) ? marked(db, sql, "photos", named) : [Bool](repeating: false, count: count)
        }
    }

    /// The names that the optional table of a field has.
    public func details(_ table: String) throws -> [String] {
        try load { db in
            try OptionalTables.isThere(db, table) ? db.rows("SELECT DISTINCT name FROM \(table) ORDER BY name").map { $0[0].text ?? "" } : []
        }
    }

    /// The row of each face that was found, and the name of whose it is, if it has one.
    public func faces() throws -> [(row: Int, name: String?)] {
        let sql = "SELECT p.row, n.name FROM faces f JOIN photos p ON p.id = f.photo LEFT JOIN face_people n ON n.id = f.person"
        let found = try load { db in try OptionalTables.isThere(db, "faces") ? db.rows(sql) : [] }
        try load { _ in try Loader.within(found.map { $0[0].integer ?? -1 }, count, "photos") }
        return found.map { ($0[0].integer ?? 0, $0[1].text) }
    }

    /// The people of the album; nil if nobody was searched for. Raises Failure.album for a damaged row.
    public func people() throws -> People? { try load { try FaceRows($0, path).read() } }

    // Feedback

    /// The stored preferences. Merged entities are replaced by their root.
    public func preferences() throws -> Preferences {
        let found = try load { try $0.rows("SELECT kind, better, worse FROM preferences ORDER BY kind, better, worse") }
        let roots = found.contains { $0[0].text == "entity" } ? try load(Loader.entityRoots) : []
        func pairs(_ kind: String) -> [Preferences.Pair] {
            found.filter { $0[0].text == kind }.compactMap { row in row[1].integer.flatMap { a in row[2].integer.map { (a, $0) } } }
        }
        let entities = pairs("entity").filter { max($0.better, $0.worse) < roots.count && min($0.better, $0.worse) >= 0 }
        return Preferences(photos: pairs("photo"), entities: entities.map { (roots[$0.better], roots[$0.worse]) })
    }

    /// `ranked` (rows that match, best first), with each preferred photo moved before those it is preferred
    /// to.
    public func preferred(_ ranked: [Int]) throws -> [Int] {
        let told = try once("preferences") { try preferences() }
        if told.isEmpty { return ranked }
        let entitiesOf = told.entities.isEmpty ? nil : try self.entitiesOf()
        let linked = entitiesOf.map { adjacency in ranked.map { (row: $0, names: Set(adjacency.of($0))) } } ?? []
        return Preferences.reorder(ranked, told.photos + Preferences.betweenPhotos(told.entities, linked))
    }

    public func channelCounts() throws -> [(channel: String, vectors: Int)] {
        try load { try $0.rows("SELECT channel, count(*) FROM vectors GROUP BY channel").map { ($0[0].text ?? "", $0[1].integer ?? 0) } }
    }

    // Loading

    /// Runs `read` under the lock. A page that SQLite refuses, or a value that no writer wrote, means that
    /// the file is damaged: Failure.album.
    private func load<T>(_ read: (Database) throws -> T) throws -> T {
        try lock.withLock {
            do { return try read(db) } catch let error as SQLiteError {
                throw AlbumFile.damaged(path, "\(error)")
            } catch Failure.value(let line) {
                throw AlbumFile.damaged(path, line)
            }
        }
    }

    private var kept: [String: Any] = [:]

    /// The value of `make`, computed once, under the lock.
    private func once<T>(_ name: String, _ make: () throws -> T) throws -> T {
        try lock.withLock {
            if let found = kept[name] { return found as! T }
            let made = try make()
            kept[name] = made
            return made
        }
    }

    private func points() throws -> [[Int]] { try once("points") { try space().columns() } }

    /// The tree of the segment, with the rows for which it is out of date; a tree of all rows if the segment
    /// cannot be used.
    private func space() throws -> Space {
        try once("space") {
            if let found = try load({ try Segments.load($0, Segments.kdtree, KDTree.version, photos: count) }),
                let tree = try? KDTree(bytes: found.blob), tree.count == found.rows
            {
                return Space(tree: tree, count: count, late: found.behind, points: try load { try Loader.points($0, of: found.behind) })
            }
            return Space(tree: KDTree(points: try load(Loader.points)), count: count)
        }
    }

    private func dims() throws -> [String: Int] { try once("dims") { try load(Loader.channelDims) } }
    private func entityCount() throws -> Int { try once("entityCount") { try load { try $0.integer("SELECT count(*) FROM entities") } } }
    private func nodes() throws -> EntityNodes? {
        try once("nodes") {
            try load { db in
                let found = try Loader.entityVectors(db)
                return try found.map { EntityNodes($0, try Segments.load(db, EntityNodes.segment, HNSW.version, photos: count)?.blob) }
            }
        }
    }
    private func memoryOwner() throws -> [Int] { try once("memoryOwner") { try load { try Loader.memoryOwners($0, count) } } }

    private func mentions() throws -> [(Int, Int)] { try once("mentions") { try load { try Loader.pairs($0, "mentions", photos: count) } } }

    private func photosOf() throws -> Adjacency {
        try once("photosOf") { Adjacency(try mentions().map { (source: $0.0, target: $0.1) }, count: try entityCount()) }
    }

    private func entitiesOf() throws -> Adjacency {
        try once("entitiesOf") { Adjacency(try mentions().map { (source: $0.1, target: $0.0) }, count: count) }
    }

    /// Entity → the photos that hang on it.
    private func hanging() throws -> Adjacency {
        try once("hanging") {
            let found = try load { try Loader.pairs($0, "hanging", photos: count) }
            return Adjacency(found.map { (source: $0.0, target: $0.1) }, count: try entityCount())
        }
    }

    private func parents() throws -> Adjacency {
        try once("parents") {
            let found = try load { try Loader.pairs($0, "edges", photos: count) }
            return Adjacency(found.map { (source: $0.1, target: $0.0) }, count: try entityCount())
        }
    }

    private func vectors(_ channel: String) throws -> VectorSet? {
        try lock.withLock {
            if let known = vectorSets[channel] { return known }
            let found = try load { try Loader.vectors($0, channel, count) }
            vectorSets[channel] = found
            return found
        }
    }

    /// The channel's graph, and the rows for which it is out of date. A damaged segment is treated as
    /// missing.
    private func graph(_ channel: String, _ vectors: VectorSet) throws -> (graph: HNSW?, behind: [Int]) {
        try lock.withLock {
            if let known = graphs[channel] { return known }
            let found = try load { try Segments.load($0, Segments.hnsw(channel), HNSW.version, photos: count) }
            let graph = found.flatMap { try? HNSW(bytes: $0.blob, vectors: vectors, behind: $0.behind) }
            let made = (graph: graph, behind: graph == nil ? [] : found?.behind ?? [])
            graphs[channel] = made
            return made
        }
    }

    private func check(_ query: [Float], _ dim: Int, _ place: String) throws {
        if query.count != dim {
            throw Failure.album("\(path): a query of \(query.count) dimensions, but \(place) has \(dim); use the encoder that built the album")
        }
    }
}
