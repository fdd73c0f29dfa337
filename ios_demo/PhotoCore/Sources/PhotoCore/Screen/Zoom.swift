/// Where a picture lies on a screen: `scale` points of the screen for one of the picture, its left upper corner at `x`,
/// `y`. A picture never leaves the screen to one side: where it is smaller than the screen it is in the middle.
public struct Zoom: Sendable, Equatable {
    public struct Size: Sendable, Equatable {
        public let width: Double
        public let height: Double

        public init(_ width: Double, _ height: Double) { (self.width, self.height) = (width, height) }
    }

    /// Times the whole picture.
    public static let most = 8.0
    public let screen: Size
    public let picture: Size
    private let most: Double
    public private(set) var scale = 1.0
    public private(set) var x = 0.0
    public private(set) var y = 0.0

    /// The whole picture, in the middle.
    public init(_ screen: Size, _ picture: Size, most: Double = Zoom.most) {
        (self.screen, self.picture, self.most) = (screen, picture, most)
        scale = whole
        hold()
    }

    private var whole: Double { min(screen.width / picture.width, screen.height / picture.height) }

    /// Whether the whole picture is seen.
    public var isWhole: Bool { scale <= whole * 1.001 }

    /// Larger by `factor`, between the whole picture and `most` times that; the point `atX`, `atY` of the screen stays
    /// where it is.
    public func by(_ factor: Double, _ atX: Double, _ atY: Double) -> Zoom {
        var next = self
        next.scale = min(max(scale * factor, whole), whole * most)
        next.x = atX - (atX - x) * next.scale / scale
        next.y = atY - (atY - y) * next.scale / scale
        next.hold()
        return next
    }

    public func moved(_ right: Double, _ down: Double) -> Zoom {
        var next = self
        (next.x, next.y) = (x + right, y + down)
        next.hold()
        return next
    }

    private mutating func hold() {
        x = Zoom.held(x, screen.width, picture.width * scale)
        y = Zoom.held(y, screen.height, picture.height * scale)
    }

    private static func held(_ at: Double, _ room: Double, _ length: Double) -> Double {
        length <= room ? (room - length) / 2 : min(max(at, room - length), 0)
    }
}
