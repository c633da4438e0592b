import Logging
import MediaVault
import VaultModel

/// An event in the form in which it is logged. It has a constant message, and fields that contain neither keys nor
/// names of titles.
struct LoggedEvent {
    let level: Logger.Level
    let message: Logger.Message
    let fields: Logger.Metadata

    init(_ event: StoreEvent) {
        switch event {
        case .passingThrough(let reason, let sentence):
            level = .warning
            message = "media is passed through without being stored"
            fields = ["reason": "\(reason.rawValue)", "detail": "\(sentence)"]
        case .storing(let passed):
            level = .notice
            message = "media is stored again"
            fields = ["passedThrough": .number(passed)]
        case .evicted(let titles, let segments, let bytes):
            level = .notice
            message = "media was evicted"
            fields = ["bytes": .number(bytes), "segments": .number(segments), "titles": .number(titles)]
        }
    }

    /// Creates the event for a failed download.
    ///
    /// - Parameter id: the title's id, which the commands and the API also use. It is logged instead of the URL,
    ///   because the log's disk would reveal a URL.
    init(failed error: VaultError, id: TitleID?) {
        level = .notice
        message = "a download failed"
        var fields: Logger.Metadata = ["reason": "\(error.code)"]
        if let id { fields["id"] = "\(id)" }
        if let status = error.originStatus { fields["originStatus"] = .number(status) }
        self.fields = fields
    }

    /// Creates the event for a failed queue entry, whether or not it will be retried.
    init(_ failed: FailedDownload) {
        let event = LoggedEvent(failed: failed.error, id: failed.snapshot.title)
        guard failed.snapshot.state != .failed else {
            self = event
            return
        }
        level = .info
        message = "a download waits to be tried again"
        var fields = event.fields
        fields["attempts"] = .number(failed.snapshot.attempts)
        self.fields = fields
    }

    init(_ receipt: Receipt) {
        level = .notice
        message = "\(Self.sentence(of: receipt.act))"
        var fields: Logger.Metadata = [
            "act": "\(receipt.act.rawValue)", "outcome": "\(receipt.outcome.rawValue)",
            "generation": .number(receipt.generation), "receipt": .number(receipt.sequence),
        ]
        if let resources = receipt.resources { fields["resources"] = .number(resources) }
        self.fields = fields
    }

    private static func sentence(of act: Receipt.Act) -> String {
        switch act {
        case .rotate: "a new generation of keys is in use"
        case .rotateRoot: "the root key was replaced, and all playback links and tokens were revoked"
        case .changeLocator: "the locator was replaced"
        case .rewrap: "the keys of the titles were rewrapped"
        case .reseal: "titles were resealed with new keys"
        case .retire: "a generation of keys was retired"
        case .shred: "a title was shredded"
        case .destroy: "the vault was destroyed"
        case .revokeLinks: "all playback links and tokens were revoked"
        case .addSlot: "a slot was added to the keyring"
        case .removeSlot: "a slot was removed from the keyring"
        case .changeSlot: "a slot of the keyring was changed"
        case .backup: "a backup of the keyring was counted"
        default: "a key operation was done"
        }
    }
}

extension Logger {
    /// Logs an event of the vault.
    func log(_ event: LoggedEvent) { log(level: event.level, event.message, metadata: event.fields) }
}
