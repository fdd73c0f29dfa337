/// The query planner: estimates whether an exact scan or a graph search is faster for a filtered query. The
/// constants are microseconds, those of index/vectors/planner.py, set by hand on one x86 core.
public struct Estimate: Sendable, Equatable {
    public enum Plan: String, Sendable { case exact, hnsw }

    public let total: Int
    public let left: Int
    public let dim: Int
    public let k: Int
    public var chunks = 1.0

    /// Of 100,000 vectors; with the root of their number for more.
    private var least: Int { Int((76 * max(Double(total) / 100_000, 1).squareRoot()).rounded(.up)) }

    /// The candidate-list size (ef) that a graph search would use.
    public var width: Int { min(total, max(least, 2 * k, Int((1.6 * Double(k) * chunks * Double(total) / Double(max(left, 1))).rounded(.up)))) }

    public var exactMicroseconds: Double {
        let gathered = left < total
        return 45 + Double(left) * (gathered ? 0.00017 : 0.00009) * Double(dim)
    }

    public var graphMicroseconds: Double { 80 + Double(width) * (0.5 + 0.0005 * Double(dim)) }

    /// What a scan may take where a walk would take less: it misses nothing.
    private static let little = 500.0

    public var plan: Plan { left > 0 && max(graphMicroseconds, Estimate.little) < exactMicroseconds ? .hnsw : .exact }
}
