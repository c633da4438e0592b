import VaultModel

/// The key operations of a vault that this process owns.
struct OwnKeyOperations: KeyOperations {
    let keys: KeyAdministration
    let unlocks: [Unlock]
    let dropsOtherSlots: Bool

    func generations() async throws -> [Int] {
        try await keys.report().generations.filter { $0.state != .retired }.map(\.number)
    }

    func rotate() async throws { _ = try await keys.rotate() }

    func rotateRoot() async throws {
        _ = try await keys.rotateRoot(unlockedBy: unlocks, droppingOtherSlots: dropsOtherSlots)
    }

    func revokeLinks() async throws { try await keys.revokeLinks() }

    func rewrap(_ tell: Tell) async throws -> Int {
        var unopened = 0
        for try await step in keys.rewrap() {
            unopened = step.report?.unopened ?? unopened
            try await tell(Int64(step.keys), Int64(step.total))
        }
        return unopened
    }

    func reseal(bytesPerSecond: Int64?, _ tell: Tell) async throws -> ResealReport {
        var report = ResealReport(subjects: [])
        for try await step in keys.reseal(bytesPerSecond: bytesPerSecond) {
            report = step.report ?? report
            try await tell(step.bytes, step.bytesTotal)
        }
        return report
    }

    func retire(_ generation: Int) async throws { _ = try await keys.retire(generation) }

    func audit() async throws -> (receipts: [Receipt], isSound: Bool) {
        let report = try await keys.audit()
        return (report.receipts, report.isSound)
    }
}
