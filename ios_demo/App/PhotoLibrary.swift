import CoreGraphics
import CoreLocation
import Foundation
import ImageIO
import PhotoCore
import Photos
import PhotosUI
import UIKit
import UniformTypeIdentifiers

/// The phone's photos and videos in PhotoKit: the permission to see them, their metadata and their pixels. Nothing is
/// downloaded. `least`: pixels of the short side that a picture keeps when it is decoded, if it has them.
struct PhotoLibrary: PhotoSource {
    let least: Int

    /// Asks the user once; later calls return at once.
    static func ask() async { _ = await PHPhotoLibrary.requestAuthorization(for: .readWrite) }

    static var access: ScreenState.Access {
        switch PHPhotoLibrary.authorizationStatus(for: .readWrite) {
        case .authorized: return .all
        case .limited: return .chosen
        case .denied, .restricted: return .refused
        default: return .none
        }
    }

    /// All photos, newest first, and the videos behind them, as each takes as long as many photos.
    func keys() -> [String] {
        let options = PHFetchOptions()
        options.sortDescriptors = [NSSortDescriptor(key: "creationDate", ascending: false)]
        return [PHAssetMediaType.image, .video].map { PHAsset.fetchAssets(with: $0, options: options) }.flatMap { found in
            (0..<found.count).map { PhotoLibrary.key(found.object(at: $0)).id }
        }
    }

    /// The name of the original's file; the identifier if PhotoKit knows none.
    func name(_ key: String) -> String {
        PhotoLibrary.asset(key).flatMap { PHAssetResource.assetResources(for: $0).first?.originalFilename } ?? key
    }

    func owns(_ id: String) -> Bool { PhotoLibrary.owns(id) }

    static func owns(_ id: String) -> Bool { AssetKey(id) != nil }

    func favourites() -> Set<String>? {
        let marked = PHAssetCollection.fetchAssetCollections(with: .smartAlbum, subtype: .smartAlbumFavorites, options: nil).firstObject
        guard let found = marked.map({ PHAsset.fetchAssets(in: $0, options: nil) }) else { return nil }
        return Set((0..<found.count).map { PhotoLibrary.key(found.object(at: $0)).id })
    }

    private static func key(_ asset: PHAsset) -> AssetKey {
        AssetKey(asset.localIdentifier, modified: Int(asset.modificationDate?.timeIntervalSince1970 ?? 0))
    }

    static func asset(_ id: String) -> PHAsset? {
        AssetKey(id).flatMap { PHAsset.fetchAssets(withLocalIdentifiers: [$0.identifier], options: nil).firstObject }
    }

    /// The metadata of an asset, before encoding. PhotoKit stores the moment but no zone: EXIF has it where the
    /// original is on the phone.
    func photo(_ key: String) -> Photo? { autoreleasepool { read(key) } }

    private func read(_ key: String) -> Photo? {
        guard let asset = PhotoLibrary.asset(key) else { return nil }
        var out = Photo(id: key)
        out.path = "photos:\(asset.localIdentifier)"  // it has a picture, and is not only something that was said
        let exif = PhotoLibrary.exif(asset)
        let library = asset.creationDate.map { Int(($0.timeIntervalSince1970 * 1000).rounded()) }
        let moment = Moment.of(exif: exif.taken, exifOffset: exif.offset, library: library) {
            TimeZone.current.secondsFromGMT(for: Date(timeIntervalSince1970: Double($0) / 1000)) / 60
        }
        (out.takenAt, out.tzSource, out.utcOffset) = (moment.takenAt, moment.zone, moment.offset)
        let place = asset.location?.coordinate
        if let known = place.flatMap({ Position(plausible: $0.latitude, $0.longitude) }) { (out.lat, out.lon) = (known.lat, known.lon) }
        return out
    }

    /// Upright RGB. Of a photo whose original is in the cloud, the thumbnail that PhotoKit has here; nil if it has none, and for a
    /// video.
    func picture(_ key: String) -> Look? {
        autoreleasepool { () -> Look? in
            guard let asset = PhotoLibrary.asset(key), asset.mediaType != .video else { return nil }
            let side = CGFloat(least)
            if let image = PhotoLibrary.image(asset, least: side) { return PhotoLibrary.upright(image).flatMap(PhotoLibrary.rgb).map { Look($0) } }
            let small = PhotoLibrary.image(asset, least: side, isSmall: true)
            return small.flatMap(PhotoLibrary.upright).flatMap(PhotoLibrary.rgb).map { Look($0, isSmall: true) }
        }
    }

    /// Nil for a photo, and for a video that is not here.
    func footage(_ key: String) -> Footage? { PhotoLibrary.asset(key).flatMap(VideoFootage.init) }

