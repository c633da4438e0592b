import Foundation
import GRDB
import OriginTestSupport
import Synchronization
import Testing
import VaultCrypto
import VaultModel
import VaultStorage
import VaultTestSupport

@testable import MediaVault

@Suite("Backing up and restoring the keyring", .timeLimit(.minutes(5)))
struct KeyringRestoreTests {
    private let fixture: VaultFixture
    private let folder: TemporaryFolder
    private let drawer: Unlock
    private var backup: String { folder.path + "/backup.json" }
    private var keyring: String { fixture.place.keyring }

    init() async throws {
        fixture = try await VaultFixture(ScriptedResource(length: 90_000))
        folder = try TemporaryFolder()
        drawer = .passphrase(try Passphrase(copying: Array("drawer".utf8)))
    }

    /// Fills the vault, backs up the keyring, and runs `body` before the vault is closed.
    private func backedUp(_ body: (Vault) async throws -> Void = { _ in }) async throws {
        let vault = try await fixture.open()
        _ = try await fixture.read(vault)
        try await vault.keys.backUp(to: backup, for: NewSlot(drawer, strength: .least))
        try await body(vault)
        await vault.close()
    }

    private func restore(force: Bool = false, adding newSlot: NewSlot? = nil) async throws -> RestoreReport {
        try await KeyAdministration.restore(fixture.place, from: backup, unlock: drawer, adding: newSlot, force: force)
    }

    private func refusal(force: Bool = false) async throws -> VaultError {
        let before = FileManager.default.contents(atPath: keyring)
        let error = await #expect(throws: VaultError.self) { try await restore(force: force) }
        #expect(FileManager.default.contents(atPath: keyring) == before, "the keyring was changed")
        return try #require(error)
    }

    private func expectHeld(_ unlock: Unlock) async throws {
        let vault = try await Vault.open(fixture.place, unlock: unlock, options: VaultOptions(mode: .offline))
        #expect(try await fixture.read(vault) == 0..<90_000)
        await vault.close()
    }

    @Test("A generation created between counting and writing a backup is in the backup and is counted")
    func rotatedBehindCount() async throws {
        let vault = try await fixture.open()
        var counts = 0
        try await vault.keys.orders.backUp(to: backup, for: NewSlot(drawer, strength: .least)) { order in
            try await vault.keys.carryOut(order)
            counts += 1
            if counts == 1 { _ = try await vault.keys.rotate() }
        }
        await vault.close()
        #expect(counts == 2)
        let held = try KeyringReader.unauthenticated(KeyringFile.read(backup)).generations
        let counted = try KeyringReader.unauthenticated(KeyringFile.read(keyring)).generations
        #expect(held.map(\.number) == [1, 2] && held.map(\.backups) == [2, 1] && counted.map(\.backups) == [2, 1])
    }

