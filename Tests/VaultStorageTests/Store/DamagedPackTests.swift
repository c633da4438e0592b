import Foundation
import GRDB
import Synchronization
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("Packs that were tampered with, damaged or cut off")
struct DamagedPackTests {
    private let files = PackedFiles()

    @Test(
        "A row that was changed, moved or exchanged opens nothing, and the others are not affected",
        arguments: [
            "UPDATE packedPart SET entry = (SELECT entry FROM packedPart WHERE id = :two) WHERE id = :one",
            "UPDATE packedPart SET pack = :other WHERE id = :one",
            "DELETE FROM packedPart WHERE id = :two; UPDATE packedPart SET id = :two WHERE id = :one",
            "UPDATE packedPart SET entry = substr(entry, 1, 40) || x'0000000000000000' || substr(entry, 49) WHERE id = :one",
            "UPDATE packedPart SET entry = x'' WHERE id = :one",
        ])
    func tampered(_ sql: String) throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let pack = try files.store(in: store)
        let other = try PackedFiles("other-", seed: 99).store(in: store, title: [9])
        try store.close()
        let queue = try DatabaseQueue(path: vault.folder + "/index.sqlite")
        let (one, two) = (try PackedFiles.id(of: "1.ts", in: store), try PackedFiles.id(of: "2.ts", in: store))
        let values = ["one": one.data, "two": two.data, "other": other.id.data]
        try queue.write { db in
            for part in sql.split(separator: ";").map(String.init) {
                try db.execute(sql: part, arguments: StatementArguments(values.filter { part.contains(":" + $0.key) }))
            }
        }
        try queue.close()
        let again = try vault.open()
        let wrong = sql.hasPrefix("DELETE") ? two : one
        let error = #expect(throws: VaultError.self) { try again.index.resources.find(wrong) }
        #expect(error?.code == .integrity)
        let third = try #require(try again.index.resources.find(PackedFiles.id(of: "3.ts", in: again)))
        #expect(try again.read(third).map(\.bytes) == [files.contents[2]])
        let owning = sql.contains(":other") ? other : pack
        let reread = try #require(try again.index.resources.find(owning.id))
        #expect(try again.index.packs.parts(of: reread).unopened == 1)
        try again.index.packs.dropUnopened(of: reread)
        #expect(try again.index.packs.parts(of: reread).unopened == 0)
        #expect(try again.index.resources.find(wrong) == nil, "it can be fetched again")
        try again.close()
    }

    @Test("An index that names a segment twice gives the right bytes, or none")
    func twice() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let pack = try files.store(in: store)
        let segment = try #require(try store.index.resources.find(pack.id)?.serving?.segments.first)
        try store.segments.invalidate(segment, for: .badBlock(0))
        try store.close()
        let queue = try DatabaseQueue(path: vault.folder + "/index.sqlite")
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA writable_schema = ON;
                    CREATE TABLE twice (representation, start, id, number,
                        PRIMARY KEY (representation, start, id, number)) WITHOUT ROWID;
                    INSERT INTO twice SELECT representation, start, id, 1 FROM segment;
                    INSERT INTO twice SELECT representation, start, id, 2 FROM segment;
                    UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'twice')
                        WHERE name = 'segmentByPlace';
                    DELETE FROM sqlite_master WHERE name = 'twice';
                    """)
        }
        try queue.close()
        let again = try vault.open()
        let last = try #require(try again.index.resources.find(PackedFiles.id(of: "5.ts", in: again)))
        #expect(last.serving?.segments.count == 2, "the premise")
        #expect(try again.read(last).allSatisfy { $0.bytes == files.contents[4] })
        try again.close()
    }

    @Test("A pack that was cut short loses the files at its end, and gives no wrong byte")
    func cut() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let pack = try files.store(in: store)
        let segment = try #require(try store.index.resources.find(pack.id)?.serving?.segments.first)
        let file = try PosixFileSystem().open(vault.path(of: segment.id), writable: true)
        try file.truncate(to: segment.fileOffset(ofBlock: 3))
        let first = try #require(try store.index.resources.find(PackedFiles.id(of: "1.ts", in: store)))
        #expect(try store.read(first).map(\.bytes) == [files.contents[0]])
        let last = try #require(try store.index.resources.find(PackedFiles.id(of: "5.ts", in: store)))
        #expect(throws: SegmentFailure.self) { try store.read(last) }
        try store.close()
    }

    @Test("After a power loss at any point, each recorded file has its bytes, and promised ones are recorded")
    func powerLoss() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        let copies = try TemporaryFolder()
        let seed = UInt64.random(in: 0 ..< .max)
        let points = Mutex(UInt64(0))
        let promised = Mutex(0)
        @Sendable func losePower(_ what: String) {
            let point = points.withLock {
                $0 += 1
                return $0
            }
            for outcome in UInt64(0)..<3 {
                let copy = copies.path + "/\(point)-\(outcome)"
                let comment: Comment = "power loss \(point) \(what), seed \(seed), outcome \(outcome)"
                do {
                    try disk.loseEverythingUnsynced(tearing: (seed &+ point) << 2 | outcome, into: copy)
                    try check(copy, vault.keyring, promised: promised.withLock { $0 }, comment)
                    try TemporaryFolder.remove(copy)
                } catch {
                    Issue.record(error, comment)
                }
            }
        }
        disk.observe { losePower("before \($0.operation)") }
        let pack = try PackedFiles.addPack(to: store)
        var waiting: [PackedPart] = []
        var writer = try store.segments.begin(at: 0, of: pack)
        for index in files.names.indices {
            waiting.append(try files.part(index, at: writer.end, in: store))
            try writer.append(files.contents[index][...])
            _ = try store.segments.checkpoint(&writer, recording: &waiting, in: pack.id)
            promised.withLock { $0 = index + 1 - waiting.count }
        }
        _ = try store.segments.close(writer, recording: &waiting, in: pack.id)
        promised.withLock { $0 = files.names.count }
        losePower("at the end")
        disk.observe(nil)
        #expect(points.withLock { $0 } > 10)
    }

    private func check(_ copy: String, _ keyring: Keyring, promised: Int, _ comment: Comment) throws {
        let store = try VaultStore.open(at: copy + "/vault", keyring: keyring, access: .owner)
        for (index, name) in files.names.enumerated() {
            guard let file = try store.index.resources.find(PackedFiles.id(of: name, in: store)) else {
                #expect(index >= promised, "\(name) \(comment)")
                continue
            }
            #expect(try store.read(file).flatMap(\.bytes) == files.contents[index], "\(name) \(comment)")
        }
        try store.close()
    }
}