    /// More pixels of a photo, where there is text in it; nil where they are not here.
    static func large(_ photo: Photo) -> Pixels? { pixels(photo.id, least: LineReader.photo) }

    /// Of a video the frame that stands for it, or for a part of it.
    private static func pixels(_ id: String, least: Int) -> Pixels? {
        autoreleasepool {
            asset(id).flatMap { $0.mediaType == .video ? frame($0, id, side: least) : image($0, least: CGFloat(least)).flatMap(upright) }.flatMap(rgb)
        }
    }

    private static func frame(_ asset: PHAsset, _ id: String, side: Int) -> CGImage? {
        VideoFootage(asset).flatMap { $0.image(ClipFrames.middle($0, ClipPart(named: id)), side: side, isRough: false)?.picture }
    }

    func asset(_ key: String) -> String { AssetKey(key)?.identifier ?? key }

    /// The pixels in which faces are searched; nil where they are not here.
    static func forFaces(_ id: String) -> Pixels? { pixels(id, least: FaceReader.photo) }

    /// A face with some of what is around it. `box`: in shares of the photo's sides.
    static func face(_ id: String, _ box: FaceBox) -> UIImage? {
        guard let asset = asset(id) else { return nil }
        let still = { (image(asset, least: CGFloat(FaceReader.photo)) ?? image(asset, least: 240, isSmall: true)).flatMap(upright) }
        guard let whole = asset.mediaType == .video ? frame(asset, id, side: FaceReader.photo) : still() else { return nil }
        let (width, height) = (Double(whole.width), Double(whole.height))
        let side = max(1, min(1.4 * max(box.width * width, box.height * height), width, height))
        let left = min(max((box.left + box.width / 2) * width - side / 2, 0), width - side)
        let top = min(max((box.top + box.height / 2) * height - side / 2, 0), height - side)
        return whole.cropping(to: CGRect(x: left, y: top, width: side, height: side)).map { UIImage(cgImage: $0) }
    }

    /// The pixels as they are to be seen: those of a `cgImage` may lie on their side.
    private static func upright(_ image: UIImage) -> CGImage? {
        if image.imageOrientation == .up { return image.cgImage }
        let format = UIGraphicsImageRendererFormat()
        format.scale = image.scale
        let drawn = UIGraphicsImageRenderer(size: image.size, format: format).image { _ in image.draw(in: CGRect(origin: .zero, size: image.size)) }
        return drawn.cgImage
    }

    // Few threads, so that searches are not kept waiting by a timeline that is scrolled fast.
    private static let readers: OperationQueue = {
        let out = OperationQueue()
        out.maxConcurrentOperationCount = 2
        out.qualityOfService = .userInitiated
        return out
    }()

