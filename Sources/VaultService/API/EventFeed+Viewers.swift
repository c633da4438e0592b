import MediaVault
import VaultModel

// Events for a viewer. They report changes to the titles that are shared with the viewer, and to the sharing itself.
extension EventFeed {
    /// The maximum number of newly shared titles that are reported individually. If there are more, the client must
    /// list the titles again.
    private static let maxShared = 256

    /// Returns a batch's events for a viewer, who gets no events about downloads and the store.
    ///
    /// - Parameters:
    ///   - known: the titles that were shared individually at the previous batch; nil if all titles were shared.
    ///   - shared: the titles that are shared individually now; nil if all titles are shared. The caller passes this
    ///     set as `known` next time, so that the next batch reports any change made during this call.
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
            guard let reference = try? await vault.titles.reference(of: title) else { continue }
            text += try await state(of: vault.titles.id(of: reference), title)
            told.insert(title)
        }
        for resource in try await subjects(of: batch.resources?.resources ?? []) {
            guard let title = try? await vault.titles.titleID(of: resource), told.insert(title).inserted,
                vault.viewers.isShared(title, with: viewer)
            else { continue }
            text += try await state(of: resource, title)
        }
        return text
    }

    private func state(of resource: ResourceID, _ title: TitleID) async throws -> String {
        do {
            guard let summary = try await vault.titles.summary(of: resource) else {
                return try Self.event("removed", RemovedDocument(id: title))
            }
            guard let document = ViewedTitleDocument(summary, hasRanges: true) else { return "" }
            return try Self.event("resource", ViewedChangeDocument(id: title, resource: document))
        } catch is VaultError {
            // Nothing is sent for a row that cannot be read. Clients learn of the failure when they request the title.
            return ""
        }
    }
}
