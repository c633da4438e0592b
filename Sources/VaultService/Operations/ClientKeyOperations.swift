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
        try await client.call(Operations.Keys.list).generations.filter { $0.state != .retired }.map(\.number)
    }

    package func rotate() async throws { _ = try await client.call(Operations.Keys.rotate, RotationRequest()) }

    package func rotateRoot() async throws {
        _ = try await client.rotateRoot(unlockedBy: slots, droppingOtherSlots: dropsOtherSlots)
    }

    package func revokeLinks() async throws { try await client.call(Operations.Upkeep.revokeLinks) }

    package func rewrap(_ tell: Tell) async throws -> Int {
        try await client.follow(Operations.Keys.rewrap, EmptyDocument()) {
            try await tell(Int64($0.keys), Int64($0.total))
        }.unopened
    }

    package func reseal(bytesPerSecond: Int64?, _ tell: Tell) async throws -> ResealReport {
        try await client.follow(Operations.Keys.reseal, ResealRequest([], bytesPerSecond: bytesPerSecond)) {
            try await tell($0.bytes, $0.bytesTotal)
        }
    }

    package func retire(_ generation: Int) async throws {
        _ = try await client.call(Operations.Keys.retire, RetirementRequest(generation: generation))
    }

    package func audit() async throws -> (receipts: [Receipt], isSound: Bool) {
        let log = try await client.call(Operations.Keys.audit, AuditSelection())
        return (log.receipts, log.isSound)
    }
}
