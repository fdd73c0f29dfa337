import Foundation

/// The search screen without its views: what it says, and which results still count.
public struct ScreenState: Sendable, Equatable {
    public enum Access: Sendable { case all, chosen, none }

    public enum Notice: Sendable, Equatable {
        case noBundle, noAccess, noPhotos, ready
        case indexing(IndexReport)
        case failed(String)
    }

    private var hasBundle = false, hasAlbum = false, access = Access.none
    private var failure: String?
    private var searches = 0
    public private(set) var isIndexing = false
    public private(set) var isSearching = false
    /// What the last run of indexing did.
    public private(set) var report: IndexReport?

    public init() {}

    public mutating func look(bundle: Bool, album: Bool, access: Access) { (hasBundle, hasAlbum, self.access) = (bundle, album, access) }

    /// Whether a run may begin: false while one is in progress.
    public mutating func beginIndexing() -> Bool {
        if isIndexing { return false }
        (isIndexing, failure, report) = (true, nil, nil)
        return true
    }

    /// Takes a run's report. One that arrives after the run's end is its last.
    public mutating func indexing(_ report: IndexReport) { self.report = report }

    public mutating func endIndexing(failure: String? = nil) { (isIndexing, self.failure) = (false, failure) }

    /// The number of a new search, to be handed back with its end. An earlier failure is forgotten.
    public mutating func beginSearch() -> Int {
        searches += 1
        (isSearching, failure) = (true, nil)
        return searches
    }

    /// Returns whether it is the end of the last search; the result of an earlier one came too late.
    public mutating func endSearch(_ search: Int, failure: String? = nil) -> Bool {
        guard search == searches else { return false }
        (isSearching, self.failure) = (false, failure)
        return true
    }

    public var notice: Notice {
        if !hasBundle { return .noBundle }
        if isIndexing { return .indexing(report ?? IndexReport(done: 0, total: 0)) }
        if let failure { return .failed(failure) }
        if !hasAlbum { return access == .none ? .noAccess : .noPhotos }
        return .ready
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
