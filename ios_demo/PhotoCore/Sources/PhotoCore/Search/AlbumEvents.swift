/// Looks up an event in an album by the words and the vector of its phrase (runtime/cues/anchors.py): its
/// days, likeliest first; empty if unsure.
struct AlbumEvents {
    let album: Album
    let encode: (String) throws -> [Float]

    // Days; what happened more often is a habit, from which no time can be counted.
    private static let maxEvents = 5
    private static let mostWordings = 24

    func find(_ phrase: String) throws -> [Interval] {
        let found = try byWords(phrase.scalars)
        return found.isEmpty ? try byVector(phrase) : found
    }

    /// As `find`, of a phrase in another language by its own words, then by those of its glosses in their order, at most
    /// `mostWordings` of them. `glossed`: nil for an English phrase.
    func find(_ phrase: String, _ glossed: Glossed?) throws -> [Interval] {
        guard let glossed else { return try find(phrase) }
        var wordings: [[Text]] = [[]]
        for forms in glossed.forms { wordings = Array(wordings.flatMap { said in forms.map { said + [$0] } }.prefix(AlbumEvents.mostWordings)) }
        for text in [phrase.scalars, glossed.text] + wordings.map({ Text.join($0, " ") }) {
            let found = try byWords(text)
            if !found.isEmpty { return found }
        }
        return try find(glossed.text.string)
    }

    /// The days of the photos whose memories hold every content word of the phrase, if there are at most
    /// five.
    private func byWords(_ phrase: Text) throws -> [Interval] {
        let wanted = AlbumEvents.stems(phrase)
        if wanted.isEmpty { return [] }
        var times: [Int] = []
        for photo in try album.photos(try album.searchText(phrase, k: 40)) {
            let said = AlbumEvents.stems(photo.memories.map(\.text).joined(separator: " ").scalars)
            if let wall = photo.wall, wanted.isSubset(of: said) { times.append(wall) }
        }
        let days = AlbumEvents.days(times)
        return days.count <= AlbumEvents.maxEvents ? days : []
    }

    /// The day of the photo with the greatest text cosine, if it clearly exceeds that of every other day.
    private func byVector(_ phrase: String) throws -> [Interval] {
        guard try album.channels().contains("text") else { return [] }
        let times = try album.times()
        let scores = zip(try album.scores("text", try encode(phrase)), times).map { $0.isFinite && $1 != .min ? $0 : -1 }
        guard let best = topmost(scores, 1).first, scores[best] >= 0.55 else { return [] }
        let day = AlbumEvents.days([times[best]])[0]
        let elsewhere = scores.indices.filter { times[$0] < (day.start ?? 0) || times[$0] > (day.end ?? 0) }.map { scores[$0] }
        guard let next = elsewhere.max() else { return [day] }
        return Double(scores[best] - next) >= 0.05 ? [day] : []
    }

    /// The content words in the singular, cut to six letters, so that "wedding" matches "weddings".
    private static func stems(_ text: Text) -> Set<Text> { Set(Words.queryTerms(text).map { Array(Words.singular($0).prefix(6)) }) }

    /// Times in ms, likeliest first, as intervals of full days in that order; adjacent days are one event.
    private static func days(_ times: [Int]) -> [Interval] {
        var out: [Days] = []
        for ms in times {
            let day = floorDiv(ms, CueCalendar.dayMs) + CueCalendar.epoch
            if let at = out.firstIndex(where: { $0.first - 1 <= day && day <= $0.last + 1 }) {
                out[at] = Days(min(out[at].first, day), max(out[at].last, day))
            } else {
                out.append(Days(day, day))
            }
        }
        return out.map(CueCalendar.interval)
    }
}
