package import VaultModel
package import VaultStorage

/// The objects that all of a vault's loaders share.
package struct LoaderEnvironment: Sendable {
    package let store: VaultStore
    package let origin: any Origin
    package let names: ResourceNames
    package let retry: RetryPolicy
    package let pool: BlockingPool
    package let playbackPriority: PlaybackPriority
    package let mode: ModeInForce
    /// Returns the reference to the resource behind one of this vault's own playback links; any other reference is
    /// returned unchanged.
    let resolvingPlaybackLinks: @Sendable (MediaReference) -> MediaReference
    package let principalFields = PrincipalFields()
    package let partOwners: PartOwners
    package let manifestSemaphore = ManifestSemaphore()
    package let removed: RemovedTitles
    package let imports = RunningImports()
    package let originErrors = OriginErrors()
    package let damage = DamageListeners()
    package let refresher = LinkRefresherInForce()

    package init(
        store: VaultStore, origin: any Origin, names: ResourceNames, retry: RetryPolicy, pool: BlockingPool,
        playbackPriority: PlaybackPriority, mode: ModeInForce,
        resolvingPlaybackLinks: @escaping @Sendable (MediaReference) -> MediaReference
    ) {
        (self.store, self.origin, self.names, self.retry, self.pool) = (store, origin, names, retry, pool)
        (self.playbackPriority, self.mode) = (playbackPriority, mode)
        self.resolvingPlaybackLinks = resolvingPlaybackLinks
        partOwners = PartOwners()
        removed = RemovedTitles(partOwners)
    }
}

/// A vault's mode: the one given for this run, or else the one in the settings, or else ``VaultMode/online``.
package final class ModeInForce: Sendable {
    private let ofRun: VaultMode?
    private let setting = Locked<VaultMode?>(nil)

    package init(ofRun: VaultMode?) { self.ofRun = ofRun }

    package var current: VaultMode { ofRun ?? setting.withLock(\.self) ?? .online }

    /// Switches to a mode from the settings; nil if they contain none.
    package func use(_ mode: VaultMode?) { setting.withLock { $0 = mode } }
}
