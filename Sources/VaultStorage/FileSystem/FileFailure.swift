package import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What a file operation failed with. It names no file: names of the vault's files say nothing, others are the caller's.
package struct FileFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        case notFound
        case alreadyExists
        case noSpace
        case notPermitted
        case symbolicLink
        case other(Int32)
    }

    package let kind: Kind
    /// What was tried and what the system said.
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// The failure that `errno` stands for after the system call named.
    package static func last(_ call: StaticString) -> FileFailure {
        let code = errno
        let kind: Kind =
            switch code {
            case ENOENT, ENOTDIR: .notFound
            case EEXIST: .alreadyExists
            case ENOSPC, EDQUOT, EFBIG: .noSpace
            case EACCES, EPERM, EROFS: .notPermitted
            case ELOOP: .symbolicLink
            default: .other(code)
            }
        return FileFailure(kind, "\(call): \(unsafe String(cString: strerror(code)))")
    }

    /// The failure as the library's callers see it.
    package func vaultError(_ what: String) -> VaultError {
        switch kind {
        case .noSpace: VaultError(.diskFull, "\(what): there is no room left on the disk; make room and try again")
        case .notPermitted: VaultError(.storage, "\(what): not permitted; check its owner and mode, and its folder's")
        case .notFound: VaultError(.storage, "\(what): it is not there, or its folder is not")
        case .other(EISDIR): VaultError(.storage, "\(what): it is a folder")
        case .symbolicLink: VaultError(.storage, "\(what): it is a symbolic link; name the file that it leads to")
        default: VaultError(.storage, "\(what): \(description)")
        }
    }
}
