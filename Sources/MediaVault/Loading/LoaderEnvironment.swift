import VaultModel
import VaultStorage

/// The objects that all of a vault's loaders share.
struct LoaderEnvironment: Sendable {
    let store: VaultStore
    let origin: any Origin
    let names: ResourceNames
    let retry: RetryPolicy
    let pool: BlockingPool
    let playbackPriority: PlaybackPriority
    let mode: ModeInForce
    let principalFields = PrincipalFields()
    let partOwners: PartOwners
    let manifestSemaphore = ManifestSemaphore()
    let removed: RemovedTitles
    let imports = RunningImports()
    let originErrors = OriginErrors()
    let damage = DamageListeners()
    let refresher = LinkRefresherInForce()

    init(
        store: VaultStore, origin: any Origin, names: ResourceNames, retry: RetryPolicy, pool: BlockingPool,
        playbackPriority: PlaybackPriority, mode: ModeInForce
    ) {
        (self.store, self.origin, self.names, self.retry, self.pool) = (store, origin, names, retry, pool)
        (self.playbackPriority, self.mode) = (playbackPriority, mode)
        partOwners = PartOwners()
        removed = RemovedTitles(partOwners)
    }
}

/// A vault's mode: the one given for this run, or else the one in the settings, or else ``VaultMode/online``.
final class ModeInForce: Sendable {
    private let ofRun: VaultMode?
    private let setting = Locked<VaultMode?>(nil)

    init(ofRun: VaultMode?) { self.ofRun = ofRun }

    var current: VaultMode { ofRun ?? setting.withLock(\.self) ?? .online }

    /// Switches to a mode from the settings; nil if they contain none.
    func use(_ mode: VaultMode?) { setting.withLock { $0 = mode } }
}

/// Keeps a loader in its vault's table while the loader is used.
final class LoaderLease: Sendable {
    private let release: @Sendable () -> Void

    init(release: @escaping @Sendable () -> Void) { self.release = release }

    deinit { release() }
}
