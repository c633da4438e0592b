package import MediaVault

/// What can be done to a vault, by its owner: in this process, or in the service that owns it.
package protocol VaultClient: Sendable {
    /// Counts and state of the vault.
    func status() async throws -> StatusDocument

    /// Some resources: the first, or those after the end of the page before.
    ///
    /// - Parameter limit: how many at most; nil leaves it to the vault.
    func resources(after: String?, limit: Int?) async throws -> PageDocument

    /// What the vault holds of a resource; nil where it has never seen it.
    func resource(_ reference: MediaReference) async throws -> ResourceDocument?

    /// Hands over the bytes asked for, in order: held ones, and those that are fetched.
    func read(
        _ reference: MediaReference, _ range: RequestedRange, to take: (ArraySlice<UInt8>) async throws -> Void
    ) async throws

    /// Fetches what is missing of a resource; returns when all of it is durable.
    ///
    /// - Parameter progress: told ten times a second at most.
    func download(
        _ reference: MediaReference, _ options: DownloadOptions, progress: (ProgressDocument) async throws -> Void
    ) async throws

    /// Begins a download that goes on without whoever asked for it.
    func beginDownload(_ reference: MediaReference, _ options: DownloadOptions) async throws

    /// Removes a resource, with all that is known of it.
    func remove(_ reference: MediaReference) async throws -> RemovalDocument

    /// Keeps a resource whatever the limits say.
    func pin(_ reference: MediaReference) async throws

    /// Lets limits touch a resource again.
    func unpin(_ reference: MediaReference) async throws

    /// Gives a resource a mode of its own; nil has it follow the vault's.
    func setMode(_ mode: VaultMode?, of reference: MediaReference) async throws

    /// Lets go of what lies beyond limits, once: those given, or those in force where none is.
    func prune(_ limits: LimitsDocument) async throws -> PruneDocument

    /// Opens every block, and repairs where the options say so.
    func verify(
        _ options: VerifyOptions, progress: (VerificationProgress) async throws -> Void
    ) async throws -> VerifyDocument

    /// Revokes every playback address made so far, and the admin token.
    func revokeLinks() async throws

    /// Gives resources new keys, all of them where none is named, and seals their segments anew.
    func reseal(
        _ references: [MediaReference], bytesPerSecond: Int64?, progress: (ResealStep) async throws -> Void
    ) async throws -> ResealReport

    /// Forgets resources for good.
    func shred(_ references: [MediaReference], quick: Bool) async throws -> ShredDocument

    /// The audit log, read and checked.
    func audit() async throws -> AuditDocument

    /// Makes the whole vault unreadable.
    func destroy(vaultID: String) async throws -> DestructionDocument

    /// What the keyring's file tells: its slots.
    func keyring() async throws -> KeyringListing

    /// Changes the keyring, as somebody ordered who has unlocked it.
    func carryOut(_ order: KeyringOrder) async throws

    /// Wipes every key from memory: all reading ends, and nothing is opened until the vault is opened anew.
    func lock() async throws

    /// How the keys stand.
    func keys() async throws -> KeysDocument

    /// Makes a new generation, which new resources use; gives how the keys stand then.
    func rotate() async throws -> KeysDocument

    /// Makes a new root key, token key and generation, for the slots that these open; gives how the keys stand then.
    ///
    /// - Parameter droppingOtherSlots: whether slots that none of them opens go.
    func rotateRoot(unlockedBy keys: [SlotKey], droppingOtherSlots: Bool) async throws -> KeysDocument

    /// Computes every resource id anew; gives how the keys stand then.
    func changeLocator() async throws -> KeysDocument

    /// Wraps every resource key anew under the current generation.
    func rewrap(progress: (RewrapStep) async throws -> Void) async throws -> RewrapDocument

    /// Destroys a generation that nothing needs; gives how the keys stand then.
    func retire(_ generation: Int) async throws -> KeysDocument

    /// The vault's settings.
    func settings() async throws -> SettingsDocument

    /// Changes the settings, and gives them as they are then.
    func change(_ change: SettingsChange) async throws -> SettingsDocument
}
