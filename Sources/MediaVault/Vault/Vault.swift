import VaultCrypto
import VaultFetch
import VaultModel
import VaultStorage

/// An encrypted offline-media vault: what a player asks for is opened from sealed segments, what is missing is fetched
/// once, handed on at once, and sealed as it arrives.
///
/// ```swift
/// let vault = try await Vault.open(place, unlock: .keyFile(path: "/media/key/vault.key"))
/// for try await bytes in try await vault.read(MediaURL("https://media.example/film.mp4")) { play(bytes) }
/// await vault.close()
/// ```
public final class Vault: Sendable {
    let store: VaultStore
    private let origin: any Origin
    private let ownOrigin: CurlOrigin?
    let modeOfRun: VaultMode?
    /// What the settings say.
    let modeOfSettings = Locked<VaultMode?>(nil)
    let pool: BlockingPool
    let precedence = PlaybackPriority()
    let limitsOfRun: StorageLimits?
    /// What passes through unstored, and who is told.
    let passage = Locked(BypassMonitor())
    let roomPace = Locked(QuotaPace())
    /// Whether the time of day is believed.
    let clock = Locked(SteadyClock())
    let evictionNotice = Locked(EvictionNotice())
    private let retry: RetryPolicy
    let names: ResourceNames
    let unlockRestsWithVault: Bool
    /// Where this process serves what the vault has: it never asks there.
    private let ownListeners = OwnListeners()
    /// Receipts for what is done to the keys.
    let auditLog: AuditLog
    /// One act on the keys at a time.
    package let keyWork = KeyOperationLock()
    /// Acts on the keys that an owner before this one broke off.
    let resumption = Locked(ResumeSchedule())
    /// Why nobody gets a loader for the time being; nil where everybody does.
    let refusal = Locked<VaultError?>(nil)
    let loaders = Locked<[ResourceID: LoaderEntry]>([:])
    private let upkeep = Locked<Task<Void, Never>?>(nil)
    private let isClosed = Locked(false)
    let visits = Locked(AccessTimes())
    let answers = AnswerLog()
    /// When segments are joined.
    let joiningPace = Locked(JoiningPace())
    /// Work that must be over before the store closes.
    let chores = BackgroundTasks()

    /// How long a loader that nobody uses is kept.
    static let idleTime: Duration = .seconds(60)

    /// The version of the library, as origins see it in `User-Agent`.
    public static let version = "0.1.0"

    private init(store: VaultStore, keyringFile: String, options: VaultOptions, unlockRestsWithVault: Bool) {
        self.store = store
        auditLog = AuditLog(of: store, at: KeyringPlace(keyringFile, fileSystem: store.fileSystem))
        self.unlockRestsWithVault = unlockRestsWithVault
        modeOfRun = options.access == .reader ? .offline : options.mode
        retry = options.retry
        pool = .shared
        limitsOfRun = options.limits
        let names = ResourceNames(store: store, pool: pool)
        self.names = names
        if let origin = options.origin {
            (self.origin, ownOrigin) = (origin, nil)
        } else {
            var configuration = CurlConfiguration(userAgent: "MediaVault/\(Self.version)")
            configuration.allowsPrivate = { names.allows(host: $0) }
            configuration.ownListeners = ownListeners
            let curl = CurlOrigin(configuration: configuration)
            (origin, ownOrigin) = (curl, curl)
        }
    }

    // MARK: Opening and closing

    /// Opens a vault.
    ///
    /// An owner takes the vault's lock, and recovers what its last owner left open. A passphrase takes most of a second.
    ///
    /// - Throws: ``VaultError`` with code `noVault`, `owned`, `wrongKey`, `looseKeyFile`, `damagedKeyring`,
    ///   `tamperedKeyring`, `foreignKeyring`, `olderKeyring`, `integrity` or `storage`; `invalidArgument` where a size among
    ///   the limits could be kept to only with what no limit takes away.
    public static func open(
        _ place: VaultPlace, unlock: Unlock, options: VaultOptions = VaultOptions()
    ) async throws -> Vault {
        let store = try await openStore(place, unlock, options)
        let vault = Vault(
            store: store, keyringFile: place.keyring, options: options,
            unlockRestsWithVault: UnlockPlace.rests(unlock.path, with: place.folder))
        await vault.recallMode()
        if options.access == .owner {
            await vault.guardRoom()
            do {
                // Before anything could go for it.
                try await vault.requireReachableLimits()
            } catch {
                await vault.close()
                throw error
            }
            await vault.keepReserve()
            vault.beginUpkeep()
        }
        return vault
    }

