import MediaVault

/// Where the service finds what unlocks a slot of the keyring. The path of a file crosses the control socket, or the name of
/// a credential; the secret never does: the service, which runs as the same user, reads it itself.
struct SlotDocument: Codable, Hashable, Sendable {
    /// `key-file`, `passphrase` or `credential`.
    let method: String
    /// The absolute path of a file.
    let path: String?
    /// The name of a credential of the service's unit.
    let name: String?
    /// Whether others may be able to read the file.
    let loose: Bool?

    private init(_ method: String, path: String? = nil, name: String? = nil, loose: Bool? = nil) {
        (self.method, self.path, self.name, self.loose) = (method, path, name, loose)
    }

    /// - Throws: ``VaultError`` with code `invalidArgument` for a secret that the service cannot find.
    init(_ key: SlotKey) throws {
        switch key {
        case .unlock(.keyFile(let path, let allowLoose)): self.init("key-file", path: path, loose: allowLoose)
        case .unlock(.passphraseFile(let path, let allowLoose)):
            self.init("passphrase", path: path, loose: allowLoose)
        // The service has a folder of its own for them.
        case .unlock(.credential(let path)):
            self.init("credential", name: String(path.split(separator: "/").last ?? ""))
        case .credential(let name): self.init("credential", name: name.text)
        case .unlock(.passphrase), .unlock(.keyCommand): throw SlotKey.unfound
        }
    }

    /// - Throws: ``VaultError`` with code `invalidArgument` where it names no file and no credential.
    var key: SlotKey {
        get throws {
            switch (method, path, name) {
            case ("key-file", let path?, nil):
                .unlock(.keyFile(path: try Self.checked(path), allowLoose: loose ?? false))
            case ("passphrase", let path?, nil):
                .unlock(.passphraseFile(path: try Self.checked(path), allowLoose: loose ?? false))
            case ("credential", nil, let name?): .credential(try CredentialName(name))
            default:
                throw VaultError(
                    .invalidArgument,
                    "a slot is named by a key-file or passphrase with its path, or by a credential with its name; correct it"
                )
            }
        }
    }

    private static func checked(_ path: String) throws -> String {
        guard path.hasPrefix("/") else {
            throw VaultError(.invalidArgument, "a slot's file is named by an absolute path; correct it")
        }
        return path
    }
}
