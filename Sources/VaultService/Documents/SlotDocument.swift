import MediaVault

/// Where the service finds what unlocks a slot of the keyring. The path crosses the control socket, the secret never does:
/// the service, which runs as the same user, reads it itself.
struct SlotDocument: Codable, Hashable, Sendable {
    /// `key-file` or `passphrase`.
    let method: String
    /// The absolute path of the file.
    let path: String
    /// Whether others may be able to read it.
    let loose: Bool?

    /// - Throws: ``VaultError`` with code `invalidArgument` for a secret that rests in no file.
    init(_ unlock: Unlock) throws {
        switch unlock {
        case .keyFile(let path, let allowLoose): (method, self.path, loose) = ("key-file", path, allowLoose)
        case .passphraseFile(let path, let allowLoose): (method, self.path, loose) = ("passphrase", path, allowLoose)
        default:
            throw VaultError(
                .invalidArgument,
                "a running service takes what unlocks a slot from a file alone: name one with --key-file or "
                    + "--passphrase-file, or end the service and run this again")
        }
    }

    /// - Throws: ``VaultError`` with code `invalidArgument` where it names no such file.
    var unlock: Unlock {
        get throws {
            guard path.hasPrefix("/") else {
                throw VaultError(.invalidArgument, "a slot's file is named by an absolute path; correct it")
            }
            switch method {
            case "key-file": return .keyFile(path: path, allowLoose: loose ?? false)
            case "passphrase": return .passphraseFile(path: path, allowLoose: loose ?? false)
            default:
                throw VaultError(.invalidArgument, "a slot's method is key-file or passphrase; correct it")
            }
        }
    }
}
