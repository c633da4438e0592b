/// The kinds of calls that a ``SimulatedFileSystem`` counts and can let fail.
package enum FileOperation: Hashable, Sendable {
    case createDirectory, create, open, write, synchronize, truncate, rename, remove, list, synchronizeDirectory

    /// One call: what was asked, of which path.
    package struct Call: Hashable, Sendable {
        package let operation: FileOperation
        package let path: String
    }
}
