/// By how much a picture is reduced while it is decoded, so that neither a large nor a long one fills the memory.
public enum Sampling {
    // Pixels: 16 MB as RGBA.
    private static let most = 4_000_000.0

    /// The factor, at most 1, of both sides: the short side keeps `least` pixels, and a picture of more than four
    /// million pixels, such as a screenshot of a whole page, is reduced further.
    public static func scale(width: Int, height: Int, least: Double) -> Double {
        let (width, height) = (Double(max(width, 1)), Double(max(height, 1)))
        return min(1, least / min(width, height), (most / (width * height)).squareRoot())
    }

    /// Width and height of a video's frame of at most `side` pixels on its shorter side, and four times that on the longer.
    public static func framed(width: Double, height: Double, side: Int) -> (width: Double, height: Double) {
        let side = Double(side), factor = min(1, side / min(width, height), 4 * side / max(width, height))
        return (max(2, (width * factor).rounded()), max(2, (height * factor).rounded()))
    }
}
