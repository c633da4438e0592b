import GRDB
import SeededRandom
import Synchronization
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("After a power loss in the middle of an act every record opens, and the act can be finished")
struct RecordPowerLossTests {
    private typealias Act = @Sendable (VaultStore, AuditLog) throws -> Void

    /// Each is repeated after the loss.
    private static let acts: [String: Act] = [
        "replacing all generations": { store, log in
            let isBegun = try Generations(store).isRetiring()
            let left =
                try isBegun
                ? Generations(store).finishReplacing(noting: log) : Generations(store).replaceAll(noting: log)
            #expect(left == [])
        },
        "changing the locator": { store, log in
            _ = try LocatorChange(store).run(noting: log, queued: { _, _ in nil }) { _, _ in [:] }
        },
        "writing backups": { store, _ in
            for _ in 0..<2 {
                store.noteChange()
                try store.catalogBackup.write()
            }
        },
        "erasing": { store, _ in
            try store.index.write { db in try PendingErasure.record(db) }
            try store.erasure.carryOut()
        },
        "restoring from the backup": { store, _ in
            try store.index.write { db in
                for table in SealedTable.own { try db.execute(sql: "UPDATE \(table.name) SET record = zeroblob(400)") }
            }
            #expect(try CatalogRestore(store).run().records == SealedTable.own.count)
        },
    ]

    /// Requires that every record opens in a copy of the disk, before and after the act is done again. What is damaged
    /// in the index must come back from the backup.
    private static func check(_ copy: String, _ act: Act, _ comment: Comment) throws {
        let place = KeyringPlace(copy + "/keyring.json")
        for isFinished in [false, true] {
            let keyring = try TemporaryVault.unlock(place.path)
            let store = try VaultStore.open(at: copy + "/vault", keyring: keyring, access: .owner)
            if isFinished { try act(store, AuditLog(of: store, at: place)) }
            _ = try CatalogRestore(store).run()
            for kind in EveryRecord.kinds {
                #expect(try EveryRecord.opened(kind, in: store, by: keyring) == 1, "\(comment): \(kind)")
            }
            #expect(try VerificationRows(store.index).unreadableRecords().isEmpty, comment)
            _ = try store.index.settings().networkSettings()
            let page = try store.index.resources.page(after: nil, limit: 10)
            #expect(page.count == 1 && page.first?.resource != nil, comment)
            try store.close()
        }
    }

    @Test(
        "Every record opens after a power loss, whatever of the index reached the disk", arguments: acts.keys.sorted())
    func everyRecord(_ name: String) throws {
        let act = try #require(Self.acts[name])
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem(seesIndex: true)
        let store = try vault.open(fileSystem: disk)
        try EveryRecord.write(to: store)
        try store.catalogBackup.write()
        try store.erasure.carryOut()
        let copies = try TemporaryFolder()
        let seed = UInt64.random(in: 0 ..< .max)
        // One of every few calls, a different one in each run.
        let stride = 9
        let points = Mutex((calls: 0, checked: 0))
        disk.observe { call in
            let point = points.withLock { points in
                points.calls += 1
                guard (points.calls + Int(seed % UInt64(stride))) % stride == 0 else { return nil as Int? }
                points.checked += 1
                return points.calls
            }
            guard let point else { return }
            for outcome in UInt64(0)..<2 {
                let copy = copies.path + "/\(point)-\(outcome)"
                let comment: Comment =
                    "\(name): before call \(point), \(call.operation), seed \(seed), outcome \(outcome)"
                do {
                    try disk.loseEverythingUnsynced(tearing: (seed &+ UInt64(point)) << 1 | outcome, into: copy)
                    try Self.check(copy, act, comment)
                } catch {
                    Issue.record(error, comment)
                }
                try? TemporaryFolder.remove(copy)
            }
        }
        try act(store, vault.log(of: store))
        disk.observe(nil)
        try store.close()
        #expect(points.withLock { $0.checked } > 0)
    }
}
