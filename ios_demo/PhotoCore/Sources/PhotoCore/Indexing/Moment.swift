import Foundation

/// When a photo was taken, as the album stores it (FORMAT.md, `taken_at`). `zone`: "offset" with the photo's own
/// offset, or "local" for a wall time whose offset nobody stored.
public struct Moment: Sendable, Equatable {
    public let takenAt: Int?
    public let zone: String
    public let offset: Int?

    public init(_ takenAt: Int?, _ zone: String, _ offset: Int?) { (self.takenAt, self.zone, self.offset) = (takenAt, zone, offset) }

    /// `exif`: EXIF's DateTimeOriginal, the wall time at the place of the photo; `exifOffset`: its
    /// OffsetTimeOriginal. `library`: the moment in ms UTC that the phone's library has; `phone`: minutes by
    /// which the phone's own clock was ahead then, which is where that moment's wall time comes from if nothing
    /// else is known.
    public static func of(exif: String?, exifOffset: String?, library: Int?, phone: (Int) -> Int) -> Moment {
        let wall = exif.flatMap(wall), offset = exifOffset.flatMap(minutes)
        if let wall, let offset { return Moment(wall - 60_000 * offset, "offset", offset) }
        if let wall { return Moment(wall, "local", nil) }
        return Moment(library.map { $0 + 60_000 * phone($0) }, "local", nil)
    }

    // As in index/ingest/metadata/exif.py, whose patterns are of ASCII.
    private static let stamp = Pattern(
        #"[ \t\n\x0b\f\r]*([0-9]{4})[:\-/.]([0-9]{1,2})[:\-/.]([0-9]{1,2})[ T]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})"#)
    private static let ahead = Pattern(#"[ \t\n\x0b\f\r]*([+-])([0-9]{2}):?([0-9]{2})"#)
    // A year; an earlier one comes from a clock that was never set.
    private static let firstPhotograph = 1826
    // Hours: no zone is farther from UTC.
    private static let farthest = 14

    private static func wall(_ exif: String) -> Int? {
        guard let match = stamp.match(bare(exif)) else { return nil }
        let numbers = (1...6).map { match[$0].flatMap { Int($0.string) } ?? -1 }
        guard numbers[0] >= firstPhotograph, (1...12).contains(numbers[1]), (0..<24).contains(numbers[3]), (0..<60).contains(numbers[4]),
            (0..<60).contains(numbers[5]), numbers[2] > 0, numbers[2] <= days(numbers[0], numbers[1])
        else { return nil }  // cameras write 0000:00:00 where the clock was never set
        // Days since 1970 by the civil calendar, in years that begin in March.
        let year = numbers[1] > 2 ? numbers[0] : numbers[0] - 1, month = (numbers[1] + 9) % 12
        let day = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + numbers[2] - 1 - 719_468
        return (((day * 24 + numbers[3]) * 60 + numbers[4]) * 60 + numbers[5]) * 1000
    }

    private static func days(_ year: Int, _ month: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    private static func minutes(_ offset: String) -> Int? {
        guard let match = ahead.match(bare(offset)), let hours = match[2].flatMap({ Int($0.string) }), let rest = match[3].flatMap({ Int($0.string) }),
            hours <= farthest, rest < 60
        else { return nil }
        return (match[1]?.string == "-" ? -1 : 1) * (hours * 60 + rest)
    }

    private static func bare(_ text: String) -> Text { text.trimmingCharacters(in: CharacterSet(charactersIn: "\0 ")).scalars }
}
