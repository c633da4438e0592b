import Foundation
import SeededRandom
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("The vault does not trust its folder: removed locks, links, an endless log")
struct UntrustedFolderTests {
    private let vault: TemporaryVault
    private let resource: ResourceID
    private let bytes = SeededGenerator.bytes(100, seed: 1)

    init() throws {
        vault = try TemporaryVault()
        let store = try vault.open()
        let title = try store.addMedia("film", length: 100)
        _ = try store.store(bytes, at: 0, of: title)
        try store.close()
        resource = title.id
    }

    private func code(_ body: () throws -> Void) -> VaultError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? VaultError)?.code
        }
    }

    /// Moves the item at a path out of the vault, and leaves a symbolic link to it.
    private func leadAway(_ name: String) throws {
        let (path, away) = (vault.folder + "/" + name, vault.above.path + "/away")
        try FileManager.default.moveItem(atPath: path, toPath: away)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: away)
    }

    // MARK: The lock

    @Test("An owner whose lock file was removed is still the owner", arguments: ["removed", "replaced", "renamed"])
    func removedLock(how: String) throws {
        let lock = vault.folder + "/lock"
        let store = try vault.open()
        switch how {
        case "removed": try TemporaryFolder.remove(lock)
        case "replaced":
            _ = try PosixFileSystem().create(lock + ".new")
            try PosixFileSystem().rename(lock + ".new", to: lock)
        default: try PosixFileSystem().rename(lock, to: lock + ".old")
        }
        for _ in 0..<2 { #expect(code { try vault.open().close() } == .owned) }
        try vault.open(.reader).close()
        try store.close()
        #expect(code { try vault.open().close() } == nil)
    }

    /// Counts the owners that hold the lock at the same time.
    private final class Owners: Sendable {
        private let count = Locked(0)
        let most = Locked(0)
        let total = Locked(0)

        func compete(for folder: String) {
            for _ in 0..<200 {
                guard let lock = try? VaultLock(folder: folder) else { continue }
                let now = count.withLock { count in
                    count += 1
                    return count
                }
                most.withLock { $0 = max($0, now) }
                total.withLock { $0 += 1 }
                try? TemporaryFolder.remove(folder + "/lock")
                // Gives the others time to create another lock file.
                for _ in 0..<100 { _ = PosixFileSystem().exists(folder) }
                count.withLock { $0 -= 1 }
                _ = consume lock
            }
        }
    }

    @Test("Only one of many competitors has the lock, even if its file is removed again and again")
    func contended() async throws {
        let (folder, owners) = (vault.folder, Owners())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { owners.compete(for: folder) } }
        }
        #expect(owners.most.withLock { $0 } == 1 && owners.total.withLock { $0 } > 0)
    }

    // MARK: Links

    @Test(
        "Neither owner nor reader opens an index that is a symbolic link",
        arguments: [VaultStore.Access.owner, .reader])
    func linkedIndex(access: VaultStore.Access) throws {
        try leadAway("index.sqlite")
        let error = #expect(throws: VaultError.self) { try vault.open(access).close() }
        #expect(error?.code == .storage && error?.message.contains("symbolic link") == true)
    }

    @Test("An index that is a pipe or a folder is refused, and nothing hangs", arguments: [true, false])
    func oddIndex(isPipe: Bool) throws {
        let path = vault.folder + "/index.sqlite"
        try TemporaryFolder.remove(path)
        if isPipe {
            // The bytes of the path are only used during the call.
            #expect(unsafe mkfifo(path, 0o600) == 0)
        } else {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }
        for access in [VaultStore.Access.owner, .reader] {
            #expect(code { try vault.open(access).close() } == .storage)
        }
    }

    @Test(
        "A pipe in the place of a file of the vault is refused or replaced, and nothing hangs",
        arguments: ["lock", "reserve", "audit.log"])
    func pipe(name: String) throws {
        let path = vault.folder + "/" + name
        try PosixFileSystem().remove(path)
        // The bytes of the path are only used during the call.
        #expect(unsafe mkfifo(path, 0o600) == 0)
        guard name != "lock" else { return #expect(code { try vault.open().close() } == .storage) }
        let store = try vault.open()
        defer { try? store.close() }
        let noted = code { try vault.log(of: store).note(.rotate) }
        #expect(noted == (name == "audit.log" ? .storage : nil))
    }

    @Test("A catalog.backup that is a symbolic link is not read")
    func linkedBackup() throws {
        try leadAway("catalog.backup")
        try? TemporaryFolder.remove(vault.folder + "/catalog.backup.1")
        try TemporaryFolder.remove(vault.folder + "/index.sqlite")
        let error = #expect(throws: VaultError.self) {
            _ = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: false)
        }
        #expect(error?.code == .storage && error?.message.contains("symbolic link") == true)
        #expect(throws: VaultError.self) { _ = try KeyringRequirements.read(vault: vault.folder) }
    }

    @Test("Log files of the index that are symbolic links are not followed", arguments: ["-wal", "-shm"])
    func linkedLog(suffix: String) throws {
        let victim = vault.above.path + "/victim"
        try PosixFileSystem().create(victim).write([1, 2, 3], at: 0)
        try FileManager.default.createSymbolicLink(
            atPath: vault.folder + "/index.sqlite" + suffix, withDestinationPath: victim)
        #expect(code { try vault.open().close() } != nil)
        #expect(try PosixFileSystem().contents(of: victim) == [1, 2, 3])
    }

    @Test(
        "Nothing is read, created, moved or removed through a segment folder that is a symbolic link",
        arguments: [true, false])
    func linkedSegments(isWhole: Bool) throws {
        let segment = try #require(try vault.open(.reader).index.resources.find(resource)?.serving?.segments.first)
        try leadAway(isWhole ? "segments" : "segments/" + segment.id.hex.prefix(2))
        let away = vault.above.path + "/away" + (isWhole ? "/" + segment.id.hex.prefix(2) : "")
        let notes = away + "/notes.txt"
        try PosixFileSystem().create(notes).write([1, 2, 3], at: 0)
        let store = try vault.open()
        defer { try? store.close() }
        let title = try #require(try store.index.resources.find(resource))
        #expect(throws: SegmentFailure.self) { _ = try store.segments.reader(of: segment, resource: title) }
        let byte = try #require(segment.id.bytes.first)
        #expect(code { _ = try UnindexedFiles(store).names(in: byte) } == .storage)
        #expect(code { try UnindexedFiles(store).putAside("notes.txt", in: byte) } == .storage)
        #expect(throws: FileFailure.self) { _ = try store.segmentFiles.create(segment.id) }
        #expect(throws: FileFailure.self) { try store.segmentFiles.quarantine(segment.id) }
        #expect(throws: FileFailure.self) { try store.segmentFiles.remove(segment.id) }
        #expect(throws: FileFailure.self) { _ = try store.segmentFiles.size(of: segment.id) }
        #expect(throws: FileFailure.self) { try store.segmentFiles.synchronizeName(of: segment.id) }
        #expect(try PosixFileSystem().contents(of: notes) == [1, 2, 3])
        #expect(PosixFileSystem().exists(away + "/" + segment.id.hex))
        #expect(
            try store.index.resources.find(resource)?.serving?.held == ByteRanges(0..<100),
            "no held range may be given up because of the link")
    }

    @Test("Nothing is moved into a quarantine that is a symbolic link")
    func linkedQuarantine() throws {
        try leadAway("quarantine")
        try PosixFileSystem().create(vault.folder + "/segments/7f/notes.txt").write([1, 2, 3], at: 0)
        let store = try vault.open()
        defer { try? store.close() }
        #expect(code { try UnindexedFiles(store).putAside("notes.txt", in: 0x7F) } == .storage)
        #expect(try PosixFileSystem().names(in: vault.above.path + "/away").isEmpty)
    }

    @Test("An audit log that is a symbolic link is neither read nor written")
    func linkedLog() throws {
        let store = try vault.open()
        defer { try? store.close() }
        try vault.log(of: store).note(.rotate)
        try leadAway("audit.log")
        let before = try PosixFileSystem().contents(of: vault.above.path + "/away")
        #expect(throws: VaultError.self) { try vault.log(of: store).note(.rewrap) }
        #expect(throws: VaultError.self) { _ = try AuditLog.report(on: vault.folder, keyring: nil) }
        #expect(try PosixFileSystem().contents(of: vault.above.path + "/away") == before)
    }

    // MARK: The audit log

    /// A file system that records the largest buffer that a file was read into.
    private final class Gauge: FileSystem {
        let widest = Locked(0)
        private let below = PosixFileSystem()

        func createDirectory(_ path: String) throws(FileFailure) { try below.createDirectory(path) }
        func create(_ path: String) throws(FileFailure) -> any StoredFile { Gauged(try below.create(path), self) }
        func open(_ path: String, writable: Bool) throws(FileFailure) -> any StoredFile {
            Gauged(try below.open(path, writable: writable), self)
        }
        func exists(_ path: String) -> Bool { below.exists(path) }
        func rename(_ path: String, to newPath: String) throws(FileFailure) { try below.rename(path, to: newPath) }
        func move(_ path: String, toUnused newPath: String) throws(FileFailure) {
            try below.move(path, toUnused: newPath)
        }
        func names(in folder: String) throws(FileFailure) -> [String] { try below.names(in: folder) }
        func remove(_ path: String) throws(FileFailure) { try below.remove(path) }
        func synchronizeDirectory(_ path: String) throws(FileFailure) { try below.synchronizeDirectory(path) }
        func size(of path: String) throws(FileFailure) -> Int64 { try below.size(of: path) }
        func freeBytes(at path: String) throws(FileFailure) -> Int64 { try below.freeBytes(at: path) }
    }

    private final class Gauged: StoredFile {
        private let file: any StoredFile
        private let gauge: Gauge

        init(_ file: any StoredFile, _ gauge: Gauge) { (self.file, self.gauge) = (file, gauge) }

        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileFailure) -> Int {
            let count = buffer.count
            gauge.widest.withLock { $0 = max($0, count) }
            return try unsafe file.read(into: buffer, at: offset)
        }
        func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(FileFailure) {
            try unsafe file.write(buffer, at: offset)
        }
        func synchronize() throws(FileFailure) { try file.synchronize() }
        func truncate(to size: Int64) throws(FileFailure) { try file.truncate(to: size) }
        func size() throws(FileFailure) -> Int64 { try file.size() }
        func isLinked() throws(FileFailure) -> Bool { try file.isLinked() }
    }

    @Test("A log of any size is read in small pieces, and anything after its last line is cut off")
    func longTail() throws {
        let gauge = Gauge()
        let store = try vault.open(fileSystem: gauge)
        let log = vault.log(of: store)
        try log.note(.rotate)
        let file = try PosixFileSystem().open(vault.folder + "/audit.log", writable: true)
        // A sparse range of 4 MiB without a line end.
        try file.truncate(to: 4 << 20)
        #expect(try log.lastSequence() == 1)
        #expect(try AuditLog.report(on: vault.folder, keyring: store.keyring, fileSystem: gauge).isSound)
        #expect(try log.receipts(after: 0).map(\.sequence) == [1])
        try log.note(.rewrap)
        let report = try AuditLog.report(on: vault.folder, keyring: store.keyring, fileSystem: gauge)
        #expect(report.isSound && report.receipts.map(\.sequence) == [1, 2])
        let widest = gauge.widest.withLock { $0 }
        #expect(widest > 0 && widest <= 1 << 17, "read \(widest) bytes at once")
        try store.close()
    }

    @Test("An impossibly large log is refused with an error that names it, and is not read")
    func endless() throws {
        let store = try vault.open()
        defer { try? store.close() }
        let log = vault.log(of: store)
        try log.note(.rotate)
        try PosixFileSystem().open(vault.folder + "/audit.log", writable: true).truncate(to: 1 << 40)
        for body in [
            { _ = try log.lastSequence() }, { _ = try log.receipts(after: 0) }, { try log.note(.rewrap) },
            { _ = try AuditLog.report(on: vault.folder, keyring: nil) },
        ] as [() throws -> Void] {
            let error = #expect(throws: VaultError.self) { try body() }
            #expect(error?.code == .storage && error?.message.contains("audit.log") == true)
        }
    }

    @Test("The report on a log full of damage lists only the first faults")
    func faults() throws {
        let path = vault.folder + "/audit.log"
        try PosixFileSystem().create(path).write([UInt8](repeating: 0x0A, count: 200_000), at: 0)
        let report = try AuditLog.report(on: vault.folder, keyring: vault.keyring)
        #expect(!report.isSound && report.faults.count <= 1001 && report.faults.first?.line == 1)
    }
}
