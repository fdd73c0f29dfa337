import Foundation
import PhotoCore
import Photos
import SwiftUI
import UniformTypeIdentifiers

/// What is done with one photo or several: they are shared as they are, marked, or deleted. Before it deletes, the system asks
/// the person itself; the album follows with its next indexing.
struct Deeds: View {
    let ids: [String]
    let ended: @MainActor ([String]) -> Void
    @EnvironmentObject private var session: Session

    /// `ended`: is told of the photos that were deleted, and of none where they were only marked.
    init(_ ids: [String], ended: @escaping @MainActor ([String]) -> Void) {
        var seen = Set<String>()  // parts of a video have one file
        (self.ids, self.ended) = (ids.filter { PhotoLibrary.owns($0) && seen.insert(ClipPart.whole($0)).inserted }, ended)
    }

    var body: some View {
        ShareLink("Share", items: ids.map { Original(id: $0) }) { _ in SharePreview("GAMER") }.disabled(ids.isEmpty)
        Button("Mark as favourite", systemImage: "heart") { begin { try await PhotoLibrary.mark($0, isFavourite: true) } }.disabled(ids.isEmpty)
        Button("No longer a favourite", systemImage: "heart.slash") { begin { try await PhotoLibrary.mark($0, isFavourite: false) } }
            .disabled(ids.isEmpty)
        Button("Delete", systemImage: "trash") { begin(deletes: true, PhotoLibrary.delete) }.disabled(ids.isEmpty)
    }

    /// A deed that fails, or that the person does not allow, changes nothing.
    private func begin(deletes: Bool = false, _ deed: @escaping @Sendable ([String]) async throws -> Void) {
        let ids = ids
        Task {
            guard (try? await deed(ids)) != nil else { return }
            if deletes { session.deleted(ids) }
            ended(deletes ? ids : [])
        }
    }
}

/// The file of a photo, as the library has it.
struct Original: Transferable {
    let id: String

    static var transferRepresentation: some TransferRepresentation {
        FileRepresentation(exportedContentType: .movie) { (video: Original) in SentTransferredFile(try await PhotoLibrary.original(video.id)) }
            .exportingCondition { PhotoLibrary.isVideo($0.id) }
        FileRepresentation(exportedContentType: .image) { (photo: Original) in SentTransferredFile(try await PhotoLibrary.original(photo.id)) }
            .exportingCondition { !PhotoLibrary.isVideo($0.id) }
    }
}

extension PhotoLibrary {
    static func delete(_ ids: [String]) async throws {
        try await PHPhotoLibrary.shared().performChanges { PHAssetChangeRequest.deleteAssets(NSArray(array: ids.compactMap(asset))) }
    }

    static func mark(_ ids: [String], isFavourite: Bool) async throws {
        try await PHPhotoLibrary.shared().performChanges {
            for asset in ids.compactMap(asset) { PHAssetChangeRequest(for: asset).isFavorite = isFavourite }
        }
    }

    /// A copy of the file, as it was edited last; of a photo whose file is in the cloud a picture as it is here.
    static func original(_ id: String) async throws -> URL {
        guard let asset = asset(id) else { throw CocoaError(.fileNoSuchFile) }
        let files = PHAssetResource.assetResources(for: asset)
        let edited = files.first { [.fullSizePhoto, .fullSizeVideo].contains($0.type) }
        guard let file = edited ?? files.first(where: { [.photo, .video].contains($0.type) }) else { throw CocoaError(.fileNoSuchFile) }
        let folder = shared.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let copy = folder.appendingPathComponent(file.originalFilename)
        let options = PHAssetResourceRequestOptions()
        options.isNetworkAccessAllowed = false
        do {
            try await PHAssetResourceManager.default().writeData(for: file, toFile: copy, options: options)
            return copy
        } catch {
            guard asset.mediaType != .video, let picture = whole(id)?.jpegData(compressionQuality: 0.9) else { throw error }
            let small = copy.deletingPathExtension().appendingPathExtension("jpg")
            try picture.write(to: small)
            return small
        }
    }

    /// Deletes what was copied for sharing; to be called when the app begins.
    static func forgetShared() { try? FileManager.default.removeItem(at: shared) }

    private static var shared: URL { FileManager.default.temporaryDirectory.appendingPathComponent("shared") }
}
