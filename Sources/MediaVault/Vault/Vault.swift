import Foundation
import VaultCache
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
    let pool: BlockingPool
    let isUnlockOnVaultDisk: Bool
    /// The addresses at which this process serves the vault. The vault never requests anything from them.
    private let ownListeners = OwnListeners()
    private let wasLocked = Locked(false)
    private let wasDestroyed = Locked(false)
    let loaders: LoaderTable
    /// The pictures found in held media.
    let pictures = PictureCache()
    /// The recently requested pictures from feeds.
    let feedPictures = FeedPictures()
    /// Issues and verifies playback links and tokens.
    public let tokens: TokenIssuer
    /// The tokens, named links and sessions that the vault has issued.
    let grants: GrantTable
    /// The viewers, their shares, and their playback positions.
    public let viewers: Viewers
    /// Keeps the vault within its limits.
    let quota: QuotaEnforcer
    let joiner: SegmentJoiner
    /// The download queue, whose downloads run once ``DownloadQueue/start()`` was called, as a service does.
    public let queue: DownloadQueue
    /// Runs the subscriptions, once a service has started the clock.
    let subscriptionClock = SubscriptionClock()
    /// Serves manifests to players.
    let manifests: ManifestPlayback
    /// The network settings in force.
    let network: NetworkInForce
    /// Administers the keys: generations, slots, backups, resealing, shredding and the audit log.
    public let keys: KeyAdministration
    private let upkeep = Locked<Task<Void, Never>?>(nil)
    let accessTimes = AccessTimes()
    /// The background work that must end before the store is closed.
    let backgroundTasks: BackgroundTasks

    /// The version of the library, which is sent to origins in `User-Agent`.
    public static let version = "0.1.0"

    /// The time on this vault's wall clock, in seconds since 1970. The service uses the same clock.
    public var now: Int64 { store.index.now() }

    private init(store: VaultStore, keyringFile: String, options: VaultOptions, isUnlockOnVaultDisk: Bool) {
        self.store = store
        let grants = GrantTable(store)
        self.grants = grants
        tokens = TokenIssuer(keyring: store.keyring, grants: grants)
        self.isUnlockOnVaultDisk = isUnlockOnVaultDisk
        pool = .shared
        viewers = Viewers(store, pool: pool)
        let names = ResourceNames(store: store, pool: pool)
        // This issuer has no grants, because a loader need not retain them.
        let links = TokenIssuer(keyring: store.keyring)
        let network = NetworkInForce(store)
        self.network = network
        let retry = options.retry.bounded
        let origin: any Origin
        if let given = options.origin {
            (origin, ownOrigin) = (PatientOrigin(given, limit: retry.silenceLimit), nil)
        } else {
            var configuration = CurlConfiguration(userAgent: "MediaVault/\(Self.version)")
            configuration.now = store.index.now
            configuration.allowsPrivate = { names.allows(host: $0) }
            configuration.network = { () throws(OriginFailure) in try network.current() }
            configuration.environment = ProxyEnvironment(ProcessInfo.processInfo.environment)
            configuration.ownListeners = ownListeners
            let curl = CurlOrigin(configuration: configuration)
            (origin, ownOrigin) = (curl, curl)
        }
        loaders = LoaderTable(
            LoaderEnvironment(
                store: store, origin: origin, names: names, retry: retry, pool: pool,
                playbackPriority: PlaybackPriority(),
                mode: ModeInForce(ofRun: options.access == .reader ? .offline : options.mode),
                resolvingPlaybackLinks: { [links] reference in links.resolvingPlaybackLinks(reference) }),
            answers: AnswerLog())
        // When a title is removed, its shares are ended before anyone can request it again.
        let shared = viewers
        loaders.onRemoval.set { [pictures] removed in
            pictures.forget(removed)
            try? shared.followResources()
        }
        let tasks = BackgroundTasks()
        backgroundTasks = tasks
        let queue = DownloadQueue(loaders, feedPictures)
        self.queue = queue
        // The references are weak, because these objects retain the store.
        store.onRestore.set { [weak grants, weak shared, weak network, weak queue, weak store] in
            grants?.reload()
            shared?.reload()
            if let store { network?.reload(from: store) }
            Task { try? await queue?.rereading {} }
        }
        quota = QuotaEnforcer(loaders: loaders, limitsOfRun: options.limits)
        joiner = SegmentJoiner(loaders: loaders, tasks: tasks)
        manifests = ManifestPlayback(loaders)
        keys = KeyAdministration(
            KeyOperationEnvironment(
                loaders: loaders, downloads: queue, subscriptionChanges: subscriptionClock.changing,
                log: AuditLog(of: store, at: KeyringPlace(keyringFile, fileSystem: store.fileSystem)), tasks: tasks))
    }

    // MARK: Components

    /// The titles, and all other resources.
    public var titles: Titles {
        Titles(
            loaders: loaders, downloads: queue, pictures: pictures, backgroundTasks: backgroundTasks,
            marks: viewers.marks)
    }
    /// The tokens, playback links and sessions.
    public var access: AccessGrants {
        AccessGrants(grants: grants, tokens: tokens, titles: titles, viewers: viewers, keys: keys)
    }
    /// The settings.
    public var settings: SettingsAdministration {
        SettingsAdministration(loaders: loaders, downloads: queue, quota: quota, network: network)
    }
    /// The space that the vault takes.
    public var space: StorageSpace { StorageSpace(quota: quota, store: store, pool: pool) }
    /// Checks of bytes and titles.
    public var checks: VaultChecks {
        VaultChecks(
            loaders: loaders, downloads: queue, space: space, access: access, backgroundTasks: backgroundTasks)
    }
    /// Imports and exports.
    public var transfer: FileTransfer { FileTransfer(titles: titles, backgroundTasks: backgroundTasks) }
    /// The subscriptions to lists of titles.
    public var subscriptions: Subscriptions {
        Subscriptions(titles: titles, downloads: queue, clock: subscriptionClock)
    }
    /// The collections of titles that belong together.
    public var collections: Collections {
        Collections(titles: titles, subscriptions: subscriptions, viewers: viewers)
    }
    /// Playback through links.
    public var playback: Playback {
        Playback(
            titles: titles, tokens: tokens, viewers: viewers, manifests: manifests, accessTimes: accessTimes)
    }

    // MARK: Opening and closing

    /// Opens a vault.
    ///
    /// An owner takes the vault's lock, and completes the work that the last owner left unfinished. With a passphrase,
    /// opening takes most of a second.
    ///
    /// - Throws: ``VaultError`` with code `noVault`, `owned`, `wrongKey`, `looseKeyFile`, `damagedKeyring`,
    ///   `tamperedKeyring`, `foreignKeyring`, `olderKeyring`, `integrity` or `storage`; `invalidArgument` if a path
    ///   is relative, or if a size limit could be kept only by removing what no limit may remove.
    public static func open(
        _ place: VaultPlace, unlock: Unlock, options: VaultOptions = VaultOptions()
    ) async throws -> Vault {
        let store = try await openStore(place, unlock, options)
        let vault = Vault(
            store: store, keyringFile: place.keyring, options: options,
            isUnlockOnVaultDisk: UnlockPlace.rests(unlock.path, with: place.folder))
        await vault.settings.loadMode()
        if options.access == .owner {
            let (removed, store) = (vault.loaders.environment.removed, vault.store)
            try? await vault.pool.run { removed.load(from: store) }
            await vault.quota.enforceLimits()
            do {
                // Check this before anything can be evicted to keep the limit.
                try await vault.quota.requireReachableLimits()
            } catch {
                await vault.close()
                throw error
            }
            await vault.quota.createReserve()
            await vault.access.removeVoidGrants()
            if options.isSelfMaintaining { vault.startPeriodicWork() }
        }
        return vault
    }

    /// Closes the vault: ends all readers and fetches, seals and commits the bytes that were received, closes the
    /// index, wipes every key, even while readers exist, and forgets the records that it had read. A second call does
    /// nothing.
    public func close() async {
        guard loaders.beginClosing() else { return }
        let upkeep = upkeep.withLock { $0 }
        upkeep?.cancel()
        await upkeep?.value
        await subscriptionClock.end()
        await queue.end()
        await backgroundTasks.end()
        await loaders.endImports(because: VaultError.vaultClosed)
        await keys.lock.end()
        let ended = loaders.all
        for loader in ended { loader.close() }
        for loader in ended {
            await loader.settle()
            await loader.origin.revalidator.stop()
            await loader.writeFreshness()
        }
        let (store, visited, grants, viewers) = (store, accessTimes.take(), grants, viewers)
        let removed = loaders.environment.removed
        // Everything that matters has already been committed; the next owner does the work that fails here.
        try? await pool.run {
            try store.resources.touch(visited)
            try? grants.writeUses()
            try? viewers.writePositions()
            try? removed.write(to: store)
            try store.close()
        }
        loaders.refuse(VaultError.vaultClosed)
        for loader in ended { loader.record.retire() }
        // If no random bytes or memory are available, the keys stay in locked memory until the process ends.
        try? store.keyring.close()
        quota.end()
        manifests.end()
        pictures.end()
        feedPictures.end()
        await ownOrigin?.shutdown()
        forgetRecords()
    }

    /// Discards the records in memory: credentials, names, and anything else that reveals which titles the vault has.
    private func forgetRecords() {
        grants.forget()
        viewers.forget()
        queue.forget()
        network.forget()
        loaders.environment.names.forget()
        loaders.answers.forget()
        loaders.environment.removed.forget()
    }

    /// Closes the vault, and records that a user asked for its keys to be wiped.
    package func lock() async {
        wasLocked.withLock { $0 = true }
        await close()
    }

    /// Whether ``lock()`` was called.
    package var isLocked: Bool { wasLocked.withLock(\.self) }

    /// Whether ``destroy(vaultID:)`` has destroyed the vault.
    package var isDestroyed: Bool { wasDestroyed.withLock(\.self) }

    /// Makes the whole vault permanently unreadable.
    ///
    /// Every resource key is deleted from the index, its log and the backup, a receipt is written, the keyring file is
    /// overwritten and removed, and the segment files are removed. Then the vault is closed.
    ///
    /// The audit log stays, and ``KeyAdministration/audit(_:unlock:)`` can check it without a key. An earlier copy of
    /// the keyring, a backup of it, or a copy of the folder still opens what it opened before.
    ///
    /// - Parameter vaultID: the id of the vault to destroy, in hex: ``VaultStatus/vaultID``.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the id is another vault's; `owned` if this process is
    ///   not the owner; `busy` if another key operation is running; `storage` if something cannot be written, in which
    ///   case the vault should be destroyed again.
    public func destroy(vaultID: String) async throws -> DestructionReport {
        let report = try await DestroyOperation(environment: keys.environment).run(vaultID: vaultID)
        wasDestroyed.withLock { $0 = true }
        await close()
        return report
    }

    /// Checks that this process owns the vault.
    ///
    /// - Throws: ``VaultError`` with code `owned` if this process does not own the vault.
    public func requireOwner(to act: String) throws { try store.requireOwner(to: act) }

    // MARK: Reading

    /// Returns the length, type and validators of a resource, from the vault if it knows them, otherwise from the
    /// origin.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not know them and the mode forbids requests;
    ///   otherwise the errors of ``read(_:range:)-(MediaReference,_)``.
    public func information(for reference: MediaReference) async throws -> ContentInformation {
        let (loader, lease) = try await use(reference)
        defer { withExtendedLifetime(lease) {} }
        try await DerivedAccess(to: loader, for: reference).admit()
        return try await InformationLookup(of: loader).learn()
    }

    /// Returns what a HEAD request can report about a resource, from the vault if it knows it, otherwise from the
    /// origin.
    ///
    /// - Throws: the errors of ``information(for:)-(MediaReference)``.
    public func head(of reference: MediaReference) async throws -> MediaHead {
        try await playback.head(of: name(reference))
    }

    /// Opens a resource for reading.
    ///
    /// This returns as soon as the length and type are known and the first byte is available, from the vault or from
    /// the origin.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if the first byte is missing and requests are not allowed;
    ///   `unreachable`; `refused` (with `originStatus`); `invalidResponse`; `unsatisfiableRange` (with `length` if
    ///   known); `integrity`; or `closed`.
    public func read(_ reference: MediaReference, range: RequestedRange = .whole) async throws -> MediaReader {
        try await playback.read(name(reference), range: range)
    }

    /// Returns information as ``information(for:)-(MediaReference)`` does, for the resource with this URL.
    public func information(for url: MediaURL) async throws -> ContentInformation {
        try await information(for: MediaReference(url))
    }

    /// Returns the head as ``head(of:)-(MediaReference)`` does, for the resource with this URL.
    public func head(of url: MediaURL) async throws -> MediaHead { try await head(of: MediaReference(url)) }

    /// Reads as ``read(_:range:)-(MediaReference,_)`` does, for the resource with this URL.
    public func read(_ url: MediaURL, range: RequestedRange = .whole) async throws -> MediaReader {
        try await read(MediaReference(url), range: range)
    }

    /// Fetches the missing bytes of a resource, and makes it a download.
    ///
    /// If the resource is the manifest of a title, every resource that the chosen renditions need is fetched with it,
    /// several at a time; see ``DownloadOptions/selection``. If an origin refuses a part, the others are still fetched,
    /// but the title stays incomplete, and the error names the first part that was refused. A live title is rejected,
    /// because it has no end.
    ///
    /// The download continues where an earlier one stopped, and ends when everything is held. Its progress is reported
    /// at most ten times a second. Eviction removes resources that were merely played before it removes downloads. A
    /// player that waits for bytes takes precedence over the download.
    ///
    /// - Returns: the progress. Iterating throws ``VaultError`` if the download cannot continue.
    public func download(
        _ reference: MediaReference, options: DownloadOptions = DownloadOptions()
    ) -> ProgressSequence<DownloadProgress> {
        ProgressSequence(among: nil) { [loaders, feedPictures] tell in
            try await TitleJob(loaders, feedPictures, reference, options, tell: tell).run()
        }
    }

    /// Downloads as ``download(_:options:)-(MediaReference,_)`` does, for the resource with this URL.
    public func download(
        _ url: MediaURL, options: DownloadOptions = DownloadOptions()
    ) -> ProgressSequence<DownloadProgress> {
        download(MediaReference(url), options: options)
    }

    /// Sets the refresher, which finds a new link to a title if the origin refuses the known one, for example because a
    /// signed URL has expired; nil for no refresher.
    ///
    /// Only titles with a ``MediaReference/contentID`` are refreshed, because their name does not depend on the URL.
    /// The title's held bytes stay held. The vault requests the missing ones from the origin only if the representation
    /// is the same. Once the origin has accepted the new link, the link is sealed with the title and used for later
    /// requests.
    public func setLinkRefresher(_ refresher: LinkRefresher?) { loaders.environment.refresher.use(refresher) }

    /// Returns the loader of a resource, which is shared by all users of the resource.
    func use(_ reference: MediaReference) async throws -> (ResourceLoader, LoaderLease) {
        try await loaders.use(reference)
    }

    /// Names the resource to which a reference leads.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the reference cannot be used; `closed` if the vault is
    ///   closed.
    package func name(_ reference: MediaReference) async throws -> NamedResource { try await loaders.name(reference) }

    /// Records a port at which this process serves the vault, so that the vault requests nothing from it.
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

    /// Does the periodic work. It is called once a second.
    func runPeriodicWork(now: ContinuousClock.Instant) async {
        for loader in loaders.all {
            await loader.tick(now: now)
        }
        loaders.removeIdle(now: now)
        joiner.join(now: now, mayBegin: keys.lock.act == nil)
        await quota.maintain(now: now)
        keys.unfinished.resume(now: now)
        let (store, visited, grants, viewers) = (store, accessTimes.take(), grants, viewers)
        let removed = loaders.environment.removed
        do {
            try await pool.run {
                try grants.writeUses()
                try viewers.followResources()
                try removed.write(to: store)
                try viewers.writePositionsIfDue(now: now)
                try store.resources.touch(visited)
                try store.flushCounters()
                try store.catalogBackup.writeIfDue(now: now)
            }
        } catch {
            // Periodic work that failed is tried again a second later.
            accessTimes.putBack(visited)
        }
        await collections.keepRules()
    }
}
