import MediaVault

extension VaultError {
    /// The message, followed in parentheses by the command or option that puts the error's hint into practice.
    var text: String { text(in: .current) }

    /// Returns ``text`` for a process with the given environment.
    func text(in environment: ProcessEnvironment) -> String {
        // For a unit, systemd may mount paths that the unit does not name read-only, however the disk itself is
        // mounted.
        if hint == .writablePath {
            return environment["INVOCATION_ID"] == nil ? message : "\(message) (in a systemd unit: ReadWritePaths=)"
        }
        return hint.flatMap(Self.words).map { "\(message) (\($0))" } ?? message
    }

    /// Returns the command or option that puts a hint into practice; nil if the message already states what to do.
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
        case .followFeed: "mediavault sync add"
        case .addUntried: "--untried adds it all the same"
        default: nil
        }
    }
}
