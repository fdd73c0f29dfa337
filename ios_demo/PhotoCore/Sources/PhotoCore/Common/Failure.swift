/// The core's error type. Each message is one line: what is wrong, where, and what to do; the texts are those
/// of the Python reference.
public enum Failure: Error, CustomStringConvertible, Equatable {
    /// A bundle, backend or query problem that a person can act on.
    case runtime(String)
    /// A bundle directory that is not as its manifest says.
    case bundle(String)
    /// An album file that cannot be opened, read or written as asked.
    case album(String)
    /// Text or bytes that do not have the expected shape; the caller that reads a file adds which file it is.
    case value(String)

    public var description: String {
        switch self {
        case .runtime(let line), .bundle(let line), .album(let line), .value(let line): return line
        }
    }
}
