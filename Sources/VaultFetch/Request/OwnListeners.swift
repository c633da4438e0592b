import VaultModel

/// The ports at which this process listens itself. A request to one of them would go in a circle.
package final class OwnListeners: Sendable {
    private let ports = Locked<Set<Int>>([])

    package init() {}

    /// A listener has begun.
    package func add(port: Int) { _ = ports.withLock { $0.insert(port) } }

    /// Whether a connection would reach one of them, by whichever address of this machine.
    func contain(_ address: NetworkAddress, port: Int) -> Bool {
        ports.withLock { $0.contains(port) } && address.isOfThisMachine
    }
}
