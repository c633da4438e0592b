package import VaultModel

/// Who uses which resources: what is open, read or filled now is not evicted.
package struct ResourceUse: Sendable {
    /// The resources in use now.
    package let all: @Sendable () -> Set<ResourceID>
    /// Lets go of what is remembered of a resource that nobody uses, within the transaction that evicts it: who asks for
    /// it from now on reads the index anew, after the transaction. False where somebody uses it.
    package let letGo: @Sendable (ResourceID) -> Bool

    package init(
        all: @escaping @Sendable () -> Set<ResourceID>, letGo: @escaping @Sendable (ResourceID) -> Bool
    ) {
        self.all = all
        self.letGo = letGo
    }

    /// Nobody uses anything.
    package static let none = ResourceUse(all: { [] }, letGo: { _ in true })
}
