import Photos
import UIKit

extension PHPhotoLibrary {
    @MainActor public func presentLimitedLibraryPicker(from controller: UIViewController) {}
}
