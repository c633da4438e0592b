import MediaVault

extension VaultError {
    /// The message, with the command or option that applies its hint in parentheses.
    var text: String { text(in: .current) }

    /// Returns ``text`` for a process with this environment.
    func text(in environment: ProcessEnvironment) -> String {
        // systemd mounts paths that a unit does not name read-only for it, however the disk is mounted.
        if hint == .writablePath {
            return environment["INVOCATION_ID"] == nil ? message : "\(message) (in a systemd unit: ReadWritePaths=)"
        }
        return hint.flatMap(Self.words).map { "\(message) (\($0))" } ?? message
    }

    /// Returns the command or option that applies a hint; nil if the message already says what to do.
    private static func words(_ hint: Hint) -> String? {
        switch hint {
        case .createVault: "mediavault init, or --vault"
        case .rebuildIndex: "mediavault index rebuild"
        case .force: "--force"
        case .repair: "mediavault verify --repair"
        case .listTitles: "mediavault list"
        case .evictDownloads: "mediavault config set evict-downloads yes"
        case .listSlots: "mediavault keys slot list"
        case .removeSlot: "mediavault keys slot remove"
        case .dropSlots: "--drop-slots"
        case .allowLooseFile: "--allow-loose-key-file"
        case .listGenerations: "mediavault keys list"
        case .rewrap: "mediavault keys rewrap, then keys retire"
        case .retire: "mediavault keys retire"
        case .rotate: "mediavault keys rotate, then keys rewrap"
        case .backUpKeyring: "mediavault keys backup writes one"
        case .anyType: "--any-type"
        case .findKeyring: "--keyring, or mediavault keys restore"
        case .ownKeyring: "--keyring, or --for-existing-keyring if its vault is gone for good"
        case .useTLS: "--tls-certificate and --tls-key, or --insecure"
        case .passSecret: "--key-file, --passphrase-file or --credential"
        case .rotateRootLocally: "mediavault keys rotate --root"
        case .importUnasked: "--offline"
        case .addUntried: "--untried adds it all the same"
        default: nil
        }
    }
}
