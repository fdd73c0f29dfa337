import UIKit
@_exported import CoreLocation
import ImageIO
import AVFoundation

public enum PHAuthorizationStatus: Int, Sendable { case notDetermined, restricted, denied, authorized, limited }
public enum PHAccessLevel: Int, Sendable { case addOnly = 1, readWrite }
public enum PHAssetMediaType: Int, Sendable { case unknown, image, video, audio }
public enum PHImageContentMode: Int, Sendable { case aspectFit, aspectFill }
public enum PHImageRequestOptionsDeliveryMode: Int, Sendable { case opportunistic, highQualityFormat, fastFormat }
public enum PHImageRequestOptionsResizeMode: Int, Sendable { case none, fast, exact }
public typealias PHImageRequestID = Int32

public final class PHPhotoLibrary {
    public static func requestAuthorization(for level: PHAccessLevel) async -> PHAuthorizationStatus { .denied }
    public static func authorizationStatus(for level: PHAccessLevel) -> PHAuthorizationStatus { .denied }
    public static func shared() -> PHPhotoLibrary { PHPhotoLibrary() }
    public func performChanges(_ block: @escaping @Sendable () -> Void) async throws {}
    public func register(_ observer: any PHPhotoLibraryChangeObserver) {}
    public func unregisterChangeObserver(_ observer: any PHPhotoLibraryChangeObserver) {}
}

public final class PHChange {}

public protocol PHPhotoLibraryChangeObserver: NSObjectProtocol {
    func photoLibraryDidChange(_ change: PHChange)
}

open class PHFetchOptions {
    public init() {}
    public var sortDescriptors: [NSSortDescriptor]?
}

public final class PHFetchResult<Item> {
    public var count: Int { 0 }
    public var firstObject: Item? { nil }
    public func object(at index: Int) -> Item { fatalError() }
}

public final class PHAsset {
    public var localIdentifier: String { "" }
    public var modificationDate: Date? { nil }
    public var creationDate: Date? { nil }
    public var location: CLLocation? { nil }
    public var mediaType: PHAssetMediaType { .image }
    public var duration: TimeInterval { 0 }
    public var pixelWidth: Int { 0 }
    public var pixelHeight: Int { 0 }
    public static func fetchAssets(with type: PHAssetMediaType, options: PHFetchOptions?) -> PHFetchResult<PHAsset> { PHFetchResult() }
    public static func fetchAssets(withLocalIdentifiers ids: [String], options: PHFetchOptions?) -> PHFetchResult<PHAsset> { PHFetchResult() }
}

public final class PHAssetChangeRequest {
    public init(for asset: PHAsset) {}
    public var isFavorite = false
    public static func deleteAssets(_ assets: NSArray) {}
}

public enum PHAssetCollectionType: Int, Sendable { case album = 1, smartAlbum }
public enum PHAssetCollectionSubtype: Int, Sendable { case smartAlbumFavorites = 203 }

public final class PHAssetCollection {
    public static func fetchAssetCollections(
        with type: PHAssetCollectionType, subtype: PHAssetCollectionSubtype, options: PHFetchOptions?
    ) -> PHFetchResult<PHAssetCollection> { PHFetchResult() }
}

extension PHAsset {
    public static func fetchAssets(in collection: PHAssetCollection, options: PHFetchOptions?) -> PHFetchResult<PHAsset> { PHFetchResult() }
}

public enum PHAssetResourceType: Int, Sendable { case photo = 1, video, audio, alternatePhoto, fullSizePhoto, fullSizeVideo }
public typealias PHAssetResourceDataRequestID = Int32

public final class PHAssetResourceRequestOptions {
    public init() {}
    public var isNetworkAccessAllowed = false
}

public final class PHAssetResourceManager {
    public static func `default`() -> PHAssetResourceManager { PHAssetResourceManager() }

    @discardableResult
    public func requestData(
        for resource: PHAssetResource, options: PHAssetResourceRequestOptions?, dataReceivedHandler handler: @escaping @Sendable (Data) -> Void,
        completionHandler: @escaping @Sendable ((any Error)?) -> Void
    ) -> PHAssetResourceDataRequestID { 0 }
    public func writeData(for resource: PHAssetResource, toFile file: URL, options: PHAssetResourceRequestOptions?) async throws {}
    public func cancelDataRequest(_ request: PHAssetResourceDataRequestID) {}
}

public final class PHAssetResource {
    public var type: PHAssetResourceType { .photo }
    public var originalFilename: String { "" }
    public var uniformTypeIdentifier: String { "" }
    public static func assetResources(for asset: PHAsset) -> [PHAssetResource] { [] }
}

public final class PHImageRequestOptions {
    public init() {}
    public var isSynchronous = false
    public var deliveryMode = PHImageRequestOptionsDeliveryMode.opportunistic
    public var resizeMode = PHImageRequestOptionsResizeMode.fast
    public var isNetworkAccessAllowed = false
}

public final class PHVideoRequestOptions {
    public init() {}
    public var isNetworkAccessAllowed = false
}

public final class PHImageManager {
    public static func `default`() -> PHImageManager { PHImageManager() }

    @discardableResult
    public func requestImage(
        for asset: PHAsset, targetSize: CGSize, contentMode: PHImageContentMode, options: PHImageRequestOptions?,
        resultHandler: @escaping @Sendable (UIImage?, [AnyHashable: Any]?) -> Void
    ) -> PHImageRequestID { 0 }

    @discardableResult
    public func requestImageDataAndOrientation(
        for asset: PHAsset, options: PHImageRequestOptions?,
        resultHandler: @escaping @Sendable (Data?, String?, CGImagePropertyOrientation, [AnyHashable: Any]?) -> Void
    ) -> PHImageRequestID { 0 }
}

extension PHImageManager {
    @discardableResult
    public func requestAVAsset(
        forVideo asset: PHAsset, options: PHVideoRequestOptions?, resultHandler: @escaping @Sendable (AVAsset?, AVAudioMix?, [AnyHashable: Any]?) -> Void
    ) -> PHImageRequestID { 0 }

    @discardableResult
    public func requestPlayerItem(
        forVideo asset: PHAsset, options: PHVideoRequestOptions?, resultHandler: @escaping @Sendable (AVPlayerItem?, [AnyHashable: Any]?) -> Void
    ) -> PHImageRequestID { 0 }
}

// Of Apple's Foundation: the one on Linux has no key-value coding.
extension NSSortDescriptor {
    public convenience init(key: String?, ascending: Bool) { fatalError() }
}
