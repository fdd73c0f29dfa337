/// Dynamic routing of the projection experts (paper Eq. 1).
public struct Routing: Sendable, Equatable {
    /// The experts to run, strongest first.
    public let experts: [Int]
    /// The experts' weights, which sum to one.
    public let weights: [Float]

    /// Router weights (non-negative) are normalised and sorted descending; the smallest number of experts
    /// whose cumulative sum reaches `rho` is chosen. Raises Failure.value for ρ outside (0, 1] or weights
    /// that sum to zero.
    public static func choose(_ weights: [Float], rho: Double) throws -> Routing {
        let total = weights.reduce(Float(0), +)
        guard rho > 0, rho <= 1, total > 0 else {
            throw Failure.value("ρ = \(rho) and weights summing to \(Double(total)): 0 < ρ ≤ 1 and a positive sum are wanted")
        }
        let share = weights.map { $0 / total }
        let order = descending(share)
        var sum = 0.0, count = 0
        // A sum of 0.69999999 counts as 0.7: rounding must not add another expert.
        while count < order.count {
            sum += Double(share[order[count]])
            count += 1
            if sum >= rho - 1e-7 { break }
        }
        let kept = Array(order[..<count]), own = kept.map { share[$0] }
        let whole = own.reduce(Float(0), +)
        return Routing(experts: kept, weights: own.map { $0 / whole })
    }
}
