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
    let ten = tens[digits], scaled = value * ten
    // Far from the middle between two decimals, and small: the nearest integer is surely right, and exact.
    if abs(scaled) < 1e9, abs(scaled - scaled.rounded(.down) - 0.5) > 1e-6 { return scaled.rounded() / ten }
    return Double(String(format: "%.\(digits)f", value)) ?? value
}

private let tens: [Double] = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]

/// All positions, by descending score; equal scores in order of position.
public func descending(_ scores: [Float]) -> [Int] {
    scores.indices.sorted { scores[$0] != scores[$1] ? scores[$0] > scores[$1] : $0 < $1 }
}

/// The first `k` of `descending`, without putting the others in order.
func topmost(_ scores: [Float], _ k: Int) -> [Int] {
    if k >= scores.count { return descending(scores) }
    if k <= 0 { return [] }
    var kept = Heap<Scored>()  // the worst of those that are kept first
    for at in scores.indices {
        let one = Scored(score: scores[at], at: at)
        if kept.count < k { kept.push(one) } else if kept.first! < one { kept.replaceFirst(one) }
    }
    return kept.items.sorted { $1 < $0 }.map(\.at)
}

private struct Scored: Comparable {
    let score: Float, at: Int
    static func < (a: Scored, b: Scored) -> Bool { a.score != b.score ? a.score < b.score : a.at > b.at }
}

/// The numbers in ascending order without repeats.
func ascending(_ numbers: [Int]) -> [Int] {
    if zip(numbers, numbers.dropFirst()).allSatisfy(<) { return numbers }
    let sorted = numbers.sorted()
    return sorted.indices.filter { $0 == 0 || sorted[$0] != sorted[$0 - 1] }.map { sorted[$0] }
}

/// Whether a number is among `sorted`, which are ascending.
func isAmong(_ sorted: [Int], _ number: Int) -> Bool {
    var (low, high) = (0, sorted.count)
    while low < high {
        let middle = (low + high) / 2
        if sorted[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low < sorted.count && sorted[low] == number
}

/// The positions of the true values, ascending.
func marked(_ mask: [Bool]) -> [Int] { mask.indices.filter { mask[$0] } }
