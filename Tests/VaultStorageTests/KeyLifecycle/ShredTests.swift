import GRDB
import SeededRandom
import Synchronization
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("An interrupted shred is finished later")
struct ShredTests {
    private static let bytes = SeededGenerator.bytes(60_000, seed: 89)

    @Test("A quick shred ends once its erasure was carried out, however recent the last one is")
    func quickErasure() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let ids = try ["first", "second"].map { try store.addMedia($0, length: 10).id }
        _ = try store.resources.remove(ids[0])
        #expect(try !store.erasure.isPending(), "premise")
        let log = vault.log(of: store)
        _ = try Shreds(store).shred(ids[1], isQuick: true, noting: log)
        #expect(try Shreds(store).finish(noting: log) == [])
        #expect(try !store.erasure.isPending())
        try store.close()
    }

    @Test(
        "After a power loss other titles are readable, a shredded title is whole or gone, and the shred is finished"
    )
    func powerLoss() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        let title = try store.addMedia("film", length: 60_000).id
        let other = try store.addMedia("other", length: 60_000).id
        for id in [title, other] {
            _ = try store.store(Self.bytes, at: 0, of: try #require(try store.index.resources.find(id)))
        }
        try store.catalogBackup.write()
        let isShredded = Mutex(false)
        let copies = try TemporaryFolder()
        let seed = UInt64.random(in: 0 ..< .max)
        let points = Mutex(0)
        disk.observe { call in
            let point = points.withLock {
                $0 += 1
                return $0
            }
            for outcome in UInt64(0)..<2 {
                let copy = copies.path + "/\(point)-\(outcome)"
                let comment: Comment = "before \(call.operation), point \(point), outcome \(outcome), seed \(seed)"
                do {
                    try disk.loseEverythingUnsynced(tearing: (seed &+ UInt64(point)) << 1 | outcome, into: copy)
                    let path = copy + "/keyring.json"
                    let keyring = try TemporaryVault.unlock(path)
                    let opened = try VaultStore.open(at: copy + "/vault", keyring: keyring, access: .owner)
                    try Self.check(opened, other, comment)
                    if isShredded.withLock({ $0 }) {
                        #expect(try opened.index.resources.find(title) == nil, comment)
                    } else if try opened.index.resources.find(title) != nil {
                        try Self.check(opened, title, comment)
                        let log = AuditLog(of: opened, at: KeyringPlace(path))
                        _ = try Shreds(opened).shred(title, isQuick: false, noting: log)
                    }
                    let kept = try Shreds(opened).finish(noting: AuditLog(of: opened, at: KeyringPlace(path)))
                    #expect(kept.isEmpty, comment)
                    #expect(keyring.activeGenerations == [keyring.currentGeneration], comment)
                    #expect(keyring.currentGeneration > 1, comment)
                    try Self.check(opened, other, comment)
                    #expect(try opened.index.settings().pendingShreds.isEmpty, comment)
                    let report = try AuditLog.report(on: copy + "/vault", keyring: keyring)
                    #expect(report.isSound, comment)
                    let receipts = report.receipts.filter { $0.act == .shred }
                    #expect(receipts.map(\.outcome) == [.destroyed], comment)
                    #expect(receipts.allSatisfy { $0.sequence <= KeyringReceipts(keyring).sequence }, comment)
                    try opened.close()
                } catch {
                    Issue.record(error, comment)
                }
                try? TemporaryFolder.remove(copy)
            }
        }
        let bytes = try Shreds(store).shred(title, isQuick: false, noting: vault.log(of: store))
        isShredded.withLock { $0 = true }
        #expect((bytes ?? 0) > 60_000)
        #expect(try Shreds(store).finish(noting: vault.log(of: store)).isEmpty)
        disk.observe(nil)
        #expect(points.withLock { $0 } > 30)
        try store.close()
    }

    private static func check(_ store: VaultStore, _ id: ResourceID, _ comment: Comment) throws {
        let resource = try #require(try store.index.resources.find(id), comment)
        let runs = try store.read(resource)
        #expect(runs.count == 1 && runs.first?.bytes == bytes, comment)
    }

    @Test("If a key does not open, its generation stays, and the receipt does not report destruction")
    func kept() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let title = try store.addMedia("film", length: 9).id
        let broken = try store.addMedia("broken", length: 9).id
        try store.index.write { db in
            try db.execute(
                sql: "UPDATE resourceKey SET wrapped = zeroblob(60) WHERE resource = ?", arguments: [broken.data])
        }
        _ = try Shreds(store).shred(title, isQuick: false, noting: vault.log(of: store))
        #expect(try Shreds(store).finish(noting: vault.log(of: store)) == [1])
        let report = try AuditLog.report(on: vault.folder, keyring: store.keyring)
        #expect(report.receipts.map(\.act) == [.rotate, .shred] && report.receipts.last?.outcome == .removed)
        try store.close()
    }

    @Test("A destroyed keyring is overwritten with zeros before its file is removed")
    func keyring() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        let last = Mutex<[UInt8]>([])
        disk.observe { call in
            guard call.operation == .remove, call.path == vault.keyringFile else { return }
            let bytes = try? PosixFileSystem().contents(of: vault.keyringFile)
            last.withLock { $0 = bytes ?? [] }
        }
        try KeyringFile.destroy(vault.keyringFile, fileSystem: disk)
        #expect(last.withLock { $0.count > 100 && $0.allSatisfy { $0 == 0 } })
        #expect(!PosixFileSystem().exists(vault.keyringFile))
    }
}
