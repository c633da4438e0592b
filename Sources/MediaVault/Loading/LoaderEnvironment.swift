import VaultModel
import VaultStorage

/// What all loaders of a vault share.
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

/// The mode of a vault: the mode of the run, else the one in the settings, else ``VaultMode/online``.
final class ModeInForce: Sendable {
    private let ofRun: VaultMode?
    private let setting = Locked<VaultMode?>(nil)

    init(ofRun: VaultMode?) { self.ofRun = ofRun }

    var current: VaultMode { ofRun ?? setting.withLock(\.self) ?? .online }

    /// Switches to the mode in the settings.
    func use(_ mode: VaultMode?) { setting.withLock { $0 = mode } }
}

/// Keeps a loader in its vault's table while it is used.
final class LoaderLease: Sendable {
    private let release: @Sendable () -> Void

    init(release: @escaping @Sendable () -> Void) { self.release = release }

    deinit { release() }
}
