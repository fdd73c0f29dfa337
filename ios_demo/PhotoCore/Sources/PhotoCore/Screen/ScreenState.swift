import Foundation

/// How a run of indexing ended. `busy`: it did not begin, because another one, of the system's background task,
/// is in progress. `paused`: it goes on when the reason is gone.
public enum IndexOutcome: Sendable, Equatable {
    case finished, stopped, busy
    case paused(Pause)
}

/// The search screen without its views: what it says, and which results still count. What is said of indexing and
/// what is said of the last search are two lines, so that neither hides the other.
public struct ScreenState: Sendable, Equatable {
    /// `refused`: the system does not ask the user any more.
    public enum Access: Sendable { case all, chosen, none, refused }

    /// `noBundle`: with the reason why the one that the user chose was not taken.
    public enum Notice: Sendable, Equatable {
        case noAccess, refused, noPhotos, busy, ready, unpacking
        case noBundle(String?)
        /// `left`: seconds, nil if they are not known yet.
        case indexing(IndexReport, left: Int?)
        case paused(Pause, IndexReport)
        case failed(String)
    }

    public enum Search: Sendable, Equatable {
        case none, running, ended
        case failed(String)
    }

    private var hasBundle = false, hasAlbum = false, access = Access.none
    private var failure: String?
    private var ended: IndexOutcome?, isUnpacking = false, isAsked = false
    private var pace = Pace(), left: Int?
    /// Why the last model that the user chose was not taken; until another is chosen, or a search begins.
    public private(set) var refusedBundle: String?
    private var searches = 0
    public private(set) var isIndexing = false
    public private(set) var search = Search.none
    /// What the last run of indexing did.
    public private(set) var report: IndexReport?

    public init() {}

    public mutating func look(bundle: Bool, album: Bool, access: Access) { (hasBundle, hasAlbum, self.access) = (bundle, album, access) }

    /// Whether a packed bundle may be unpacked: false while one is, or while photos are indexed with the old one.
    public mutating func beginUnpacking() -> Bool {
        if isUnpacking || isIndexing { return false }
        (isUnpacking, refusedBundle) = (true, nil)
        return true
    }

    /// `failure`: why it was not taken.
    public mutating func endUnpacking(failure: String?) { (isUnpacking, refusedBundle) = (false, failure) }

    /// Whether a run may begin: false while one is in progress, after which `wantsIndexing` tells that another was asked for.
    public mutating func beginIndexing() -> Bool {
        isAsked = isIndexing
        if isIndexing || isUnpacking { return false }
        (isIndexing, ended, failure, report, pace, left) = (true, nil, nil, nil, Pace(), nil)
        return true
    }

    /// Whether a run was asked for during the last one: photos may have come since it listed them.
    public var wantsIndexing: Bool { isAsked && !isIndexing }

    /// Takes a run's report. One that arrives after the run's end is its last. `now`: seconds of a clock that does not
    /// jump.
    public mutating func indexing(_ report: IndexReport, now: Double) {
        (self.report, left) = (report, pace.left(now, done: report.done, total: report.total))
    }

    /// `outcome`: nil with a `failure`.
    public mutating func endIndexing(_ outcome: IndexOutcome?, failure: String? = nil) {
        (isIndexing, ended, self.failure) = (false, outcome, failure)
    }

    /// The number of a new search, to be handed back with its end. What the one before said is forgotten.
    public mutating func beginSearch() -> Int {
        searches += 1
        (search, refusedBundle) = (.running, nil)
        return searches
    }

    /// Returns whether it is the end of the last search; the result of an earlier one came too late.
    public mutating func endSearch(_ number: Int, failure: String? = nil) -> Bool {
        guard number == searches else { return false }
        search = failure.map(Search.failed) ?? .ended
        return true
    }

    /// Whether some photos may be seen.
    public var sees: Bool { [.all, .chosen].contains(access) }

    public var notice: Notice {
        if isUnpacking { return .unpacking }
        if !hasBundle { return .noBundle(refusedBundle) }
        if isIndexing { return .indexing(report ?? IndexReport(done: 0, total: 0), left: left) }
        if let failure { return .failed(failure) }
        if ended == .busy { return .busy }
        if case .paused(let why) = ended { return .paused(why, report ?? IndexReport(done: 0, total: 0)) }
        if access == .none { return .noAccess }
        if access == .refused { return .refused }
        return hasAlbum ? .ready : .noPhotos
    }
}

/// Lets one at a time through: two runs of indexing, one of the screen's and one of the system's, would refuse
/// each other the album.
public final class Gate: @unchecked Sendable {
    private let lock = NSLock()

    public init() {}

    /// Runs `work` and returns its result; nil if another is inside.
    public func pass<T>(_ work: () throws -> T) rethrows -> T? {
        guard lock.try() else { return nil }
        defer { lock.unlock() }
        return try work()
    }
}
