package import MediaVault

/// The operations on a vault, performed by this process or by the service that owns the vault.
package protocol VaultClient: Sendable {
    /// Returns the vault's counts and state.
    func status() async throws -> StatusDocument

    /// Returns whether titles will play without the network, and the reasons for those that will not.
    func readiness(_ options: ReadinessOptions) async throws -> ReadinessReport

    /// Returns a page of resources.
    ///
    /// - Parameters:
    ///   - after: the `next` of the previous page; nil for the first page.
    ///   - limit: the maximum number of resources; nil for the default.
    func resources(after: String?, limit: Int?) async throws -> PageDocument

    /// Returns a reference to the resource with an id. The reference carries request fields for the resource's origin.
    func reference(of id: TitleID, fields: HeaderFields) async throws -> MediaReference

    /// Returns a summary of what the vault holds of a resource; nil if it has no record of the resource.
    func resource(_ reference: MediaReference) async throws -> ResourceSummary?

    /// Delivers a range's bytes in order, from the vault or from the origin.
    func read(
        _ reference: MediaReference, _ range: RequestedRange, to take: (ArraySlice<UInt8>) async throws -> Void
    ) async throws

    /// Fetches a resource's gaps, and returns once the whole resource is durable.
    ///
    /// - Parameter progress: called at most ten times a second.
    func download(
        _ reference: MediaReference, _ options: DownloadOptions, progress: (DownloadProgress) async throws -> Void
    ) async throws

    /// Imports a file, which this process reads, as the bytes of a resource.
    func importFile(
        _ source: any ImportSource & Sendable, as reference: MediaReference, _ options: ImportOptions,
        progress: (ImportProgress) async -> Void
    ) async throws -> ImportReport

    /// Adds downloads to the queue. A service works through the queue without a client.
    ///
    /// - Parameter first: whether to run these downloads before all others.
    /// - Returns: the queue's entries for the downloads, one for each.
    func queue(
        _ downloads: [(reference: MediaReference, options: DownloadOptions)], first: Bool
    ) async throws -> [DownloadDocument]

    /// Returns a page of the download queue. The first page from a service also contains the downloads that clients
    /// wait for.
    ///
    /// - Parameters:
    ///   - after: the `next` of the previous page; nil for the first page.
    ///   - limit: the maximum number of entries; nil for the default.
    func downloads(after: String?, limit: Int?) async throws -> DownloadsDocument

    /// Performs an action on entries of the download queue.
    func changeDownloads(
        _ act: DownloadAct, of selection: DownloadSelection
    ) async throws -> DownloadChangeDocument

    /// Returns the subscriptions.
    func subscriptions() async throws -> SubscriptionsDocument

    /// Adds a subscription, or changes the one with the same source.
    func subscribe(_ order: SubscriptionOrder) async throws -> SubscriptionDocument

    /// Removes the subscription with an id.
    ///
    /// - Parameter titles: whether to remove also the titles that only this subscription brought.
    func unsubscribe(_ id: String, titles: Bool) async throws -> UnsubscribedDocument

    /// Removes all subscriptions, including unreadable ones. Their titles stay.
    func unsubscribeAll() async throws -> UnsubscribedDocument

    /// Runs a subscription, which removes titles that are gone and adds new ones to the download queue.
    func sync(_ order: SyncOrder) async throws -> SyncDocument

    /// Removes a resource and everything that the vault knows about it.
    ///
    /// - Parameter links: whether to revoke the named links to the resource once it is removed.
    func remove(_ reference: MediaReference, links: Bool) async throws -> RemovalDocument

    /// Pins a resource, so that no limit evicts it.
    func pin(_ reference: MediaReference) async throws

    /// Unpins a resource.
    func unpin(_ reference: MediaReference) async throws

    /// Sets the mode of a resource; nil makes it follow the vault's mode.
    func setMode(_ mode: VaultMode?, of reference: MediaReference) async throws

    /// Sets a resource's display name. An empty name removes the current one.
    func setName(_ name: String, of reference: MediaReference) async throws

    /// Sets a resource's cover. Nil removes the picture that was set.
    func setCover(_ picture: [UInt8]?, of reference: MediaReference) async throws

    /// Sets the cover of a title that is in the download queue or in the vault.
    func setCover(_ picture: [UInt8], ofQueued title: TitleID) async throws

    /// Evicts bytes once, so as to meet the given limits, or the vault's own limits if none are given.
    func prune(_ limits: LimitsDocument) async throws -> PruneReport

    /// Opens every block, or those of a sample of segments, and repairs damage if the options request it.
    ///
    /// - Parameter references: the resources to check, including all parts of a title; empty to check everything.
    func verify(
        _ options: VerifyOptions, of references: [MediaReference], progress: (VerifyProgress) async throws -> Void
    ) async throws -> VerifyReport

    /// Revokes all playback links and tokens that have been created so far.
    func revokeLinks() async throws

    /// Returns the tokens that have not been revoked.
    func tokens() async throws -> TokensDocument

    /// Creates a token.
    func createToken(_ order: TokenOrder) async throws -> CreatedTokenDocument

    /// Returns the named links that have not been revoked.
    func links() async throws -> NamedLinksDocument

    /// Creates playback links, with or without a name.
    func createLinks(to references: [MediaReference], _ details: LinkDetails) async throws -> LinkDocument

    /// Returns the browser sessions that have not ended.
    func sessions() async throws -> SessionsDocument

    /// Revokes the token, set of named links or session with an id, or the whole family if the id is nil.
    func revoke(_ family: AccessGrant.Family, id: String?) async throws -> RevocationDocument

    /// Returns the viewers.
    func viewers() async throws -> ViewersDocument

    /// Adds a viewer.
    func addViewer(_ order: ViewerOrder) async throws -> ViewerDocument

    /// Changes those properties of a viewer that the change names.
    func changeViewer(_ change: ViewerChange) async throws -> ViewerDocument

    /// Removes the viewer with an id.
    func removeViewer(_ id: String) async throws

    /// Returns the titles that are shared individually, and the viewers with whom they are shared.
    func shares() async throws -> SharesDocument

    /// Shares titles with one viewer or with all viewers, or stops sharing them.
    func share(_ order: ShareOrder) async throws -> SharedDocument

    /// Reseals resources under new keys, or all resources if the list is empty.
    func reseal(
        _ references: [MediaReference], bytesPerSecond: Int64?, progress: (ResealProgress) async throws -> Void
    ) async throws -> ResealReport

    /// Shreds resources, so that the keyring opens no old copy of their rows.
    ///
    /// - Parameter links: whether to revoke the named links to the shredded resources.
    func shred(_ references: [MediaReference], quick: Bool, links: Bool) async throws -> ShredDocument

    /// Returns the audit log and the result of checking it.
    func audit() async throws -> AuditReport

    /// Makes the whole vault permanently unreadable.
    func destroy(vaultID: String) async throws -> DestructionReport

    /// Returns a summary of the slots in the keyring file.
    func keyring() async throws -> KeyringSummary

    /// Changes the keyring, which the caller has unlocked.
    func carryOut(_ order: KeyringOrder) async throws

    /// Wipes all keys from memory. Nothing can be read until the vault is opened again.
    func lock() async throws

    /// Returns the state of the keys.
    func keys() async throws -> KeysDocument

    /// Creates a generation for new resources, and returns the new state of the keys.
    func rotate() async throws -> KeysDocument

    /// Creates a new root key, token key and generation, and returns the new state of the keys.
    ///
    /// - Parameters:
    ///   - keys: the secrets of the slots to keep.
    ///   - droppingOtherSlots: whether to drop the slots that none of these secrets unlocks.
    func rotateRoot(unlockedBy keys: [SlotKey], droppingOtherSlots: Bool) async throws -> KeysDocument

    /// Changes the locator, and with it all resource ids, and returns the new state of the keys.
    func changeLocator() async throws -> KeysDocument

    /// Rewraps every resource key under the current generation.
    func rewrap(progress: (RewrapProgress) async throws -> Void) async throws -> RewrapReport

    /// Retires a generation that nothing needs any more, and returns the new state of the keys.
    func retire(_ generation: Int) async throws -> KeysDocument

    /// Returns the vault's settings.
    func settings() async throws -> SettingsDocument

    /// Changes the vault's settings, and returns the new ones.
    func change(_ change: SettingsChange) async throws -> SettingsDocument
}

extension VaultClient {
    /// Passes each resource to `take`, in no meaningful order.
    ///
    /// - Returns: the number of resources that were omitted because their rows fail authentication.
    package func resources(_ take: (ListedDocument) -> Void) async throws -> Int {
        let pageSize = 1000
        var (damaged, next): (Int, String?) = (0, nil)
        repeat {
            let page = try await resources(after: next, limit: pageSize)
            for resource in page.resources { take(resource) }
            (damaged, next) = (damaged + page.damaged, page.next)
        } while next != nil
        return damaged
    }
}
