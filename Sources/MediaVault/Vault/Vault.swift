import VaultCrypto
import VaultFetch
import VaultModel
import VaultStorage

/// An encrypted offline-media vault.
///
/// Held bytes are read from sealed segments. Missing bytes are fetched once, delivered at once, and sealed as they
/// arrive.
///
/// ```swift
/// let vault = try await Vault.open(place, unlock: .keyFile(path: "/media/key/vault.key"))
/// for try await bytes in try await vault.read(MediaURL("https://media.example/film.mp4")) { play(bytes) }
/// await vault.close()
/// ```
public final class Vault: Sendable {
    let store: VaultStore
    private let ownOrigin: CurlOrigin?
    let sessionMode: VaultMode?
    /// The mode in the settings.
    let storedMode = Locked<VaultMode?>(nil)
    let pool: BlockingPool
    let playbackPriority = PlaybackPriority()
    let sessionLimits: StorageLimits?
    /// Detects bytes that pass through unstored, and has the listeners.
    let bypassMonitor = Locked(BypassMonitor())
    let quotaPace = Locked(QuotaPace())
    /// Decides whether the time of day is trusted.
    let clock = Locked(WallClockMonitor())
    let evictionNotice = Locked(EvictionNotice())
    let names: ResourceNames
    let isUnlockOnVaultDisk: Bool
    /// The addresses at which this process serves the vault: it never requests anything from itself.
    private let ownListeners = OwnListeners()
    /// The receipts of key operations.
    let auditLog: AuditLog
    /// Allows one key operation at a time.
    package let keyOperationLock = KeyOperationLock()
    /// The schedule for key operations that a previous owner left unfinished.
    let resumeSchedule = Locked(ResumeSchedule())
    let loaders: LoaderTable
    private let upkeep = Locked<Task<Void, Never>?>(nil)
    private let isClosed = Locked(false)
    let accessTimes = Locked(AccessTimes())
    let answers = AnswerLog()
    /// Decides when segments are joined.
    let joiningPace = Locked(JoiningPace())
    /// Work that must end before the store closes.
    let backgroundTasks = BackgroundTasks()

    /// The version of the library, which origins see in `User-Agent`.
    public static let version = "0.1.0"

    private init(store: VaultStore, keyringFile: String, options: VaultOptions, isUnlockOnVaultDisk: Bool) {
        self.store = store
        auditLog = AuditLog(of: store, at: KeyringPlace(keyringFile, fileSystem: store.fileSystem))
        self.isUnlockOnVaultDisk = isUnlockOnVaultDisk
        sessionMode = options.access == .reader ? .offline : options.mode
        pool = .shared
        sessionLimits = options.limits
        let names = ResourceNames(store: store, pool: pool)
        self.names = names
        let origin: any Origin
        if let given = options.origin {
            (origin, ownOrigin) = (given, nil)
        } else {
            var configuration = CurlConfiguration(userAgent: "MediaVault/\(Self.version)")
            configuration.allowsPrivate = { names.allows(host: $0) }
            configuration.ownListeners = ownListeners
            let curl = CurlOrigin(configuration: configuration)
            (origin, ownOrigin) = (curl, curl)
        }
        loaders = LoaderTable(
            LoaderEnvironment(
                store: store, origin: origin, names: names, retry: options.retry, pool: pool,
                playbackPriority: playbackPriority),
            answers: answers)
    }

    // MARK: Opening and closing

    /// Opens a vault.
    ///
    /// An owner takes the vault's lock, and recovers what the last owner left unfinished. A passphrase takes most of a
    /// second.
    ///
    /// - Throws: ``VaultError`` with code `noVault`, `owned`, `wrongKey`, `looseKeyFile`, `damagedKeyring`,
    ///   `tamperedKeyring`, `foreignKeyring`, `olderKeyring`, `integrity` or `storage`; `invalidArgument` if a size
    ///   limit could only be kept by removing what no limit may remove.
    public static func open(
        _ place: VaultPlace, unlock: Unlock, options: VaultOptions = VaultOptions()
    ) async throws -> Vault {
        let store = try await openStore(place, unlock, options)
        let vault = Vault(
            store: store, keyringFile: place.keyring, options: options,
            isUnlockOnVaultDisk: UnlockPlace.rests(unlock.path, with: place.folder))
        await vault.loadModeSetting()
        if options.access == .owner {
            await vault.enforceLimits()
            do {
                // Before anything could be evicted to keep the limit.
                try await vault.requireReachableLimits()
            } catch {
                await vault.close()
                throw error
            }
            await vault.createReserve()
            vault.startPeriodicWork()
        }
        return vault
    }

