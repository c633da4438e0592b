package import MediaVault

/// The key operations of a runbook, which a vault's client performs in this process or through the service.
package struct ClientKeyOperations: KeyOperations {
    private let client: any VaultClient
    private let slots: [SlotKey]
    private let dropsOtherSlots: Bool

    /// - Parameters:
    ///   - slots: the keys of the slots to keep if the root key is replaced.
    ///   - dropsOtherSlots: whether to drop the slots that none of these keys opens.
    package init(_ client: any VaultClient, slots: [SlotKey] = [], dropsOtherSlots: Bool = false) {
        self.client = client
        self.slots = slots
        self.dropsOtherSlots = dropsOtherSlots
    }

    package func generations() async throws -> [Int] {
        try await client.keys().generations.filter { $0.state != .retired }.map(\.number)
    }

    package func rotate() async throws { _ = try await client.rotate() }

    package func rotateRoot() async throws {
        _ = try await client.rotateRoot(unlockedBy: slots, droppingOtherSlots: dropsOtherSlots)
    }

    package func revokeLinks() async throws { try await client.revokeLinks() }

    package func rewrap(_ tell: Tell) async throws -> Int {
        try await client.rewrap { try await tell(Int64($0.keys), Int64($0.total)) }.unopened
    }

    package func reseal(bytesPerSecond: Int64?, _ tell: Tell) async throws -> ResealReport {
        try await client.reseal([], bytesPerSecond: bytesPerSecond) { try await tell($0.bytes, $0.bytesTotal) }
    }

    package func retire(_ generation: Int) async throws { _ = try await client.retire(generation) }

    package func audit() async throws -> (receipts: [Receipt], isSound: Bool) {
        let log = try await client.audit()
        return (log.receipts, log.isSound)
    }
}
