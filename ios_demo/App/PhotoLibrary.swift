import CoreGraphics
import PhotoCore
import Photos
import UIKit

/// The phone's photos in PhotoKit: the permission to see them, their metadata and their pixels.
enum PhotoLibrary {
    /// Asks the user once; later calls return the answer given then. `.limited`: some photos that the user
    /// chose.
    static func access() async -> PHAuthorizationStatus { await PHPhotoLibrary.requestAuthorization(for: .readWrite) }

    static var current: PHAuthorizationStatus { PHPhotoLibrary.authorizationStatus(for: .readWrite) }

    /// All photos, newest first.
    static func assets() -> [PHAsset] {
        let options = PHFetchOptions()
        options.sortDescriptors = [NSSortDescriptor(key: "creationDate", ascending: false)]
        let found = PHAsset.fetchAssets(with: .image, options: options)
        return (0..<found.count).map { found.object(at: $0) }
    }

    static func asset(_ id: String) -> PHAsset? { PHAsset.fetchAssets(withLocalIdentifiers: [id], options: nil).firstObject }

    /// The metadata of an asset, before encoding. PhotoKit stores the moment but no zone: the phone's zone is
    /// used, since most photos are taken at home.
    static func photo(_ asset: PHAsset) -> Photo {
        var out = Photo(id: asset.localIdentifier)
        if let date = asset.creationDate {
            out.takenAt = Int((date.timeIntervalSince1970 * 1000).rounded())
            out.tzSource = "position"
            out.utcOffset = TimeZone.current.secondsFromGMT(for: date) / 60
        }
        if let place = asset.location?.coordinate, CLLocationCoordinate2DIsValid(place) { (out.lat, out.lon) = (place.latitude, place.longitude) }
        return out
    }

    /// Upright RGB with at least `least` pixels on the short side if the photo has them; nil for a photo that
    /// is only in the cloud.
    static func pixels(_ asset: PHAsset, least: CGFloat = 512) -> Pixels? {
        guard let image = image(asset, least: least)?.cgImage else { return nil }
        return rgb(image)
    }

    static func image(_ asset: PHAsset, least: CGFloat) -> UIImage? {
        let options = PHImageRequestOptions()
        options.isSynchronous = true
        options.deliveryMode = .highQualityFormat
        options.resizeMode = .fast
        // Nothing is downloaded: a photo that is only in the cloud is indexed without its pixels.
        options.isNetworkAccessAllowed = false
        let scale = max(least / CGFloat(max(1, min(asset.pixelWidth, asset.pixelHeight))), 0.01)
        let size = CGSize(width: CGFloat(asset.pixelWidth) * min(1, scale), height: CGFloat(asset.pixelHeight) * min(1, scale))
        var found: UIImage?
        PHImageManager.default().requestImage(for: asset, targetSize: size, contentMode: .aspectFill, options: options) { image, _ in found = image }
        return found
    }

    private static func rgb(_ image: CGImage) -> Pixels? {
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
        var three = [UInt8]()
        three.reserveCapacity(3 * width * height)
        for at in stride(from: 0, to: four.count, by: 4) { three += four[at..<at + 3] }
        return Pixels(bytes: three, width: width, height: height)
    }
}
