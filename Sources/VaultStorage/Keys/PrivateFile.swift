import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Files that hold a secret: plain ones, that nobody but their owner can read.
package enum PrivateFile {
    /// Who may be able to read a file.
    enum Keeping {
        /// Its owner alone.
        case byOwner
        /// Its owner, and whoever the system lent it to: systemd does that by an access list, whose mask stands where
        /// else the group's rights do.
        case bySystem
        /// Anybody.
        case loosely

        /// The bits of a mode that must not be set.
        fileprivate var forbidden: mode_t {
            switch self {
            case .byOwner: 0o077
            case .bySystem: 0o027
            case .loosely: 0
            }
        }

        /// What to do where one is set.
        fileprivate var remedy: String {
            self == .bySystem
                ? "have the service manager load it, or name a key file"
                : "run chmod 600 on it, or pass --allow-loose-key-file"
        }

        /// What to do where it is another user's.
        fileprivate var remedyOfOwner: String {
            self == .bySystem
                ? "have the service manager load it, or name a key file"
                : "run chown on it, or pass --allow-loose-key-file"
        }
    }

    /// Why a plain file is not taken; nil where it is. Root may read all files anyway: one of its own is as good.
    static func refusal(
        mode: mode_t, owner: uid_t, user: uid_t, kept keeping: Keeping, _ what: String, _ path: String
    ) -> VaultError? {
        guard mode & keeping.forbidden == 0 else {
            return VaultError(.looseKeyFile, "others can read the \(what) \(path); \(keeping.remedy)")
        }
        guard keeping == .loosely || [user, 0].contains(owner) else {
            return VaultError(
                .looseKeyFile,
                "the \(what) \(path) is another user's, who can read and change it; \(keeping.remedyOfOwner)")
        }
        return nil
    }

    /// Opens a file for reading; nil where there is none.
    ///
    /// - Parameter what: what messages call it: `key file`.
    /// - Throws: ``VaultError`` with code `looseKeyFile` where mode or kind are wrong, or it is another user's.
    static func open(_ path: String, kept keeping: Keeping, what: String) throws -> FileDescriptor? {
        let descriptor: FileDescriptor
        do throws(FileFailure) {
            // Not blocking: a pipe in the place of a file must not hang us.
            descriptor = try FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK)
        } catch {
            guard error.kind != .symbolicLink else {
                throw VaultError(
                    .looseKeyFile, "the \(what) \(path) is a symbolic link; name the file that it leads to")
            }
            guard error.kind == .notFound else { throw error.vaultError("the \(what) \(path) cannot be opened") }
            return nil
        }
        var status = stat()
        guard unsafe fstat(descriptor.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw VaultError(.looseKeyFile, "the \(what) \(path) is no plain file; name a file")
        }
        let (mode, owner) = (status.st_mode, status.st_uid)
        if let error = refusal(mode: mode, owner: owner, user: geteuid(), kept: keeping, what, path) { throw error }
        return descriptor
    }

    /// Reads a file of at most `most` bytes; one more where it is longer.
    ///
    /// - Throws: ``VaultError`` with code `looseKeyFile` where mode or kind are wrong, `invalidArgument` where there is
    ///   no such file.
    package static func read(_ path: String, allowLoose: Bool, what: String, most: Int) throws -> [UInt8] {
        guard let descriptor = try open(path, kept: allowLoose ? .loosely : .byOwner, what: what) else {
            throw VaultError(.invalidArgument, "there is no \(what) at \(path); name one that is there")
        }
        do {
            var bytes = [UInt8](repeating: 0, count: most + 1)
            let count = try unsafe bytes.withUnsafeMutableBytes { try unsafe descriptor.read(into: $0) }
            return Array(bytes.prefix(count))
        } catch let failure as FileFailure {
            throw failure.vaultError("the \(what) \(path) cannot be read")
        }
    }
}
