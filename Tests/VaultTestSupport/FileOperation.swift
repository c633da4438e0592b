/// The kinds of calls that a ``SimulatedFileSystem`` counts and can make fail.
package enum FileOperation: Hashable, Sendable {
    case createDirectory, create, open, write, synchronize, truncate, rename, remove, list, synchronizeDirectory

    /// One call: its operation and its path.
    package struct Call: Hashable, Sendable {
        package let operation: FileOperation
        package let path: String
    }
}
