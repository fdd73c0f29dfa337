@_exported import CoreGraphics

public final class CGImageSource {}
public let kCGImagePropertyExifDictionary: CFString = "{Exif}"
public let kCGImagePropertyExifDateTimeOriginal: CFString = "DateTimeOriginal"
public let kCGImagePropertyExifOffsetTimeOriginal: CFString = "OffsetTimeOriginal"
public func CGImageSourceCreateWithData(_ data: CFData, _ options: CFDictionary?) -> CGImageSource? { nil }
public func CGImageSourceCopyPropertiesAtIndex(_ source: CGImageSource, _ index: Int, _ options: CFDictionary?) -> CFDictionary? { nil }
public enum CGImagePropertyOrientation: UInt32, Sendable { case up = 1 }
