/// The core's one error: a line that says what is wrong, where, and what to do. The texts are the Python reference's.
public enum Failure: Error, CustomStringConvertible, Equatable {
    /// A bundle, backend or query problem that a person can act on.
    case runtime(String)
    /// The bundle directory is not what its manifest promises.
    case bundle(String)
    /// An album file that cannot be opened, read or written as asked.
    case album(String)
    /// Text that is not of the shape that a reader wants; whoever reads a file says which.
    case value(String)

    public var description: String {
        switch self {
        case .runtime(let line), .bundle(let line), .album(let line), .value(let line): return line
        }
    }
}
