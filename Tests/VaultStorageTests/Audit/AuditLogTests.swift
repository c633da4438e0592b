import Foundation
import GRDB
import Synchronization
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("Receipts survive a crash, and the keyring counts them")
struct AuditLogTests {
    private let vault: TemporaryVault

    init() throws { vault = try TemporaryVault() }

    private var path: String { vault.folder + "/audit.log" }

    @Test("Each key operation appends a line to a private log, and the keyring file counts it")
    func lines() throws {
        let store = try VaultStore.open(
            at: vault.folder, keyring: TemporaryVault.unlock(vault.keyringFile), access: .owner)
        let title = try store.addMedia("film", length: 1)
        let log = vault.log(of: store)
        try log.note(.rotate)
        let second = try log.note(.shred, outcome: .destroyed, subject: title.id)
        try log.note(.rewrap, resources: 7)
        try store.close()
        #expect(try TemporaryFolder.mode(of: path) == 0o600)
        let keyring = try TemporaryVault.unlock(vault.keyringFile)
        #expect(KeyringReceipts(keyring).sequence == 3)
        let report = try AuditLog.report(on: vault.folder, keyring: keyring)
        #expect(report.isSound && report.receipts.map(\.act) == [.rotate, .shred, .rewrap])
        #expect(report.receipts[1] == second && second.subject?.count == 64)
        #expect(report.receipts[2].resources == 7 && report.receipts[0].generation == 1)
        let subject = try #require(KeyringReceipts(keyring).subject(of: title.id, locator: 1))
        #expect(second.subject == Hex.encode(subject))
    }

    @Test("Receipts do not raise the keyring revision that the index requires, so an earlier copy opens the vault")
    func olderKeyring() throws {
        let older = try TemporaryVault.unlock(vault.keyringFile)
        let store = try VaultStore.open(
            at: vault.folder, keyring: TemporaryVault.unlock(vault.keyringFile), access: .owner)
        try vault.log(of: store).note(.backup)
        try store.close()
        try VaultStore.open(at: vault.folder, keyring: older, access: .reader).close()
    }

    @Test("The next receipt cuts off an unfinished last line")
    func unfinishedLine() throws {
        let store = try VaultStore.open(
            at: vault.folder, keyring: TemporaryVault.unlock(vault.keyringFile), access: .owner)
        try vault.log(of: store).note(.rotate)
        let bytes = try Data(contentsOf: URL(filePath: path))
        try (bytes + bytes.prefix(100)).write(to: URL(filePath: path))
        try vault.log(of: store).note(.rewrap)
        let report = try AuditLog.report(on: vault.folder, keyring: store.keyring)
        #expect(report.isSound && report.receipts.map(\.sequence) == [1, 2])
        try store.close()
    }

