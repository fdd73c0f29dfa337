@_exported import AVFoundation
import SwiftUI

public struct VideoPlayer: PrimitiveView {
    public init(player: AVPlayer?) {}
}
