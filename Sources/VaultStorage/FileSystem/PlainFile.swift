import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Files that SQLite opens by their names, past our own file system.
enum PlainFile {
    /// Requires that a name leads to a plain file itself, where it leads anywhere: SQLite follows links, and waits for a pipe.
    ///
    /// The file is not opened: closing it again would take SQLite's locks off it.
    ///
    /// - Throws: ``VaultError`` with code `storage`.
    static func require(_ path: String) throws {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        let what = "the file \(path) cannot be opened"
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFLNK: throw FileFailure(.symbolicLink, "lstat").vaultError(what)
        default: throw VaultError(.storage, "\(what): it is no plain file; make the index anew with index rebuild")
        }
    }
}
