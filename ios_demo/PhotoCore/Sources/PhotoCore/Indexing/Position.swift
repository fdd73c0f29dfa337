/// Where a photo was taken, in degrees.
public struct Position: Sendable, Equatable {
    public let lat: Double, lon: Double

    /// Nil unless both are finite and in range (index/ingest/metadata/exif.py, `plausible`). (0, 0), in the Gulf of Guinea,
    /// means "no position" in all sources; cameras write 0/0, which is not a number, where there was no fix.
    public init?(plausible lat: Double, _ lon: Double) {
        let isReal = abs(lat) <= 90 && abs(lon) <= 180  // false for what is not a number, too
        guard isReal, abs(lat) >= 1e-6 || abs(lon) >= 1e-6 else { return nil }
        (self.lat, self.lon) = (lat, lon)
    }
}
