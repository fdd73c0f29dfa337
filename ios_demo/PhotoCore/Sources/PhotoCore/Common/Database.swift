import CSQLite
import Foundation

/// A value of a column.
public enum Value: Sendable, Equatable {
    case null
    case integer(Int)
    case real(Double)
    case text(String)
    case blob([UInt8])

    public var integer: Int? { if case .integer(let value) = self { return value } else { return nil } }
    public var text: String? { if case .text(let value) = self { return value } else { return nil } }
    public var blob: [UInt8]? { if case .blob(let value) = self { return value } else { return nil } }
    public var isNull: Bool { self == .null }

    public var real: Double? {
        switch self {
        case .real(let value): return value
        case .integer(let value): return Double(value)
        default: return nil
        }
    }

    public static func optional(_ value: Int?) -> Value { value.map(Value.integer) ?? .null }
    public static func optional(_ value: String?) -> Value { value.map(Value.text) ?? .null }
}

/// An error of SQLite: its extended result code and message.
public struct SQLiteError: Error, CustomStringConvertible {
    public let code: Int32
    public let words: String
    public var description: String { words }
    public var isBusy: Bool { [SQLITE_BUSY, SQLITE_LOCKED].contains(code & 0xff) }
    public var isOfDisk: Bool { code & 0xff == SQLITE_IOERR }
    public var isConstraint: Bool { code & 0xff == SQLITE_CONSTRAINT }
    public var isClosedToWriting: Bool { [SQLITE_CANTOPEN, SQLITE_READONLY].contains(code & 0xff) }
    public var isNotWritten: Bool { [SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL].contains(code & 0xff) }
}

/// A connection to one SQLite file, with a cache of prepared statements.
///
/// Not thread-safe: callers that share a connection must hold a lock.
public final class Database: @unchecked Sendable {
    public enum Mode { case readOnly, readWrite, create, immutable }

    private var handle: OpaquePointer?
    private var statements: [String: OpaquePointer] = [:]
    private var reading = Set<OpaquePointer>()

    /// Raises SQLiteError.
    public init(_ path: String, _ mode: Mode) throws {
        var name = path, flags: Int32
        switch mode {
        case .readOnly: flags = SQLITE_OPEN_READONLY
        case .readWrite: flags = SQLITE_OPEN_READWRITE
        case .create: flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .immutable:
            flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            name = URL(fileURLWithPath: path).absoluteString + "?immutable=1"
        }
        let code = sqlite3_open_v2(name, &handle, flags | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK else {
            let error = self.error(code)
            close()
            throw error
        }
        sqlite3_extended_result_codes(handle, 1)
    }

    deinit { close() }

    public func close() {
        statements.values.forEach { sqlite3_finalize($0) }
        statements = [:]
        sqlite3_close_v2(handle)
        handle = nil
    }

    public func wait(milliseconds: Int32) { sqlite3_busy_timeout(handle, milliseconds) }

    public var inTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }
    public var lastRow: Int { Int(sqlite3_last_insert_rowid(handle)) }

    /// Whether the file of this connection was deleted, or another file now has its name.
    public var hasMoved: Bool {
        var moved: Int32 = 0
        sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved)
        return moved != 0
    }

    /// Runs several statements without parameters.
    public func run(_ script: String) throws {
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code) }
    }

    /// All rows of one statement.
    @discardableResult
    public func rows(_ sql: String, _ values: [Value] = []) throws -> [[Value]] {
        var out: [[Value]] = []
        try each(sql, values) { out.append($0) }
        return out
    }

    public func first(_ sql: String, _ values: [Value] = []) throws -> [Value]? { try rows(sql, values).first }

    /// The first value of the first row as an integer; `otherwise` if there is none.
    public func integer(_ sql: String, _ values: [Value] = [], otherwise: Int = 0) throws -> Int {
        try first(sql, values)?.first?.integer ?? otherwise
    }

    public func each(_ sql: String, _ values: [Value] = [], _ body: ([Value]) throws -> Void) throws {
        let (statement, isKept) = try prepared(sql)
        defer {
            if isKept {
                sqlite3_reset(statement)
                sqlite3_clear_bindings(statement)
            } else {
                sqlite3_finalize(statement)
            }
        }
        reading.insert(statement)
        defer { reading.remove(statement) }
        for (at, value) in values.enumerated() { try bind(statement, Int32(at + 1), value) }
        let columns = sqlite3_column_count(statement)
        while true {
            let code = sqlite3_step(statement)
            if code == SQLITE_DONE { return }
            guard code == SQLITE_ROW else { throw error(code) }
            try body(try (0..<columns).map { try column(statement, $0) })
        }
    }

    /// A statement, and whether it stays in the cache. One that is being read, by a caller whose `body` runs the
    /// same SQL, stays untouched: the inner call gets a statement of its own.
    private func prepared(_ sql: String) throws -> (statement: OpaquePointer, isKept: Bool) {
        let known = statements[sql]
        if let known, !reading.contains(known) { return (known, true) }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
        guard code == SQLITE_OK, let statement else { throw error(code) }
        if known == nil { statements[sql] = statement }
        return (statement, known == nil)
    }

    private func bind(_ statement: OpaquePointer, _ at: Int32, _ value: Value) throws {
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        let code: Int32
        switch value {
        case .null: code = sqlite3_bind_null(statement, at)
        case .integer(let number): code = sqlite3_bind_int64(statement, at, Int64(number))
        case .real(let number): code = sqlite3_bind_double(statement, at, number)
        case .text(let text):
            let bytes = Array(text.utf8)  // passed with its length, so that a NUL inside does not end it
            code = bytes.withUnsafeBytes { buffer in
                sqlite3_bind_text(statement, at, buffer.baseAddress?.assumingMemoryBound(to: CChar.self) ?? Database.empty, Int32(bytes.count), transient)
            }
        case .blob(let bytes):
            code = bytes.isEmpty
                ? sqlite3_bind_zeroblob(statement, at, 0)
                : bytes.withUnsafeBytes { sqlite3_bind_blob64(statement, at, $0.baseAddress, UInt64(bytes.count), transient) }
        }
        guard code == SQLITE_OK else { throw error(code) }
    }

    private nonisolated(unsafe) static let empty: UnsafePointer<CChar> = {
        let letter = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
        letter.pointee = 0
        return UnsafePointer(letter)
    }()

    private func column(_ statement: OpaquePointer, _ at: Int32) throws -> Value {
        switch sqlite3_column_type(statement, at) {
        case SQLITE_INTEGER: return .integer(Int(sqlite3_column_int64(statement, at)))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(statement, at))
        case SQLITE_TEXT:
            guard let start = sqlite3_column_text(statement, at) else { return .text("") }
            let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, at)))
            guard let text = String(validating: bytes, as: UTF8.self) else { throw Failure.value("a text that is not UTF-8") }
            return .text(text)
        case SQLITE_BLOB:
            guard let start = sqlite3_column_blob(statement, at) else { return .blob([]) }
            return .blob([UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, at)))))
        default: return .null
        }
    }

    private func error(_ code: Int32) -> SQLiteError {
        SQLiteError(code: handle == nil ? code : sqlite3_extended_errcode(handle), words: handle == nil ? "no memory" : String(cString: sqlite3_errmsg(handle)))
    }
}
