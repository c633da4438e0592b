import Synchronization
package import VaultModel
package import VaultStorage

/// A vault's loaders: one for each resource in use, kept for a while after the resource's last use.
package final class LoaderTable: Sendable {
    private struct Entry {
        let loader: ResourceLoader
        /// The number of leases on the loader.
        var uses = 0
        var idleSince = ContinuousClock.now

        /// Whether the resource has readers, or something is being fetched or written for it.
        var isInUse: Bool { uses > 0 || !loader.isIdle || loader.joining.withLock(\.isRunning) }
    }

    private struct State {
        var entries: [ResourceID: Entry] = [:]
        /// The resources that are being removed, for which no leases are issued.
        var removing: Set<ResourceID> = []
        /// The error for callers that request a loader; nil while requests are accepted.
        var refusal: VaultError?
    }

    package let environment: LoaderEnvironment
    package let answers: AnswerLog
    /// The function to call with the removed resources after a title was removed, and before it can be used again; it
    /// may block.
    package let onRemoval = Locked<@Sendable (Set<ResourceID>) -> Void>({ _ in })
    private let state = Locked(State())
    /// Whether the vault is closed, or being closed.
    private let isClosed = Atomic(false)

    /// How long an unused loader is kept.
    private static let idleTime: Duration = .seconds(60)

    /// Creates an empty table.
    ///
    /// - Parameter answers: the log that records where the bytes of ended readers came from.
    package init(_ environment: LoaderEnvironment, answers: AnswerLog) {
        self.environment = environment
        self.answers = answers
    }

    /// All loaders in the table.
    package var all: [ResourceLoader] { state.withLock { $0.entries.values.map(\.loader) } }

    /// The resources in use, the parts that manifests led players to, and the packs in which any of these lie.
    var resourcesInUse: Set<ResourceID> {
        state.withLock { state in
            state.entries.reduce(into: []) { ids, entry in
                // A player requests a title segment by segment, so the title is in use between two of these requests,
                // too.
                guard entry.value.isInUse || entry.value.loader.record.isPlayedPart else { return }
                ids.insert(entry.key)
                if let pack = entry.value.loader.record.place?.pack { ids.insert(pack) }
            }
        }
    }

    /// Returns where a resource's latest answers came from: those of running readers first, then the ended ones, latest
    /// first.
    package func answers(of id: ResourceID) -> [AnswerTrace] {
        let running = loader(of: id)?.look(\.readers.runningTraces) ?? []
        return running.map { AnswerTrace(ended: nil, trace: $0) } + answers.answers(of: id)
    }

    // MARK: Use

    /// Returns the loader of a resource if the resource is in use, or was used recently.
    package func loader(of id: ResourceID) -> ResourceLoader? { state.withLock { $0.entries[id]?.loader } }

    /// Returns the loaders that read a resource's segments: the resource's own loader and, if it is a pack, those of
    /// the parts in it.
    package func loaders(reading id: ResourceID) -> [ResourceLoader] { loaders(reading: [id]) }

    private func loaders(reading ids: Set<ResourceID>) -> [ResourceLoader] {
        state.withLock { state in
            state.entries.filter { id, entry in
                ids.contains(id) || entry.loader.record.place.map { ids.contains($0.pack) } ?? false
            }
        }.values.map(\.loader)
    }

    /// Returns the loader of a resource if one exists and may be used, and restarts its idle time.
    ///
    /// The loader may have failed to read the index, in which case it holds nothing.
    package func loaderInUse(_ id: ResourceID) -> ResourceLoader? {
        state.withLock { state in
            guard let entry = state.entries[id], !state.removing.contains(id) else { return nil }
            state.entries[id]?.idleSince = .now
            return entry.loader
        }
    }

    /// Returns the loader of a resource, which all its users share.
    ///
    /// - Throws: ``VaultError`` with code `closed` if the vault was closed, `busy` if resource ids are being
    ///   recomputed, `removed` if the resource is being removed, or was removed within the last minute and is requested
    ///   through a link.
    package func use(_ resource: NamedResource) throws -> (ResourceLoader, LoaderLease) {
        try checkOpen()
        let id = resource.id
        let loader = try state.withLock { state in
            if let refusal = state.refusal { throw refusal }
            // An id computed before the locator was changed is no longer valid.
            guard resource.locator == environment.store.index.locator else { throw ResourceNames.renaming }
            if state.removing.contains(id) { throw ResourceRecord.removed }
            // Check this under the lock: once a resource is no longer being removed, its removal has been recorded.
            let removed = environment.removed
            if !resource.reference.isLinked {
                removed.end(id)
            } else if removed.refuses(resource, now: environment.store.index.now()) {
                throw ResourceRecord.removed
            }
            // Read a new loader's mode under the lock, so that no change of mode misses the loader.
            var entry =
                state.entries[id].flatMap { $0.loader.isBroken ? nil : $0 }
                ?? Entry(loader: ResourceLoader(resource, mode: environment.mode.current, in: environment))
            entry.uses += 1
            state.entries[id] = entry
            return entry.loader
        }
        loader.origin.urls.give(environment.principalFields.completing(resource.reference))
        if resource.reference.isNamedByManifest {
            let titles = environment.partOwners.titles(naming: resource.reference.url)
            if !titles.isEmpty { loader.record.playedTitles.withLock { $0 = titles } }
        }
        return (loader, LoaderLease { [weak self, weak loader] in self?.release(id, loader) })
    }

    /// Returns the loader of the resource that a reference names.
    ///
    /// - Throws: as ``use(_:)-(NamedResource)``; `invalidArgument` if the reference cannot be used.
    package func use(_ reference: MediaReference) async throws -> (ResourceLoader, LoaderLease) {
        try use(await name(reference))
    }

    /// Returns the loader of a resource that is in the index.
    package func use(_ resource: StoredResource) throws -> (ResourceLoader, LoaderLease) {
        try checkOpen()
        return try use(environment.names.name(resource))
    }

    /// Determines which resource a reference names.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the reference cannot be used, or `closed` if the vault
    ///   was closed.
    package func name(_ reference: MediaReference) async throws -> NamedResource {
        try checkOpen()
        return try await environment.names.name(settled(reference))
    }

    /// Returns a reference as the vault uses it: checked, and with the vault's own playback links resolved.
    package func settled(_ reference: MediaReference) throws -> MediaReference {
        try environment.resolvingPlaybackLinks(reference).settled()
    }

    /// Requires that the vault is open, because no id can be computed without keys.
    private func checkOpen() throws {
        guard isOpen else { throw VaultError.vaultClosed }
    }

    private func release(_ id: ResourceID, _ loader: ResourceLoader?) {
        if let traces = loader?.update({ $0.readers.takeTraces() }), !traces.isEmpty {
            answers.note(traces, of: id, at: environment.store.index.now())
        }
        state.withLock { state in
            // Another loader may have taken this one's place.
            guard let entry = state.entries[id], entry.loader === loader else { return }
            state.entries[id]?.uses -= 1
            state.entries[id]?.idleSince = .now
        }
    }

    /// Marks a resource's segments as being joined, unless the resource is being removed or now has another loader.
    ///
    /// - Returns: whether the segments were marked.
    func beginJoining(_ id: ResourceID, _ loader: ResourceLoader, now: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            guard let entry = state.entries[id], entry.loader === loader, !state.removing.contains(id) else {
                return false
            }
            loader.joining.withLock { $0.begin(now: now) }
            return true
        }
    }

    /// Returns all loaders, each with a flag that says whether it has been idle for `time`.
    func resting(for time: Duration, now: ContinuousClock.Instant) -> [(ResourceID, ResourceLoader, isResting: Bool)] {
        state.withLock { state in
            state.entries.map { ($0, $1.loader, isResting: !$1.isInUse && now - $1.idleSince >= time) }
        }
    }

    // MARK: Removal

    /// Ends all use of a resource and, if it is a title, of its parts, and removes them from the store.
    ///
    /// A download of the title ends as well. Whatever the parts share with other titles stays.
    ///
    /// - Parameter erase: removes the resource from the store; may block.
    /// - Returns: the size of the removed files in bytes.
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not know the resource; any error that `erase`
    ///   throws.
    package func remove(
        _ reference: MediaReference, _ erase: @escaping @Sendable (VaultStore, ResourceID) throws -> Int64?
    ) async throws -> Int64 {
        try await remove(name(reference), erase)
    }

    /// Does the same as ``remove(_:_:)-(MediaReference,_)`` for a named resource.
    ///
    /// - Parameter byOwner: whether the owner removes the resource, in which case links to it are refused for a minute.
    package func remove(
        _ resource: NamedResource, byOwner: Bool = false,
        _ erase: @escaping @Sendable (VaultStore, ResourceID) throws -> Int64?
    ) async throws -> Int64 {
        let (store, pool, id, imports) = (environment.store, environment.pool, resource.id, environment.imports)
        let reason = VaultError(.removed, "the title was removed; import the file again if it is still wanted")
        let wasImported = try await pool.run { imports.end(id, because: reason) }
        do {
            try await requireOwnRows(of: resource)
        } catch let error as VaultError where error.code == .notHeld && wasImported {
            throw VaultError(.notHeld, "\(resource.reference.url) was being imported; that was ended, and left nothing")
        }
        let (loader, lease) = try use(resource)
        defer { withExtendedLifetime(lease) {} }
        let (parts, files, title) = try await pool.run {
            // Keep a download of the title from adding more parts.
            loader.record.isRetired.withLock { $0 = true }
            let (parts, files) = try store.index.titles.contents(of: id)
            return (parts, files, try store.index.titleIDs.id(of: id))
        }
        let removing = parts.union(files).union([id])
        let ending = begin(removing: removing, reading: parts.union([id]))
        defer { end(removing: removing, ending) }
        for loader in ending { loader.end(with: ResourceRecord.removed) }
        for loader in ending {
            // A resource can be removed even if its rows do not open.
            try? await loader.ready()
            await loader.settle()
            await loader.joining.settle()
        }
        let (removed, onRemoval) = (environment.removed, onRemoval.value)
        let bytes = try await pool.run {
            for loader in ending { loader.record.retire() }
            let bytes = try erase(store, id)
            guard bytes != nil else { return bytes }
            // Record the removal before the title can be used again, and before the caller is told.
            if byOwner { removed.note(resource, title, with: removing, now: store.index.now()) }
            onRemoval(removing)
            // If this write fails, the removal is still recorded in memory, and only a restart would lose it.
            if byOwner { try? removed.write(to: store) }
            return bytes
        }
        for loader in ending { answers.forget(loader.record.id) }
        guard let bytes else { throw resource.reference.notHeld }
        // The title is gone, even if this fails.
        try? await leave(resource)
        return bytes
    }

    /// Makes later users of a resource read the index again, because the index has another version now. Current users
    /// continue, but nothing more is stored for them. Blocks.
    package func detach(_ id: ResourceID) {
        state.withLock { $0.entries.removeValue(forKey: id) }?.loader.record.retire()
    }

    /// Stops issuing leases for resources.
    ///
    /// - Returns: the loaders that read the segments of `owners`.
    private func begin(removing ids: Set<ResourceID>, reading owners: Set<ResourceID>) -> [ResourceLoader] {
        state.withLock { $0.removing.formUnion(ids) }
        return loaders(reading: owners)
    }

    /// Detaches shared resources from a removed title; ends the loader of any resource whose rows are gone.
    private func leave(_ title: NamedResource) async throws {
        let (store, key) = (environment.store, title.key.bytes)
        for loader in all where loader.record.metadata?.partOf.contains(key) == true {
            let (record, isPacked) = (loader.record, loader.record.place != nil)
            let isThere = try await environment.pool.run {
                guard try isPacked || store.index.resources.has(record.id) else { return false }
                try record.changeTitles(.leave(title.id)) { $0.partOf.removeAll { $0 == key } }
                return true
            }
            guard !isThere else { continue }
            // The resource joined the title while the title was being removed.
            loader.end(with: ResourceRecord.removed)
            try await environment.pool.run { record.retire() }
            remove(record.id)
        }
    }

    /// Issues leases again, and removes the loaders that were ended.
    private func end(removing ids: Set<ResourceID>, _ ended: [ResourceLoader]) {
        state.withLock { state in
            for loader in ended where state.entries[loader.record.id]?.loader === loader {
                state.entries[loader.record.id] = nil
            }
            state.removing.subtract(ids)
        }
    }

    /// Requires that the vault has the resource itself, not just as a file in a title's pack.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not have the resource, or `invalidArgument` if it
    ///   is a file in a title's pack.
    package func requireOwnRows(of resource: NamedResource) async throws {
        let (store, id) = (environment.store, resource.id)
        let (hasRows, isPacked) = try await environment.pool.run {
            let hasRows = try store.index.resources.has(id)
            return (hasRows, try !hasRows && store.index.resources.find(id) != nil)
        }
        guard !isPacked else { throw resource.reference.packed }
        guard hasRows else { throw resource.reference.notHeld }
    }

    /// Removes a loader from the table, so that the resource's next user reads the index again.
    func remove(_ id: ResourceID) { state.withLock { $0.entries[id] = nil } }

    /// Removes the loaders that read a resource's segments from the table, unless one of them is in use.
    ///
    /// - Returns: whether the table has none of them left.
    package func removeIfIdle(_ id: ResourceID) -> Bool {
        state.withLock { state in
            let reading = state.entries.filter { $0.key == id || $0.value.loader.record.place?.pack == id }
            guard !reading.values.contains(where: \.isInUse) else { return false }
            for id in reading.keys { state.entries[id] = nil }
            return true
        }
    }

    /// Removes the loaders that have been idle for a minute.
    package func removeIdle(now: ContinuousClock.Instant) {
        state.withLock { state in
            state.entries = state.entries.filter { _, entry in
                entry.isInUse || now - entry.idleSince < Self.idleTime
            }
        }
    }

    /// Ends all readers and fetches, stops all writes that they would cause, and refuses further requests for loaders.
    ///
    /// - Parameters:
    ///   - reason: the error that readers end with.
    ///   - refusal: the error for callers that request a loader.
    package func end(with reason: VaultError, refusing refusal: VaultError) async {
        await endImports(because: reason, refusing: refusal)
        let ended = refuse(refusal)
        for loader in ended { loader.end(with: reason) }
        for loader in ended {
            // A resource has nothing to write if its rows do not open.
            try? await loader.ready()
            await loader.settle()
            await loader.joining.settle()
            await loader.origin.revalidator.stop()
            try? await environment.pool.run { loader.record.retire() }
        }
    }

    /// Removes all loaders from the table and returns them; refuses further requests for loaders.
    @discardableResult
    package func refuse(_ refusal: VaultError) -> [ResourceLoader] {
        state.withLock { state in
            defer { state.entries = [:] }
            state.refusal = refusal
            return state.entries.values.map(\.loader)
        }
    }

    /// Whether the vault is open. A closed vault has no key with which to verify a link.
    package var isOpen: Bool { !isClosed.load(ordering: .relaxed) }

    /// Refuses further requests for loaders, because the vault is being closed.
    ///
    /// - Returns: false if the vault was already closed or being closed.
    package func beginClosing() -> Bool { !isClosed.exchange(true, ordering: .relaxed) }

    /// Accepts requests for loaders and imports again.
    package func resume() {
        state.withLock { $0.refusal = nil }
        environment.imports.resume()
    }
}

/// Keeps a loader in its vault's table while the loader is used.
package final class LoaderLease: Sendable {
    private let release: @Sendable () -> Void

    init(release: @escaping @Sendable () -> Void) { self.release = release }

    deinit { release() }
}
