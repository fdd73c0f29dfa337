/// Dynamic routing of the projection experts (paper Eq. 1): knows weights and ρ, runs nothing.
public struct Routing: Sendable, Equatable {
    /// The experts to run, strongest first.
    public let experts: [Int]
    /// Their weights, normalised over themselves.
    public let weights: [Float]

    /// Router weights (not negative) are normalised and sorted descending; the smallest number of experts whose sum reaches `rho` is kept.
    /// Raises Failure.value for ρ outside (0, 1] or weights that sum to nothing.
    public static func choose(_ weights: [Float], rho: Double) throws -> Routing {
        let total = weights.reduce(Float(0), +)
        guard rho > 0, rho <= 1, total > 0 else {
            throw Failure.value("ρ = \(rho) and weights summing to \(Double(total)): 0 < ρ ≤ 1 and a positive sum are wanted")
        }
        let share = weights.map { $0 / total }
        let order = descending(share)
        var sum = 0.0, count = 0
        // A sum of 0.69999999 is 0.7: rounding must not wake another expert.
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
