import AVFoundation
import AVKit
import Foundation
import PhotoCore
import Photos
import SwiftUI

/// A video of the library, whose file is on the phone.
struct VideoFootage: Footage {
    private static let mostPixels = 36_000_000  // of a frame: 8K video has 33 million
    private static let longest = 24.0 * 3_600  // seconds
    let length: Int
    private let video: AVAsset
    private let width: Double, height: Double

    /// Nil for a photo, and for a video that is not here.
    init?(_ asset: PHAsset) {
        guard asset.mediaType == .video, asset.duration.isFinite, asset.duration > 0 else { return nil }
        guard 1...VideoFootage.mostPixels ~= asset.pixelWidth * asset.pixelHeight, let video = VideoFootage.here(asset) else { return nil }
        (self.video, length) = (video, Int((1_000 * min(asset.duration, VideoFootage.longest)).rounded(.up)))
        (width, height) = (Double(asset.pixelWidth), Double(asset.pixelHeight))
    }

    func frame(_ at: Int, side: Int, isRough: Bool) -> Frame? {
        autoreleasepool { image(at, side: side, isRough: isRough).flatMap { found in PhotoLibrary.rgb(found.picture).map { Frame(found.at, $0) } } }
    }

    /// Upright, with the time that it has.
    func image(_ at: Int, side: Int, isRough: Bool) -> (picture: CGImage, at: Int)? {
        let generator = AVAssetImageGenerator(asset: video)
        let size = Sampling.framed(width: width, height: height, side: side)
        generator.appliesPreferredTrackTransform = true
        generator.maximumSize = CGSize(width: size.width, height: size.height)
        let tolerance = isRough ? CMTime.positiveInfinity : CMTime.zero
        (generator.requestedTimeToleranceBefore, generator.requestedTimeToleranceAfter) = (tolerance, tolerance)
        var actual = CMTime.zero
        guard let picture = try? generator.copyCGImage(at: CMTime(value: Int64(at), timescale: 1_000), actualTime: &actual) else { return nil }
        return (picture, actual.isNumeric ? Int((1_000 * actual.seconds).rounded()) : at)
    }

    /// Waits for PhotoKit, which answers on a thread of its own.
    private static func here(_ asset: PHAsset) -> AVAsset? {
        let (options, found, done) = (PHVideoRequestOptions(), Found<AVAsset>(), DispatchSemaphore(value: 0))
        options.isNetworkAccessAllowed = false
        PHImageManager.default().requestAVAsset(forVideo: asset, options: options) { video, _, _ in
            found.value = video
            done.signal()
        }
        return done.wait(timeout: .now() + 30) == .success ? found.value : nil
    }

    /// To be played; nil for a photo, and for a video that is not here.
    static func item(_ id: String) async -> AVPlayerItem? {
        guard let asset = PhotoLibrary.asset(id), asset.mediaType == .video else { return nil }
        let options = PHVideoRequestOptions()
        options.isNetworkAccessAllowed = false
        return await withCheckedContinuation { done in
            PHImageManager.default().requestPlayerItem(forVideo: asset, options: options) { item, _ in
                done.resume(returning: item)
            }
        }
    }
}

/// A photo that can be zoomed, or a video that plays from a second on while it is shown; of one that is not on this phone the picture.
struct PhotoPage: View {
    let id: String
    let second: Double
    let isShown: Bool
    @State private var player: AVPlayer?

    var body: some View {
        ZStack {
            if let player { VideoPlayer(player: player) } else { ZoomedPhoto(id: id) }
        }
        .task(id: isShown) {
            guard isShown else { return leave() }
            if player == nil {
                player = await VideoFootage.item(id).map { AVPlayer(playerItem: $0) }
                await player?.seek(to: CMTime(seconds: second, preferredTimescale: 1_000), toleranceBefore: .zero, toleranceAfter: .zero)
            }
            if !Task.isCancelled { player?.play() }
        }
        .onDisappear { leave() }
    }

    /// A phone has few decoders: pages that are not shown have no player.
    private func leave() {
        player?.pause()
        player = nil
    }
}
