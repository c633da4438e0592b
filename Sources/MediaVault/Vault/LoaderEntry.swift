/// A loader in its vault's table.
struct LoaderEntry {
    let loader: ResourceLoader
    /// How many hold a lease.
    var uses = 0
    var idleSince = ContinuousClock.now
    /// Whether its resource is being removed: nobody gets a lease any more.
    var isRemoving = false

    /// Whether somebody reads it, or something is fetched or written for it.
    var isInUse: Bool { uses > 0 || isRemoving || !loader.isIdle || loader.joining.withLock(\.isRunning) }
}
