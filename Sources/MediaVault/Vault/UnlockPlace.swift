#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Whether what unlocks a vault lies on the vault's own disk: then it protects copies of the folder, not the disk.
enum UnlockPlace {
    /// Whether the file of an unlock, if it is one, lies on the same file system as the vault's folder.
    static func rests(_ path: String?, with folder: String) -> Bool {
        guard let path, let mine = device(of: path), let theirs = device(of: folder) else { return false }
        return mine == theirs
    }

    private static func device(of path: String) -> dev_t? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_dev : nil
    }
}
