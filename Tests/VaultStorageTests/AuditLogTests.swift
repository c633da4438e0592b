import Foundation
import Synchronization
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("Receipts outlive a crash, and the keyring counts them")
struct AuditLogTests {
    private let vault: TemporaryVault

    init() throws { vault = try TemporaryVault() }

    private var path: String { vault.folder + "/audit.log" }

    private func log(_ store: VaultStore) -> AuditLog { AuditLog(of: store, keyringFile: vault.keyringFile) }

    @Test("Each act adds a line, private to the owner, and the keyring's file counts it")
    func lines() throws {
        let store = try VaultStore.open(
            at: vault.folder, keyring: TemporaryVault.unlock(vault.keyringFile), access: .owner)
        let film = try store.addMedia("film", length: 1)
        let log = log(store)
        try log.note(.rotate)
        let second = try log.note(.shred, outcome: .destroyed, subject: film.id)
        try log.note(.rewrap, resources: 7)
        try store.close()
        #expect(try TemporaryFolder.mode(of: path) == 0o600)
        let keyring = try TemporaryVault.unlock(vault.keyringFile)
        #expect(keyring.receiptSequence == 3)
        let report = try AuditLog.report(on: vault.folder, keyring: keyring)
        #expect(report.isSound && report.receipts.map(\.act) == [.rotate, .shred, .rewrap])
        #expect(report.receipts[1] == second && second.subject?.count == 64)
        #expect(report.receipts[2].resources == 7 && report.receipts[0].generation == 1)
        let subject = try #require(keyring.auditSubject(of: film.id, locator: 1))
        #expect(second.subject == Hex.encode(subject))
    }

    @Test("No receipt raises what the index demands of a keyring: a copy made before still opens the vault")
    func olderKeyring() throws {
        let older = try TemporaryVault.unlock(vault.keyringFile)
        let store = try VaultStore.open(
            at: vault.folder, keyring: TemporaryVault.unlock(vault.keyringFile), access: .owner)
        try log(store).note(.backup)
        try store.close()
        try VaultStore.open(at: vault.folder, keyring: older, access: .reader).close()
    }

    @Test("What stands behind the last line end is cut off by the next receipt")
    func unfinishedLine() throws {
        let store = try VaultStore.open(
            at: vault.folder, keyring: TemporaryVault.unlock(vault.keyringFile), access: .owner)
        try log(store).note(.rotate)
        let bytes = try Data(contentsOf: URL(filePath: path))
        try (bytes + bytes.prefix(100)).write(to: URL(filePath: path))
        try log(store).note(.rewrap)
        let report = try AuditLog.report(on: vault.folder, keyring: store.keyring)
        #expect(report.isSound && report.receipts.map(\.sequence) == [1, 2])
        try store.close()
    }

    @Test("After lines were cut off, the next receipt does not hide that they are missing")
    func cutTail() throws {
        let store = try VaultStore.open(
            at: vault.folder, keyring: TemporaryVault.unlock(vault.keyringFile), access: .owner)
        try log(store).note(.rotate)
        let bytes = try Data(contentsOf: URL(filePath: path))
        try log(store).note(.rewrap)
        try bytes.write(to: URL(filePath: path))
        let cut = try AuditLog.report(on: vault.folder, keyring: store.keyring)
        #expect(cut.faults == [AuditFault(line: 2, kind: .cut)])
        try log(store).note(.retire)
        let report = try AuditLog.report(on: vault.folder, keyring: store.keyring)
        #expect(report.faults == [AuditFault(line: 2, kind: .sequence)])
        try store.close()
    }

    @Test("Whatever reached the disk: the log is sound, and holds every receipt that was given (C19)")
    func powerLoss() throws {
        let disk = vault.simulatedFileSystem()
        let store = try VaultStore.open(
            at: vault.folder, keyring: TemporaryVault.unlock(vault.keyringFile), access: .owner, fileSystem: disk)
        let log = log(store)
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
