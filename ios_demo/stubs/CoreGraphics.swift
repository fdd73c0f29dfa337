@_exported import Foundation

public final class CGImage: @unchecked Sendable {
    public var width: Int { 0 }
    public var height: Int { 0 }
    public func cropping(to rect: CGRect) -> CGImage? { nil }
}

public final class CGColorSpace {
    public static let sRGB = "sRGB"
    public init?(name: String) { return nil }
}

public enum CGImageAlphaInfo: UInt32 { case noneSkipLast = 5 }

public final class CGContext {
    public init?(
        data: UnsafeMutableRawPointer?, width: Int, height: Int, bitsPerComponent: Int, bytesPerRow: Int, space: CGColorSpace, bitmapInfo: UInt32
    ) { return nil }
    public func draw(_ image: CGImage, in rect: CGRect) {}
}

public typealias CFData = Data
public typealias CFString = String
public typealias CFDictionary = AnyObject

// Of Objective-C, which Apple's Foundation brings along.
public func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result { try body() }