    /// What `work` returns on one of the threads that read pictures; nil if the task was cancelled before it began.
    static func read<T: Sendable>(_ work: @escaping @Sendable () -> T?) async -> T? {
        let left = Stop()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { done in readers.addOperation { done.resume(returning: left.isSet ? nil : work()) } }
        } onCancel: {
            left.set()
        }
    }

    /// When a photo was taken, in words; empty if that is not known.
    static func taken(_ id: String) -> String { asset(id)?.creationDate.map { $0.formatted(date: .long, time: .shortened) } ?? "" }

    /// A small picture for the screen; nil if the photo is gone or has none on this phone. Parts of a video have each their own.
    static func thumbnail(_ id: String) -> UIImage? {
        asset(id).flatMap { asset in
            let part = ClipPart(named: id) == nil ? nil : frame(asset, id, side: 240).map { UIImage(cgImage: $0) }
            return part ?? image(asset, least: 240) ?? image(asset, least: 240, isSmall: true)
        }
    }

    static func isVideo(_ id: String) -> Bool { asset(id)?.mediaType == .video }

    /// A picture for the whole screen, with more pixels, so that zooming shows more; nil as for `thumbnail`.
    static func whole(_ id: String) -> UIImage? {
        asset(id).flatMap { image($0, least: 1600) ?? image($0, least: 1600, isSmall: true) }
    }

    /// Lets the user choose other photos, where only some may be seen.
    @MainActor static func chooseMore() {
        let scenes = UIApplication.shared.connectedScenes.compactMap { $0 as? UIWindowScene }
        guard let screen = scenes.first?.keyWindow?.rootViewController else { return }
        PHPhotoLibrary.shared().presentLimitedLibraryPicker(from: screen)
    }

    /// `isSmall`: whatever is on the phone, however small.
    static func image(_ asset: PHAsset, least: CGFloat, isSmall: Bool = false) -> UIImage? {
        guard mayBeDecoded(asset) else { return nil }
        let options = PHImageRequestOptions()
        options.isSynchronous = true
        options.deliveryMode = isSmall ? .fastFormat : .highQualityFormat
        options.resizeMode = .fast
        options.isNetworkAccessAllowed = false
        let scale = Sampling.scale(width: asset.pixelWidth, height: asset.pixelHeight, least: least)
        let size = CGSize(width: CGFloat(asset.pixelWidth) * scale, height: CGFloat(asset.pixelHeight) * scale)
        let found = Found<UIImage>()
        PHImageManager.default().requestImage(for: asset, targetSize: size, contentMode: .aspectFill, options: options) { image, _ in
            found.value = image
        }
        return found.value
    }

    /// Only a JPEG, which a phone's own camera seldom writes, is read to its end for that.
    private static func mayBeDecoded(_ asset: PHAsset) -> Bool {
        guard PHAssetResource.assetResources(for: asset).contains(where: { $0.uniformTypeIdentifier == UTType.jpeg.identifier }) else { return true }
        return original(asset).map { Scans.mayBeDecoded($0, width: asset.pixelWidth, height: asset.pixelHeight) } ?? true
    }

    /// The bytes of an original that is on the phone.
    private static func original(_ asset: PHAsset) -> Data? {
        let options = PHImageRequestOptions()
        options.isSynchronous = true
        options.isNetworkAccessAllowed = false
        let found = Found<Data>()
        PHImageManager.default().requestImageDataAndOrientation(for: asset, options: options) { data, _, _, _ in found.value = data }
        return found.value
    }

    /// The texts of EXIF's DateTimeOriginal and OffsetTimeOriginal, where the original is on the phone: of most, its beginning is read.
    private static func exif(_ asset: PHAsset) -> (taken: String?, offset: String?) {
        guard let resource = PHAssetResource.assetResources(for: asset).first(where: { $0.type == .photo }) else { return (nil, nil) }
        let (options, header, manager) = (PHAssetResourceRequestOptions(), ExifHeader(), PHAssetResourceManager.default())
        options.isNetworkAccessAllowed = false
        let request = manager.requestData(for: resource, options: options, dataReceivedHandler: header.take) { _ in header.end() }
        let found = header.wait()
        manager.cancelDataRequest(request)
        return (found[kCGImagePropertyExifDateTimeOriginal as String] as? String, found[kCGImagePropertyExifOffsetTimeOriginal as String] as? String)
    }

    static func rgb(_ image: CGImage) -> Pixels? {
        let (width, height) = (image.width, image.height)
        var four = [UInt8](repeating: 0, count: 4 * width * height)
        let drawn = four.withUnsafeMutableBytes { buffer -> Bool in
            guard
                let space = CGColorSpace(name: CGColorSpace.sRGB),
                let context = CGContext(
                    data: buffer.baseAddress, width: width, height: height, bitsPerComponent: 8, bytesPerRow: 4 * width, space: space,
                    bitmapInfo: CGImageAlphaInfo.noneSkipLast.rawValue)
            else { return false }
            context.draw(image, in: CGRect(x: 0, y: 0, width: width, height: height))
            return true
        }
        guard drawn else { return nil }
        let three = [UInt8](unsafeUninitializedCapacity: 3 * width * height) { out, count in
            for at in 0..<width * height {
                for colour in 0..<3 { out[3 * at + colour] = four[4 * at + colour] }
            }
            count = 3 * width * height
        }
        return Pixels(bytes: three, width: width, height: height)
    }
}

/// What a request hands to its callback, before it returns or signals.
final class Found<T>: @unchecked Sendable {
    var value: T?
}

/// Reads a picture's EXIF while its bytes arrive, one call after another on a thread of PhotoKit's.
private final class ExifHeader: @unchecked Sendable {
    private let source = CGImageSourceCreateIncremental(nil)
    private let done = DispatchSemaphore(value: 0)
    private var data = Data(), next = 0
    private var found: [String: Any]?

    func take(_ more: Data) {
        if found != nil { return }
        data += more
        if data.count >= next { look() }
    }

    func end() {
        if found == nil { look() }
        done.signal()
    }

    /// Blocks until the header, or the end, was read.
    func wait() -> [String: Any] {
        done.wait()
        return found ?? [:]
    }

    /// Looks when the data has doubled: each time all of it is read.
    private func look() {
        next = 2 * data.count
        CGImageSourceUpdateData(source, data as CFData, false)
        let properties = CGImageSourceCopyPropertiesAtIndex(source, 0, nil) as? [String: Any]
        found = properties?[kCGImagePropertyExifDictionary as String] as? [String: Any]
        if found != nil { done.signal() }
    }
}
