@_exported import Foundation
import CoreGraphics

public struct CMTime: Sendable {
    public static let zero = CMTime(value: 0, timescale: 1)
    public static let positiveInfinity = CMTime(value: 0, timescale: 0)
    public init(value: Int64, timescale: Int32) {}
    public init(seconds: Double, preferredTimescale: Int32) {}
    public var seconds: Double { 0 }
    public var isNumeric: Bool { true }
}

open class AVAsset: @unchecked Sendable {}
public final class AVAudioMix {}

public final class AVAssetImageGenerator {
    public init(asset: AVAsset) {}
    public var appliesPreferredTrackTransform = false
    public var maximumSize = CGSize()
    public var requestedTimeToleranceBefore = CMTime.positiveInfinity
    public var requestedTimeToleranceAfter = CMTime.positiveInfinity
    public func copyCGImage(at time: CMTime, actualTime: UnsafeMutablePointer<CMTime>?) throws -> CGImage { fatalError() }
}

@MainActor public final class AVPlayerItem {}

@MainActor public final class AVPlayer {
    public init(playerItem: AVPlayerItem?) {}
    public func play() {}
    public func pause() {}
    @discardableResult
    public func seek(to time: CMTime, toleranceBefore: CMTime, toleranceAfter: CMTime) async -> Bool { true }
}