    /// Ends all readers and fetches, seals and commits what came, closes the index, and wipes every key, whoever still
    /// holds a reader. Nothing happens the second time.
    public func close() async {
        let wasClosed = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return isClosed
        }
        guard !wasClosed else { return }
        let upkeep = upkeep.withLock { $0 }
        upkeep?.cancel()
        await upkeep?.value
        await chores.end()
        await keyWork.end()
        let loaders = loaders.withLock { $0.values.map(\.loader) }
        for loader in loaders { loader.close() }
        for loader in loaders {
            await loader.settle()
            await loader.revalidator.stop()
            await loader.tellFreshness()
        }
        let (store, visited) = (store, visits.withLock { $0.take() })
        // Everything that matters is committed already; what is left would be done by the next owner.
        try? await pool.run {
            try store.touch(visited)
            try store.close()
        }
        self.loaders.withLock { $0 = [:] }
        for loader in loaders { loader.record.retire() }
        // Without randomness or memory the keys stay, in locked memory, until the process ends.
        try? store.keyring.close()
        tellLastEvictions()
        for listener in passage.withLock({ $0.told }) { listener.finish() }
        await ownOrigin?.shutdown()
    }

    // MARK: Reading

    /// Finds out what a resource is, asking its origin where the vault does not know.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` where the vault does not know and may not ask, else as ``read(_:range:)``.
    public func information(for reference: MediaReference) async throws -> ContentInformation {
        let (loader, lease) = try await use(reference)
        defer { withExtendedLifetime(lease) {} }
        return try await loader.learnInformation()
    }

    /// What is known of a resource without reading it, its origin asked where the vault does not know: for HEAD.
    ///
    /// - Throws: as ``information(for:)``.
    public func head(of reference: MediaReference) async throws -> MediaHead {
        let (loader, lease) = try await use(reference)
        defer { withExtendedLifetime(lease) {} }
        return try await loader.head()
    }

    /// Opens a resource for reading.
    ///
    /// Returns as soon as length and type are known and the first byte is there: held, or come from the origin.
    ///
    /// - Throws: ``VaultError``: `notHeld` (offline, the first byte is missing), `unreachable`, `refused` (with
    ///   `originStatus`), `invalidResponse`, `unsatisfiableRange` (with `length` where it is known), `integrity`, `closed`.
    public func read(_ reference: MediaReference, range: RequestedRange = .whole) async throws -> MediaReader {
        let (loader, lease) = try await use(reference)
        return reader(try await loader.open(range), loader, lease)
    }

    func reader(_ opening: Opening, _ loader: ResourceLoader, _ lease: LoaderLease) -> MediaReader {
        noteVisit(of: loader)
        return MediaReader(opening, loader: loader, lease: lease)
    }

    /// The loader of a resource: one for each, however many use it.
    func use(_ reference: MediaReference) async throws -> (ResourceLoader, LoaderLease) {
        try checkOpen()
        let reference = try tokens.unwrapped(reference).settled()
        let (id, key) = try await names.name(reference)
        return try use(id, key, reference)
    }

    /// The loader of a resource that the index has.
    func use(_ resource: StoredResource) throws -> (ResourceLoader, LoaderLease) {
        try use(
            resource.id, CacheKey(bytes: resource.metadata.cacheKey), MediaReference(MediaURL(resource.metadata.url)))
    }

    /// The loader of a resource, where somebody uses it or has lately.
    func loader(of id: ResourceID) -> ResourceLoader? { loaders.withLock { $0[id]?.loader } }

    func use(
        _ id: ResourceID, _ key: CacheKey, _ reference: MediaReference
    ) throws -> (ResourceLoader, LoaderLease) {
        try checkOpen()
        let loader = try loaders.withLock { loaders in
            if let refusal = refusal.withLock({ $0 }) { throw refusal }
            // An id that was computed before names nothing any more.
            guard try key.id(keyring: store.keyring, locator: store.index.locator) == id else { throw Self.renaming }
            if let entry = loaders[id], entry.isRemoving { throw ResourceRecord.removed }
            var entry =
                loaders[id].flatMap { $0.loader.isBroken ? nil : $0 }
                ?? LoaderEntry(
                    loader: ResourceLoader(
                        reference, id: id, key: key, names: names, store: store, origin: origin, mode: mode,
                        retry: retry, pool: pool, precedence: precedence))
            entry.uses += 1
            loaders[id] = entry
            return entry.loader
        }
        loader.addresses.give(reference)
        return (loader, LoaderLease { [weak self, weak loader] in self?.release(id, loader) })
    }

    /// Without keys nothing has a name any more.
    private func checkOpen() throws {
        guard !isClosed.withLock({ $0 }) else { throw VaultError.vaultClosed }
    }

    /// The id of a resource, and what it is the hash of.
    func name(_ reference: MediaReference) async throws -> (id: ResourceID, cacheKey: [UInt8]) {
        try checkOpen()
        let (id, key) = try await names.name(try tokens.unwrapped(reference).settled())
        return (id, key.bytes)
    }

    private func release(_ id: ResourceID, _ loader: ResourceLoader?) {
        if let traces = loader?.change({ ($0.takeTraces(), Effects()) }), !traces.isEmpty {
            answers.note(traces, of: id, at: store.now())
        }
        loaders.withLock { loaders in
            // Another may stand in its place by now.
            guard let entry = loaders[id], entry.loader === loader else { return }
            loaders[id]?.uses -= 1
            loaders[id]?.idleSince = .now
        }
    }

    /// What makes and checks the addresses that players use.
    public var tokens: TokenIssuer { TokenIssuer(keyring: store.keyring) }

    /// This process serves the vault at a port: origins are never asked for there.
    package func noteListening(at port: Int) { ownListeners.add(port: port) }

    // MARK: Upkeep

    private func beginUpkeep() {
        let task = Task { [weak self] in
            while !Task.isCancelled {
                try? await Task.sleep(for: .seconds(1))
                guard let self, !Task.isCancelled else { return }
                await self.keepUp(now: .now)
            }
        }
        upkeep.withLock { $0 = task }
    }
}