    /// Closes the vault: ends all readers and fetches, seals and commits the bytes received, closes the index, and
    /// wipes every key, even while readers exist. A second call does nothing.
    public func close() async {
        let wasClosed = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return isClosed
        }
        guard !wasClosed else { return }
        let upkeep = upkeep.withLock { $0 }
        upkeep?.cancel()
        await upkeep?.value
        await backgroundTasks.end()
        await keyOperationLock.end()
        let ended = loaders.all
        for loader in ended { loader.close() }
        for loader in ended {
            await loader.settle()
            await loader.revalidator.stop()
            await loader.writeFreshness()
        }
        let (store, visited) = (store, accessTimes.withLock { $0.take() })
        // Everything that matters is already committed; the next owner would do the rest.
        try? await pool.run {
            try store.touch(visited)
            try store.close()
        }
        loaders.refuse(VaultError.vaultClosed)
        for loader in ended { loader.record.retire() }
        // If randomness or memory is not available, the keys stay in locked memory until the process ends.
        try? store.keyring.close()
        reportLastEvictions()
        for listener in bypassMonitor.withLock({ $0.told }) { listener.finish() }
        await ownOrigin?.shutdown()
    }

    // MARK: Reading

    /// Returns length, type and validators of a resource, from the vault or else from its origin.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not know and the mode forbids requests, otherwise
    ///   as ``read(_:range:)-(MediaReference,_)``.
    public func information(for reference: MediaReference) async throws -> ContentInformation {
        let (loader, lease) = try await use(reference)
        defer { withExtendedLifetime(lease) {} }
        return try await loader.learnInformation()
    }

    /// Returns what is known of a resource without reading it, from the vault or else from its origin; for HEAD.
    ///
    /// - Throws: as ``information(for:)-(MediaReference)``.
    public func head(of reference: MediaReference) async throws -> MediaHead {
        try await head(of: name(reference))
    }

    /// ``head(of:)-(MediaReference)`` for a named resource.
    package func head(of resource: NamedResource) async throws -> MediaHead {
        let (loader, lease) = try use(await current(resource))
        defer { withExtendedLifetime(lease) {} }
        return try await loader.head()
    }

    /// Opens a resource for reading.
    ///
    /// Returns as soon as length and type are known and the first byte is available, from the vault or from the origin.
    ///
    /// - Throws: ``VaultError``: `notHeld` (offline, and the first byte is missing), `unreachable`, `refused` (with
    ///   `originStatus`), `invalidResponse`, `unsatisfiableRange` (with `length` if known), `integrity`, `closed`.
    public func read(_ reference: MediaReference, range: RequestedRange = .whole) async throws -> MediaReader {
        try await read(name(reference), range: range)
    }

    /// ``read(_:range:)-(MediaReference,_)`` for a named resource.
    package func read(_ resource: NamedResource, range: RequestedRange) async throws -> MediaReader {
        let (loader, lease) = try use(await current(resource))
        return reader(try await loader.open(range), loader, lease)
    }

    func reader(_ opening: Opening, _ loader: ResourceLoader, _ lease: LoaderLease) -> MediaReader {
        noteAccess(of: loader)
        return MediaReader(opening, loader: loader, lease: lease)
    }

    /// Returns the loader of a resource; all users share it.
    func use(_ reference: MediaReference) async throws -> (ResourceLoader, LoaderLease) {
        try use(await name(reference))
    }

    /// Returns the loader of a resource that is in the index.
    func use(_ resource: StoredResource) throws -> (ResourceLoader, LoaderLease) {
        try checkOpen()
        return try use(names.name(resource))
    }

    /// Returns the loader of a resource if the resource is in use, or was used recently.
    func loader(of id: ResourceID) -> ResourceLoader? { loaders.loader(of: id) }

    func use(_ resource: NamedResource) throws -> (ResourceLoader, LoaderLease) {
        try checkOpen()
        return try loaders.use(resource, mode: mode)
    }

    /// Requires that the vault is open: without keys no id can be computed.
    private func checkOpen() throws {
        guard !isClosed.withLock({ $0 }) else { throw VaultError.vaultClosed }
    }

    /// Names the resource behind a reference.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the reference cannot be used; `closed`.
    package func name(_ reference: MediaReference) async throws -> NamedResource {
        try checkOpen()
        return try await names.name(tokens.resolvingPlaybackLinks(reference).settled())
    }

    /// Returns a named resource, named again if its name has changed since.
    private func current(_ resource: NamedResource) async throws -> NamedResource {
        names.isCurrent(resource) ? resource : try await name(resource.reference)
    }

    /// Issues and verifies playback links and the admin token.
    public var tokens: TokenIssuer { TokenIssuer(keyring: store.keyring) }

    /// Records a port at which this process serves the vault, so that nothing is requested from it.
    package func noteListening(at port: Int) { ownListeners.add(port: port) }

    // MARK: Periodic work

    private func startPeriodicWork() {
        let task = Task { [weak self] in
            while !Task.isCancelled {
                try? await Task.sleep(for: .seconds(1))
                guard let self, !Task.isCancelled else { return }
                await self.runPeriodicWork(now: .now)
            }
        }
        upkeep.withLock { $0 = task }
    }

    /// Does the periodic work, once a second.
    func runPeriodicWork(now: ContinuousClock.Instant) async {
        for loader in loaders.all {
            loader.change { $0.tick(now: now) }
            loader.opened.dropIdle(now: now)
            await loader.writeFreshness()
        }
        loaders.removeIdle(now: now)
        joinSegments(now: now)
        await maintainQuota(now: now)
        resumeKeyWork(now: now)
        let (store, visited) = (store, accessTimes.withLock { $0.take() })
        do {
            try await pool.run {
                try store.touch(visited)
                try store.flushCounters()
                try store.backUpCatalogIfDue(now: now)
            }
        } catch {
            // Failed periodic work is tried again in a second.
            accessTimes.withLock { $0.putBack(visited) }
        }
    }
}

/// The resources read, with the hour of the last access. Each is written to the index once an hour, so that reading
/// does not write.
struct AccessTimes {
    private static let most = 10_000
    private var hours: [ResourceID: Int64] = [:]
    private var news: Set<ResourceID> = []

    mutating func note(_ id: ResourceID, hour: Int64) {
        guard hours.updateValue(hour, forKey: id) != hour else { return }
        news.insert(id)
        // Forget earlier hours, so that memory is bounded by the resources of one hour.
        if hours.count > Self.most { hours = hours.filter { $0.value == hour } }
    }

    /// Returns ids that could not be written to the index.
    mutating func putBack(_ ids: [ResourceID]) { news.formUnion(ids) }

    /// Takes the ids that have not been written to the index.
    mutating func take() -> [ResourceID] {
        defer { news = [] }
        return Array(news)
    }
}
