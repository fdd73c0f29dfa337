import Foundation

/// Division that rounds down, as needed for days and minutes before 1970.
@inlinable public func floorDiv(_ a: Int, _ b: Int) -> Int {
    let q = a / b
    return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q
}

/// The remainder of `floorDiv`; it has the divisor's sign.
@inlinable public func floorMod(_ a: Int, _ b: Int) -> Int { a - floorDiv(a, b) * b }

/// The floating-point remainder with the divisor's sign.
@inlinable public func floorMod(_ a: Double, _ b: Double) -> Double {
    let r = fmod(a, b)
    return r != 0 && (r < 0) != (b < 0) ? r + b : r
}

/// Rounded to `digits` decimals by the exact value of the binary number, as Python rounds.
public func rounded(_ value: Double, _ digits: Int) -> Double {
    guard value.isFinite else { return value }
    return Double(String(format: "%.\(digits)f", value)) ?? value
}

/// All positions, by descending score; equal scores in order of position.
public func descending(_ scores: [Float]) -> [Int] {
    scores.indices.sorted { scores[$0] != scores[$1] ? scores[$0] > scores[$1] : $0 < $1 }
}