    @Test("One write of the keyring stores a key operation and its receipt, and a refused one leaves no line")
    func oneWrite() throws {
        let store = try vault.open()
        let (log, revision) = (vault.log(of: store), store.keyring.revision)
        #expect(try Generations(store).add(noting: log) == 2)
        #expect(store.keyring.revision == revision + 1 && KeyringReceipts(store.keyring).sequence == 1)
        let before = try Data(contentsOf: URL(filePath: path))
        let refusal = #expect(throws: VaultError.self) {
            try log.change(.retire) { (edit: inout KeyringEdit) in try edit.retireGeneration(2) }
        }
        #expect(refusal?.code == .inUse)
        // The keyring's folder does not exist, so the line is removed again.
        let place = KeyringPlace(vault.folder + "/nowhere/keyring.json")
        #expect(throws: VaultError.self) { _ = try Generations(store).add(noting: AuditLog(of: store, at: place)) }
        #expect(try Data(contentsOf: URL(filePath: path)) == before)
        #expect(try AuditLog.report(on: vault.folder, keyring: store.keyring).isSound)
        try store.close()
    }

    @Test("If the index cannot be written, for example on a full disk, neither keyring nor log changes")
    func indexFirst() throws {
        let store = try vault.open()
        let before = try vault.keyringPlace().read()
        try store.index.write { db in
            try db.execute(
                sql: "CREATE TEMP TRIGGER full BEFORE UPDATE ON vault BEGIN SELECT RAISE(ABORT, 'full'); END")
        }
        #expect(throws: VaultError.self) { _ = try Generations(store).add(noting: vault.log(of: store)) }
        #expect(try vault.keyringPlace().read() == before && store.keyring.currentGeneration == 1)
        #expect(try AuditLog.report(on: vault.folder, keyring: store.keyring).receipts.isEmpty)
        try store.index.write { db in try db.execute(sql: "DROP TRIGGER full") }
        #expect(try Generations(store).add(noting: vault.log(of: store)) == 2)
        try store.close()
    }

    @Test("If the keyring cannot be written, its line is removed from the log")
    func takenBack() throws {
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        let log = vault.log(of: store)
        _ = try Generations(store).add(noting: log)
        let before = try Data(contentsOf: URL(filePath: path))
        disk.fail(.create, of: "keyring.json", with: FileFailure(.noSpace, "no space"))
        #expect(throws: VaultError.self) { _ = try Generations(store).add(noting: log) }
        #expect(try Data(contentsOf: URL(filePath: path)) == before)
        #expect(store.keyring.currentGeneration == 2)
        #expect(try Generations(store).add(noting: log) == 3)
        #expect(try AuditLog.report(on: vault.folder, keyring: store.keyring).receipts.map(\.generation) == [2, 3])
        try store.close()
    }

    @Test("After restoring a backup from before a new root key, numbers continue and all lines stay valid")
    func restoredRoot() throws {
        let store = try vault.open()
        let (log, place) = (vault.log(of: store), vault.keyringPlace())
        try log.note(.rewrap)
        let (backup, keyring) = (try place.read(), try TemporaryVault.unlock(vault.keyringFile))
        _ = try Generations(store).renewRoot(
            openedBy: [SharedSecret(TestKeyring.secret())], droppingOthers: false, noting: log)
        for _ in 0..<2 { try log.note(.rewrap) }
        try store.close()
        let renewed = try TemporaryVault.unlock(vault.keyringFile)
        #expect(try KeyringReceipts(renewed).anchor().publicKey != KeyringReceipts(keyring).anchor().publicKey)
        #expect(try AuditLog.report(on: vault.folder, keyring: renewed).isSound)
        try AuditLog.restore(backup, of: keyring, at: place, in: vault.folder)
        let restored = try TemporaryVault.unlock(vault.keyringFile)
        #expect(KeyringReceipts(restored).sequence == 5)
        let report = try AuditLog.report(on: vault.folder, keyring: restored)
        #expect(report.isSound && report.receipts.map(\.sequence) == [1, 2, 3, 4, 5])
    }

    @Test("If a new root key cannot be written, the former key goes on signing and a second attempt succeeds")
    func unwrittenRoot() throws {
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        let log = vault.log(of: store)
        let renew = {
            _ = try Generations(store).renewRoot(
                openedBy: [SharedSecret(TestKeyring.secret())], droppingOthers: false, noting: log)
        }
        disk.fail(.create, of: "keyring.json", with: FileFailure(.noSpace, "no space"))
        #expect(throws: VaultError.self) { try renew() }
        try log.note(.rewrap)
        try renew()
        try log.note(.rewrap)
        try store.close()
        let report = try AuditLog.report(on: vault.folder, keyring: TemporaryVault.unlock(vault.keyringFile))
        #expect(report.isSound && report.receipts.map(\.act) == [.rewrap, .rotateRoot, .rewrap])
        #expect(try AuditLog.report(on: vault.folder, keyring: nil).isSound)
    }

    @Test("If the keyring's name cannot be made durable, file, memory and log stay unchanged")
    func unsyncedKeyring() throws {
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        let log = vault.log(of: store)
        try log.note(.rewrap)
        let (keyring, lines) = (try vault.keyringPlace().read(), try Data(contentsOf: URL(filePath: path)))
        let failure = FileFailure(.other(5), "fsync: Input/output error")
        disk.fail(.synchronizeDirectory, of: vault.above.path, with: failure)
        #expect(throws: VaultError.self) { _ = try Generations(store).add(noting: log) }
        #expect(try vault.keyringPlace().read() == keyring && Data(contentsOf: URL(filePath: path)) == lines)
        #expect(store.keyring.currentGeneration == 1)
        #expect(try Generations(store).add(noting: log) == 2)
        #expect(try AuditLog.report(on: vault.folder, keyring: store.keyring).isSound)
        try store.close()
    }

    @Test("If the keyring cannot be written, neither the restore nor its receipt takes effect")
    func restored() throws {
        let disk = vault.simulatedFileSystem()
        let place = vault.keyringPlace(fileSystem: disk)
        let bytes = try place.read()
        let restore = {
            try AuditLog.restore(bytes, of: vault.keyring, at: place, in: vault.folder, fileSystem: disk)
        }
        let receipts = { try AuditLog.report(on: vault.folder, keyring: vault.keyring).receipts.map(\.act) }
        disk.fail(.create, of: "keyring.json", with: FileFailure(.noSpace, "no space"))
        #expect(throws: VaultError.self) { try restore() }
        #expect(try receipts().isEmpty && place.holds(bytes))
        try restore()
        #expect(try receipts() == [.restore] && KeyringReceipts(TemporaryVault.unlock(vault.keyringFile)).sequence == 1)
    }

    @Test("The next receipt does not hide that earlier lines were cut off")
    func cutTail() throws {
        let store = try VaultStore.open(
            at: vault.folder, keyring: TemporaryVault.unlock(vault.keyringFile), access: .owner)
        try vault.log(of: store).note(.rotate)
        let bytes = try Data(contentsOf: URL(filePath: path))
        try vault.log(of: store).note(.rewrap)
        try bytes.write(to: URL(filePath: path))
        let cut = try AuditLog.report(on: vault.folder, keyring: store.keyring)
        #expect(cut.faults == [AuditFault(line: 2, kind: .cut)])
        try vault.log(of: store).note(.retire)
        let report = try AuditLog.report(on: vault.folder, keyring: store.keyring)
        #expect(report.faults == [AuditFault(line: 2, kind: .sequence)])
        try store.close()
    }

    @Test("The end of a line is written once the line is durable, because a disk may keep the end of a write alone")
    func order() throws {
        let disk = vault.simulatedFileSystem()
        let store = try VaultStore.open(
            at: vault.folder, keyring: TemporaryVault.unlock(vault.keyringFile), access: .owner, fileSystem: disk)
        let log = vault.log(of: store)
        for _ in 0..<2 {
            let acts = Mutex<[FileOperation]>([])
            disk.observe { call in
                if call.path.hasSuffix("/audit.log") { acts.withLock { $0.append(call.operation) } }
            }
            try log.note(.rotate)
            disk.observe(nil)
            let written = acts.withLock { $0 }.drop { $0 != .write }
            #expect(Array(written) == [.write, .synchronize, .write, .synchronize])
        }
        try store.close()
    }

    @Test("After a power loss at any point the log is sound and contains every receipt that was returned")
    func powerLoss() throws {
        let disk = vault.simulatedFileSystem()
        let store = try VaultStore.open(
            at: vault.folder, keyring: TemporaryVault.unlock(vault.keyringFile), access: .owner, fileSystem: disk)
        let log = vault.log(of: store)
        let given = Mutex(0)
        let points = Mutex(0)
        let copies = try TemporaryFolder()
        let seed = UInt64.random(in: 0 ..< .max)
        disk.observe { call in
            let point = points.withLock {
                $0 += 1
                return $0
            }
            for outcome in UInt64(0)..<4 {
                let copy = copies.path + "/\(point)-\(outcome)"
                let comment: Comment = "before \(call.operation), point \(point), outcome \(outcome), seed \(seed)"
                do {
                    try disk.loseEverythingUnsynced(tearing: (seed &+ UInt64(point)) << 2 | outcome, into: copy)
                    let report = try AuditLog.report(
                        on: copy + "/vault", keyring: TemporaryVault.unlock(copy + "/keyring.json"))
                    #expect(report.isSound, comment)
                    #expect(report.receipts.count >= given.withLock { $0 }, comment)
                } catch {
                    Issue.record(error, comment)
                }
                try? TemporaryFolder.remove(copy)
            }
        }
        for _ in 0..<3 {
            try log.note(.rotate)
            given.withLock { $0 += 1 }
        }
        disk.observe(nil)
        #expect(points.withLock { $0 } > 20)
        try store.close()
    }
}
