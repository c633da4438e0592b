package import MediaVault

/// The operations on a vault, performed by this process or by the service that owns the vault.
package protocol VaultClient: Sendable {
    /// Performs an operation.
    @discardableResult
    func call<Input, Output>(_ operation: Operation<Input, Output>, _ input: Input) async throws -> Output

    /// Performs a long operation, and reports its progress.
    @discardableResult
    func follow<Input, Progress, Output>(
        _ operation: LongOperation<Input, Progress, Output>, _ input: Input,
        _ progress: (Progress) async throws -> Void
    ) async throws -> Output

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

    /// Sets the cover of a title that is in the download queue or in the vault.
    func setCover(_ picture: [UInt8], ofQueued title: TitleID) async throws

    /// Creates playback links, with or without a name.
    func createLinks(to references: [MediaReference], _ details: LinkDetails) async throws -> LinkDocument

    /// Wipes all keys from memory. Nothing can be read until the vault is opened again.
    func lock() async throws

    /// Creates a new root key, token key and generation, and returns the new state of the keys.
    ///
    /// - Parameters:
    ///   - keys: the secrets of the slots to keep.
    ///   - droppingOtherSlots: whether to drop the slots that none of these secrets unlocks.
    func rotateRoot(unlockedBy keys: [SlotKey], droppingOtherSlots: Bool) async throws -> KeysDocument
}

extension VaultClient {
    /// Performs an operation that needs no input.
    @discardableResult
    package func call<Output>(_ operation: Operation<EmptyDocument, Output>) async throws -> Output {
        try await call(operation, EmptyDocument())
    }

    /// Returns the id of a title that the vault has.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not have the title, or has it for another user;
    ///   `invalidArgument` if it is a file in a pack, which has no id, or if another title has the same id, which is
    ///   rare.
    package func id(of reference: MediaReference) async throws -> TitleID {
        // The header fields may stand for a user other than the one for whom the title was stored.
        if let id = reference.titleID, reference.fields.fields.isEmpty { return id }
        guard let summary = try await resource(reference) else {
            throw reference.titleID == nil ? reference.notHeld : reference.heldForAnother
        }
        guard let id = summary.id else { throw reference.packed }
        // If a part and a title have the same id, the id identifies the title.
        let named = try await self.reference(of: id, fields: HeaderFields())
        guard try named.url == MediaURL(summary.url), named.contentID == summary.contentID else {
            throw VaultError(.invalidArgument, "another title has the id \(id), too; remove one of the two")
        }
        return id
    }

    /// Sets a title's cover. Nil removes the picture that was set.
    ///
    /// - Throws: as ``id(of:)``.
    package func setCover(_ picture: [UInt8]?, of reference: MediaReference) async throws {
        let id = try await id(of: reference)
        if let picture { return try await setCover(picture, ofQueued: id) }
        try await call(Operations.Titles.removeCover, TitleDocument(id))
    }

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
