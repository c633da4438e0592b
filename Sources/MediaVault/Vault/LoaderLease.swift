/// Keeps a loader in its vault's table as long as somebody uses it.
final class LoaderLease: Sendable {
    private let release: @Sendable () -> Void

    init(release: @escaping @Sendable () -> Void) { self.release = release }

    deinit { release() }
}
