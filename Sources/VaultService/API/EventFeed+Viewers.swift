import MediaVault
import VaultModel

// What a viewer is told: changes of titles that are shared with them, and of what is.
extension EventFeed {
    /// The most titles that are told of at a time when they are shared; of more, the client is told to list them.
    private static let maxShared = 256

    /// Returns the events of a batch for a viewer; downloads and the store are the owner's.
    ///
    /// - Parameters:
    ///   - known: the titles that were shared with them one by one when they were told last; nil if all were.
    ///   - shared: the same now. The caller takes it for what is known next: a change while this runs is told then.
    func events(
        of batch: EventAccumulator.Batch, for viewer: ViewerID, knowing known: Set<TitleID>?, of shared: Set<TitleID>?
    ) async throws -> String {
        var text = batch.isHeartbeatDue ? Self.comment : ""
        let isExchanged = (known == nil) != (shared == nil)
        let (added, dropped) = (
            (shared ?? []).subtracting(known ?? []), isExchanged ? [] : (known ?? []).subtracting(shared ?? [])
        )
        if isExchanged || added.count > Self.maxShared || batch.resources?.isIncomplete == true {
            text += try Self.event("many", EmptyDocument())
        }
        for title in dropped { text += try Self.event("removed", RemovedDocument(id: title)) }
        var told: Set<TitleID> = dropped
        for title in added.prefix(isExchanged ? 0 : Self.maxShared) {
            guard let reference = try? await vault.reference(of: title) else { continue }
            text += try await state(of: vault.id(of: reference), title)
            told.insert(title)
        }
        for resource in try await subjects(of: batch.resources?.resources ?? []) {
            guard let title = try? await vault.titleID(of: resource), told.insert(title).inserted,
                vault.viewers.isShared(title, with: viewer)
            else { continue }
            text += try await state(of: resource, title)
        }
        return text
    }

    private func state(of resource: ResourceID, _ title: TitleID) async throws -> String {
        do {
            guard let summary = try await vault.summary(of: resource) else {
                return try Self.event("removed", RemovedDocument(id: title))
            }
            guard let document = ViewedTitleDocument(summary, hasRanges: true) else { return "" }
            return try Self.event("resource", ViewedChangeDocument(id: title, resource: document))
        } catch is VaultError {
            // A row that cannot be read is reported to clients that ask for the title.
            return ""
        }
    }
}