    @Test("A backup has mode 0600, opens only with its passphrase, and is counted; an existing file is kept")
    func made() async throws {
        try await backedUp { vault in
            let taken = await #expect(throws: VaultError.self) {
                try await vault.keys.backUp(to: backup, for: NewSlot(drawer, strength: .least))
            }
            #expect(taken?.code == .invalidArgument)
            let revision = try await vault.keys.summary().revision
            #expect(revision == 2, "a backup that was not written is not counted")
            let keyed = await #expect(throws: VaultError.self) {
                try await vault.keys.backUp(to: folder.path + "/keyed", for: NewSlot(fixture.unlock))
            }
            #expect(keyed?.code == .invalidArgument)
        }
        #expect(try FileManager.default.attributesOfItem(atPath: backup)[.posixPermissions] as? Int == 0o600)
        let slots = try await KeyringSummary.read(backup).slots
        #expect(slots.map(\.method) == ["passphrase"])
        for file in [keyring, backup] {
            let document = try KeyringReader.unauthenticated(KeyringFile.read(file))
            #expect(document.generations.map(\.backups) == [1] && document.revision == 2)
        }
        try await expectHeld(fixture.unlock)
    }

    @Test("Destroying a vault counts the backups of all generations, also those that no generation has in common")
    func backupsOfAllGenerations() async throws {
        let vault = try await fixture.open()
        _ = try await fixture.read(vault)
        for number in 1...2 {
            try await vault.keys.backUp(to: folder.path + "/\(number)", for: NewSlot(drawer, strength: .least))
            _ = try await vault.keys.rotate()
            for try await _ in vault.keys.rewrap() {}
            _ = try await vault.keys.retire(number)
        }
        let report = try await vault.destroy(vaultID: vault.status().vaultID)
        #expect(report.backups == 2 && report.titles == 1)
    }

    @Test("A restore of a backup from before a rotation says which generation is current again, and which is lost")
    func undoneRotation() async throws {
        try await backedUp { vault in _ = try await vault.keys.rotate() }
        let report = try await restore(force: true)
        #expect(report.current == 1 && report.lostGenerations == [2])
        try await backedUpAgain()
        let again = try await restore()
        #expect(again.current == 1 && again.lostGenerations.isEmpty)
    }

    private func backedUpAgain() async throws {
        try FileManager.default.removeItem(atPath: backup)
        let vault = try await fixture.open()
        try await vault.keys.backUp(to: backup, for: NewSlot(drawer, strength: .least))
        await vault.close()
    }

    @Test("A second restore with the same new key adds no second slot for it")
    func restoredTwice() async throws {
        try await backedUp()
        let key = NewSlot(.keyFile(path: folder.path + "/new.key"))
        let slots = try await restore(adding: key).slots
        let again = try await restore(adding: key).slots
        #expect(again == slots && slots.count == 3)
    }

    @Test("A restore replaces a lost, damaged or healthy keyring, keeps a copy of it, and opens the vault")
    func replaced() async throws {
        try await backedUp()
        let healthy = try Data(contentsOf: URL(filePath: keyring))
        for (number, content) in [nil, healthy.prefix(100), healthy].enumerated() {
            try? FileManager.default.removeItem(atPath: keyring)
            if let content { try content.write(to: URL(filePath: keyring)) }
            let report = try await restore(adding: NewSlot(fixture.unlock))
            #expect(report.warnings.isEmpty && report.generations == [1] && report.revision == Int64(3 + number))
            #expect(report.kept.flatMap { FileManager.default.contents(atPath: $0) } == content)
            try await expectHeld(fixture.unlock)
        }
        let audit = try await KeyAdministration.audit(fixture.place, unlock: drawer)
        #expect(audit.isSound && audit.receipts.map(\.act) == [.backup, .restore, .restore, .restore])
        try await expectHeld(drawer)
        #expect(try FileManager.default.attributesOfItem(atPath: keyring)[.posixPermissions] as? Int == 0o600)
    }

    @Test("If the index is lost, a restore checks the backup against catalog.backup, and a rebuild succeeds")
    func lostIndex() async throws {
        try await backedUp()
        try FileManager.default.removeItem(atPath: keyring)
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: fixture.place.folder + "/index.sqlite" + suffix)
        }
        _ = try await restore()
        _ = try await Vault.rebuildIndex(fixture.place, unlock: drawer)
        try await expectHeld(drawer)
    }

    @Test("A wrong passphrase, a damaged or foreign backup, and an owned vault are refused")
    func refused() async throws {
        try await backedUp()
        let wrong = await #expect(throws: VaultError.self) {
            try await KeyAdministration.restore(
                fixture.place, from: backup, unlock: .passphrase(Passphrase(copying: Array("attic".utf8))))
        }
        #expect(wrong?.code == .wrongKey)
        let vault = try await fixture.open()
        #expect(try await refusal().code == .owned)
        await vault.close()
        let other = try await VaultFixture(ScriptedResource(length: 1))
        let theirs = try await other.open()
        try FileManager.default.removeItem(atPath: backup)
        try await theirs.keys.backUp(to: backup, for: NewSlot(drawer, strength: .least))
        await theirs.close()
        #expect(try await refusal(force: true).code == .foreignKeyring)
        try Data("{}".utf8).write(to: URL(filePath: backup))
        #expect(try await refusal(force: true).code == .damagedKeyring)
    }

    @Test("Links that were revoked after the backup stay revoked")
    func revoked() async throws {
        let address = Mutex<String?>(nil)
        try await backedUp { vault in
            let path = vault.tokens.playbackPath(for: fixture.url, expires: 4_000_000_000)
            address.withLock { $0 = path }
            try await vault.keys.revokeLinks()
        }
        let path = try #require(address.withLock { $0 })
        #expect(try await restore().warnings.isEmpty)
        let tokens = try await TokenIssuer.open(keyring: keyring, unlock: drawer)
        #expect(tokens.reference(ofTarget: path, now: 0) == nil)
        try await expectHeld(drawer)
    }

    @Test("A backup from before a retirement warns, needs force, and does not bring the key back")
    func retired() async throws {
        let vault = try await fixture.open()
        _ = try await vault.keys.rotate()
        _ = try await fixture.read(vault)
        try await vault.keys.backUp(to: backup, for: NewSlot(drawer, strength: .least))
        _ = try await vault.keys.retire(1)
        await vault.close()
        let error = try await refusal()
        #expect(error.code == .olderKeyring && error.message.contains("generation 1, which was retired"))
        // Only the index knows of the retirement then.
        try FileManager.default.removeItem(atPath: keyring)
        let report = try await restore(force: true)
        #expect(report.generations == [2] && report.warnings.count == 1)
        let document = try KeyringReader.unauthenticated(KeyringFile.read(keyring))
        #expect(document.generations.map { $0.key == nil } == [true, false])
        #expect(document.sealsRecordsByGeneration, "the key of records of earlier versions opens none any more")
        try await expectHeld(drawer)
    }

    @Test("A backup from before a rotation opens some titles, and needs force to give up the others")
    func lacking() async throws {
        try await backedUp { vault in
            _ = try await vault.keys.rotate()
            let other = fixture.origin.url("/other.mp4")
            for try await _ in try await vault.read(other) {}
        }
        let error = try await refusal()
        #expect(
            error.code == .olderKeyring && error.message.contains("generation 2")
                && error.message.contains("1 title no longer opens"))
        #expect(try await restore(force: true).generations == [1])
        try await expectHeld(drawer)
    }

    @Test("A restore from before a root rotation continues the audit log, which stays sound")
    func beforeRoot() async throws {
        try await backedUp { vault in
            _ = try await vault.keys.rotateRoot(unlockedBy: [fixture.unlock])
            try await vault.keys.revokeLinks()
        }
        _ = try await restore()
        let audit = try await KeyAdministration.audit(fixture.place, unlock: drawer)
        #expect(audit.isSound && audit.receipts.map(\.act) == [.backup, .rotateRoot, .revokeLinks, .restore])
        try await expectHeld(drawer)
    }

    @Test("A backup whose keys were all replaced is refused, even with force")
    func useless() async throws {
        let vault = try await fixture.open()
        try await vault.keys.backUp(to: backup, for: NewSlot(drawer, strength: .least))
        _ = try await vault.keys.rotate()
        for try await _ in vault.keys.rewrap() {}
        _ = try await vault.keys.retire(1)
        _ = try await fixture.read(vault)
        await vault.close()
        #expect(try await refusal(force: true).code == .olderKeyring)
    }

    // MARK: Slots

    private func keyFile(_ name: String) -> Unlock { .keyFile(path: folder.path + "/" + name) }

    private func opens(_ unlock: Unlock) async throws -> Bool {
        do {
            let vault = try await Vault.open(fixture.place, unlock: unlock, options: VaultOptions(access: .reader))
            await vault.close()
            return true
        } catch let error as VaultError where error.code == .wrongKey {
            return false
        }
    }

    @Test("A restore keeps the present slots beside the backup's, and a removed slot does not come back")
    func slotsStay() async throws {
        try await backedUp { vault in
            for name in ["second", "third"] { try await vault.keys.addSlot(NewSlot(keyFile(name), label: name)) }
            try await vault.keys.removeSlot(2)
        }
        let report = try await restore()
        #expect(report.slots.map(\.label) == ["first", "third", "backup"] && report.lostSlots.isEmpty)
        #expect(report.slots.map(\.number) == [1, 3, 4])
        for way in [fixture.unlock, keyFile("third"), drawer] { try await expectHeld(way) }
        #expect(try await !opens(keyFile("second")))
        // The backup's slot already exists and is not added again.
        #expect(try await restore().slots.map(\.number) == [1, 3, 4])
        let dropped = try await KeyAdministration.restore(
            fixture.place, from: backup, unlock: drawer, adding: NewSlot(keyFile("fourth")), keepingSlots: false)
        #expect(dropped.slots.map(\.label) == ["backup", "key-file"])
        #expect(dropped.lostSlots.map(\.number) == [1, 3, 4])
        #expect(try await !opens(fixture.unlock))
        #expect(try await opens(keyFile("fourth")))
    }

    @Test("If the kept slots leave none for the backup, nothing is restored unless they are dropped")
    func fullSlots() async throws {
        let names = (2...16).map { "slot-\($0)" }
        try await backedUp { vault in
            for name in names { try await vault.keys.addSlot(NewSlot(keyFile(name), label: name)) }
            let full = await #expect(throws: VaultError.self) { try await vault.keys.addSlot(NewSlot(keyFile("more"))) }
            #expect(full?.code == .inUse && !FileManager.default.fileExists(atPath: folder.path + "/more"))
        }
        #expect(try await refusal().code == .inUse)
        #expect(try await opens(keyFile(names[0])))
        let dropped = try await KeyAdministration.restore(
            fixture.place, from: backup, unlock: drawer, keepingSlots: false)
        #expect(dropped.slots.map(\.label) == ["backup"] && dropped.lostSlots.count == 16)
        try await expectHeld(drawer)
    }

    @Test("Slots of an outdated keyring, or of one with another root key, are not kept")
    func slotsGo() async throws {
        try await backedUp()
        let older = try Data(contentsOf: URL(filePath: keyring))
        var vault = try await fixture.open()
        try await vault.keys.addSlot(NewSlot(keyFile("second")))
        await vault.close()
        try older.write(to: URL(filePath: keyring))
        let report = try await restore()
        #expect(report.slots.map(\.label) == ["backup"] && report.lostSlots.map(\.label) == ["first"])
        #expect(try await !opens(fixture.unlock))
        vault = try await Vault.open(fixture.place, unlock: drawer)
        _ = try await vault.keys.rotateRoot(unlockedBy: [drawer])
        try await vault.keys.addSlot(NewSlot(keyFile("third"), label: "third"))
        await vault.close()
        let other = try await restore()
        #expect(other.slots.map(\.label) == ["backup"] && other.lostSlots.map(\.label) == ["backup", "third"])
        #expect(try await !opens(keyFile("third")))
        try await expectHeld(drawer)
    }

    @Test(
        "An impossible keyring revision in the index is ignored or needs force, and the keyring can still change",
        arguments: [.max, 1 << 53, (1 << 53) - 4, 1 << 33] as [Int64])
    func forgedRevision(_ revision: Int64) async throws {
        try await backedUp()
        let index = try DatabaseQueue(path: fixture.place.folder + "/index.sqlite")
        try await index.write { db in
            try db.execute(sql: "UPDATE vault SET keyringRevision = ?", arguments: [revision])
        }
        try index.close()
        if revision >= 1 << 53 {
            // No keyring can have this revision: the row is damaged, and `catalog.backup` is used instead.
            #expect(try await restore().revision < 1 << 34)
        } else {
            let error = try await refusal()
            #expect(error.code == .olderKeyring && error.message.contains("rebuild the index"))
            let report = try await restore(force: true)
            #expect(report.revision < 1 << 34 && report.warnings.count == 1)
        }
        let opening = await #expect(throws: VaultError.self) { _ = try await Vault.open(fixture.place, unlock: drawer) }
        #expect(revision == 1 << 33 || opening?.code == .integrity)
        _ = try await Vault.rebuildIndex(fixture.place, unlock: drawer, evenIfSound: true)
        let vault = try await Vault.open(fixture.place, unlock: drawer)
        for _ in 0..<5 { _ = try await vault.keys.rotate() }
        await vault.close()
        try await expectHeld(drawer)
    }

    // MARK: Power loss

    @Test("After a power loss during a change or a restore, the keyring is either the old or the new one")
    func powerLoss() async throws {
        try await backedUp()
        let root = PosixFileSystem.folder(of: keyring)
        let copies = try TemporaryFolder()
        let taken = Mutex(0)
        // Every version of the keyring file.
        let seen = Mutex<Set<Data>>([])
        let disk = SimulatedFileSystem(root: root)
        let keyring = keyring
        disk.observe { _ in
            if let there = FileManager.default.contents(atPath: keyring) { seen.withLock { _ = $0.insert(there) } }
            for seed in UInt64(0)..<8 {
                let number = taken.withLock { taken in
                    defer { taken += 1 }
                    return taken
                }
                do {
                    try disk.loseEverythingUnsynced(tearing: seed, into: copies.path + "/\(number)")
                } catch {
                    Issue.record(error)
                }
            }
        }
        let second = PosixFileSystem.folder(of: keyring) + "/second.json"
        var options = VaultOptions()
        options.fileSystem = disk
        let vault = try await Vault.open(fixture.place, unlock: fixture.unlock, options: options)
        try await vault.keys.replaceSlot(with: NewSlot(.keyFile(path: folder.path + "/new")))
        try await vault.keys.backUp(to: second, for: NewSlot(drawer, strength: .least))
        await vault.close()
        _ = try KeyringRestore(place: fixture.place, file: backup, unlock: drawer, fileSystem: disk).run()
        let last = try #require(FileManager.default.contents(atPath: keyring))
        let allowed = seen.withLock { $0 }.union([last])
        let count = taken.withLock { $0 }
        #expect(count > 80)
        for number in 0..<count {
            let left = FileManager.default.contents(atPath: copies.path + "/\(number)/keyring.json")
            #expect(left.map { allowed.contains($0) } == true, "cut \(number)")
            // A backup is complete and counted, or absent.
            guard let copy = FileManager.default.contents(atPath: copies.path + "/\(number)/second.json") else {
                continue
            }
            #expect(copy == FileManager.default.contents(atPath: second), "cut \(number)")
            let counted = try KeyringReader.unauthenticated(Array(#require(left))).generations.map(\.backups)
            // The restored keyring comes from the earlier backup, and has its count.
            #expect(counted == [2] || left == last, "cut \(number)")
        }
        #expect(allowed.count == 4, "before, after each of two changes, and restored")
    }
}
