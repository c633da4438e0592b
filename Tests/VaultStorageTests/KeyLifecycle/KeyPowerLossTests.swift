import SeededRandom
import Synchronization
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("After a power loss at any point of a key operation each resource opens, and the operation can be finished")
struct KeyPowerLossTests {
    private static let bytes = SeededGenerator.bytes(70_000, seed: 67)

    private static func secret() throws -> SharedSecret { SharedSecret(try TestKeyring.secret()) }

    private static func turn(_ store: VaultStore, _ log: AuditLog) throws {
        let isBegun = try !GenerationRows(store.index).retiring().isEmpty
        let left =
            try isBegun ? Generations(store).finishReplacing(noting: log) : Generations(store).replaceAll(noting: log)
        #expect(left == [])
    }

    private static func renewRoot(_ store: VaultStore, _ log: AuditLog) throws {
        _ = try Generations(store).renewRoot(openedBy: [secret()], droppingOthers: false, noting: log)
    }

    private static func changeLocator(_ store: VaultStore, _ log: AuditLog) throws {
        _ = try LocatorChange(store).run(noting: log, queued: { _, _ in nil }) { _, _ in [:] }
    }

    /// The key operations: what is done to a store, and what must hold after it was repeated following the loss.
    private static let acts: [String: @Sendable (VaultStore, AuditLog) throws -> Void] = [
        "turn": { try turn($0, $1) }, "root": { try renewRoot($0, $1) }, "locator": { try changeLocator($0, $1) },
    ]

    /// Opens a copy of the disk; every resource must be readable before and after the operation is finished.
    private static func check(
        _ copy: String, _ act: @Sendable (VaultStore, AuditLog) throws -> Void, _ comment: Comment
    ) throws {
        let place = KeyringPlace(copy + "/keyring.json")
        for isFinished in [false, true] {
            let keyring = try TemporaryVault.unlock(place.path)
            let store = try VaultStore.open(at: copy + "/vault", keyring: keyring, access: .owner)
            if isFinished { try act(store, AuditLog(of: store, at: place)) }
            let page = try store.index.resources.page(after: nil, limit: 100)
            #expect(page.count == 4, comment)
            for entry in page {
                let resource = try #require(entry.resource, comment)
                #expect(try store.read(resource).map(\.bytes) == [bytes], comment)
                #expect(
                    keyring.resourceID(cacheKey: resource.metadata.cacheKey, locator: store.index.locator) == entry.id,
                    comment)
            }
            // A new resource must use a generation that keyring and index both have.
            let added = try store.addMedia("added", length: 1)
            #expect(try store.index.resources.find(added.id)?.generation == keyring.currentGeneration, comment)
            _ = try store.resources.remove(added.id)
            let all = try GenerationRows(store.index).generations().all
            if isFinished { #expect(all == keyring.activeGenerations, comment) }
            #expect(try AuditLog.report(on: copy + "/vault", keyring: keyring).isSound, comment)
            try store.close()
        }
    }

    @Test("After a power loss each resource opens, whatever reached the disk", arguments: acts.keys.sorted())
    func everyPoint(_ name: String) throws {
        let act = try #require(Self.acts[name])
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        for number in 0..<4 {
            let resource = try store.addMedia("film-\(number)", length: 70_000)
            _ = try store.store(Self.bytes, at: 0, of: resource)
        }
        let copies = try TemporaryFolder()
        let seed = UInt64.random(in: 0 ..< .max)
        let points = Mutex(0)
        @Sendable func losePower(_ what: String) {
            let point = points.withLock {
                $0 += 1
                return $0
            }
            for outcome in UInt64(0)..<4 {
                let copy = copies.path + "/\(point)-\(outcome)"
                let comment: Comment = "\(name): power loss \(point) \(what), seed \(seed), outcome \(outcome)"
                do {
                    try disk.loseEverythingUnsynced(tearing: (seed &+ UInt64(point)) << 2 | outcome, into: copy)
                    try Self.check(copy, act, comment)
                } catch {
                    Issue.record(error, comment)
                }
                try? TemporaryFolder.remove(copy)
            }
        }
        disk.observe { losePower("before \($0.operation) of \($0.path.split(separator: "/").last ?? "")") }
        try act(store, vault.log(of: store))
        disk.observe(nil)
        losePower("at the end")
        try store.close()
        // Writing a keyring takes six calls, and so does a backup of the catalog.
        #expect(points.withLock { $0 } > 6)
    }
}
