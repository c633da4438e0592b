import GRDB
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("A forged row in the table of generations does not determine new numbers")
struct ForgedGenerationTests {
    private static let numbers: [Int64] = [0, -1, .min, 2, Int64(UInt32.max), Int64(UInt32.max) + 1, .max]

    private let vault: TemporaryVault

    init() throws { vault = try TemporaryVault() }

    private func forge(_ store: VaultStore, _ numbers: [Int64]) throws {
        try store.index.write { db in
            for number in numbers {
                try db.execute(sql: "INSERT OR IGNORE INTO generation VALUES (?, 'active')", arguments: [number])
            }
        }
    }

    @Test(
        "Every operation that creates a generation skips the forged row, and the keyring opens again",
        arguments: numbers)
    func acts(_ number: Int64) throws {
        let store = try vault.open()
        let log = vault.log(of: store)
        let title = try store.addMedia("film", length: 9)
        try forge(store, [number])
        let next = number == 2 ? 3 : 2
        #expect(try Generations(store).add(noting: log) == next)
        let renewed = try Generations(store).renewRoot(
            openedBy: [SharedSecret(TestKeyring.secret())], droppingOthers: false, noting: log)
        #expect(renewed == next + 1)
        _ = try Shreds(store).shred(title.id, isQuick: false, noting: log)
        _ = try Shreds(store).finish(noting: log)
        #expect(store.keyring.currentGeneration == next + 2 && store.keyring.activeGenerations == [next + 2])
        try store.close()
        let keyring = try TemporaryVault.unlock(vault.keyringFile)
        #expect(keyring.currentGeneration == next + 2)
        try VaultStore.open(at: vault.folder, keyring: keyring, access: .owner).close()
    }

    @Test("Generations missing from the index get their rows despite the forged row", arguments: numbers)
    func catchingUp(_ number: Int64) throws {
        var store = try vault.open()
        try forge(store, [number])
        try store.close()
        let place = vault.keyringPlace()
        let keyring = try TemporaryVault.unlock(vault.keyringFile)
        // Simulates a power loss after the keyring is durable and before the index is updated.
        let made = try keyring.change(reading: place.read) {
            [try $0.addGeneration(now: 1, avoiding: [2]), try $0.addGeneration(now: 2)]
        } writing: {
            try place.write($0.bytes)
        }
        #expect(made == [3, 4])
        store = try VaultStore.open(at: vault.folder, keyring: keyring, access: .owner)
        #expect(try GenerationRows(store.index).generations().all.filter { made.contains($0) } == made)
        #expect(try GenerationRows(store.index).retiring().isEmpty)
        _ = try store.addMedia("film", length: 9)
        try store.close()
    }
}
