import Foundation
import OriginTestSupport
import Synchronization
import Testing
import VaultModel
import VaultStorage
import VaultTestSupport

@testable import MediaVault

@Suite("export writes a complete file or none")
struct ExportTests {
    /// The folder to export into.
    private let folder: TemporaryFolder
    private var target: String { folder.path + "/film.mp4" }

    init() throws { folder = try TemporaryFolder() }

    private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path) }

    private func refusal(
        _ fixture: VaultFixture, to path: String? = nil, replacing: Bool = false,
        on fileSystem: any FileSystem = PosixFileSystem()
    ) async throws -> VaultError? {
        let vault = try await fixture.open(.reader)
        let error = await #expect(throws: VaultError.self) {
            try await ExportJob(
                loaders: vault.loaders, reference: MediaReference(fixture.url), path: path ?? target,
                replacing: replacing, fileSystem: fileSystem
            ).run { _ in }
        }
        await vault.close()
        return error
    }

    @Test(
        "Held bytes are written exactly, with mode 0600, and no request is sent",
        arguments: [0, 1, 400_000, 5_000_001])
    func complete(length: Int64) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let owner = try await fixture.open()
        _ = try await fixture.read(owner)
        await owner.close()
        let asked = fixture.origin.exchanges.count
        let reader = try await fixture.open(.reader)
        var last: ExportProgress?
        try await reader.transfer.export(MediaReference(fixture.url), to: target) { last = $0 }
        await reader.close()
        let bytes = Array(try Data(contentsOf: URL(filePath: target)))
        #expect(Int64(bytes.count) == length && fixture.media.matches(bytes, at: 0))
        #expect(last == ExportProgress(written: length, total: length))
        #expect(try TemporaryFolder.mode(of: target) == 0o600)
        #expect(try names() == ["film.mp4"])
        #expect(fixture.origin.exchanges.count == asked)
    }

    @Test("A title is exported into a folder that is named by a symbolic link")
    func throughLink() async throws {
        let (fixture, vault) = try await VaultFixture.filled(ScriptedResource(length: 10_000))
        try FileManager.default.createDirectory(atPath: folder.path + "/real", withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/link", withDestinationPath: folder.path + "/real")
        try await vault.transfer.export(MediaReference(fixture.url), to: folder.path + "/link/film.mp4")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/real") == ["film.mp4"])
        await vault.close()
    }

    @Test("A title with a gap is not exported, and the error reports how much is missing and where")
    func hole() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 400_000))
        let owner = try await fixture.open()
        _ = try await fixture.read(owner, .closed(first: 0, last: 99_999))
        _ = try await fixture.read(owner, .closed(first: 150_000, last: 299_999))
        await owner.close()
        let error = try await refusal(fixture)
        #expect(error?.code == .notHeld && error?.firstMissing == 100_000)
        #expect(error?.message.contains("150000 of 400000 bytes") == true)
        #expect(try names().isEmpty)
    }

    @Test("A title that was never fetched is not exported")
    func unknown() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 400_000))
        #expect(try await refusal(fixture)?.code == .notHeld)
        #expect(try names().isEmpty)
    }

    @Test("A damaged title is not exported, and the error reports how to repair it")
    func damaged() async throws {
        let fixture = try await VaultFixture.filled()
        try fixture.change(fixture.files()[1]) { $0[90_000] ^= 1 }
        let error = try await refusal(fixture)
        #expect(error?.code == .integrity && error?.hint == .repair)
        #expect(try names().isEmpty)
    }

    @Test("An existing file is kept, unless replacement is requested")
    func existing() async throws {
        let fixture = try await VaultFixture.filled()
        try Data("mine".utf8).write(to: URL(filePath: target))
        #expect(try await refusal(fixture)?.code == .invalidArgument)
        #expect(try Data(contentsOf: URL(filePath: target)) == Data("mine".utf8))
        let vault = try await fixture.open(.reader)
        try await vault.transfer.export(MediaReference(fixture.url), to: target, replacing: true)
        await vault.close()
        #expect(try Data(contentsOf: URL(filePath: target)).count == 400_000)
        #expect(try names() == ["film.mp4"])
    }

    @Test("A file that appears during the export is not overwritten")
    func overtaken() async throws {
        let fixture = try await VaultFixture.filled()
        let vault = try await fixture.open(.reader)
        let target = target
        let error = await #expect(throws: VaultError.self) {
            try await vault.transfer.export(MediaReference(fixture.url), to: target) { _ in
                _ = FileManager.default.createFile(atPath: target, contents: Data("theirs".utf8))
            }
        }
        await vault.close()
        #expect(error?.code == .invalidArgument)
        #expect(try Data(contentsOf: URL(filePath: target)) == Data("theirs".utf8))
        #expect(try names() == ["film.mp4"])
    }

    @Test("A symbolic link is not followed: its name is taken, and replacement replaces the link itself")
    func link() async throws {
        let fixture = try await VaultFixture.filled()
        let elsewhere = folder.path + "/elsewhere"
        try FileManager.default.createSymbolicLink(atPath: target, withDestinationPath: elsewhere)
        #expect(try await refusal(fixture)?.code == .invalidArgument)
        let vault = try await fixture.open(.reader)
        try await vault.transfer.export(MediaReference(fixture.url), to: target, replacing: true)
        await vault.close()
        #expect(try names() == ["film.mp4"])
    }

    @Test("An export over a folder, or into a folder that does not exist, is refused", arguments: [true, false])
    func folders(replacing: Bool) async throws {
        let fixture = try await VaultFixture.filled()
        #expect(try await refusal(fixture, to: folder.path, replacing: replacing)?.code == .invalidArgument)
        let missing = try await refusal(fixture, to: folder.path + "/no/film.mp4", replacing: replacing)
        #expect(missing?.code == .storage && missing?.message.contains("does not exist") == true)
        #expect(try names().isEmpty)
    }

    @Test(
        "If the disk refuses an operation, the export leaves nothing behind",
        arguments: [FileOperation.create, .write, .synchronize, .rename])
    func refused(operation: FileOperation) async throws {
        let fixture = try await VaultFixture.filled(length: 3_000_000)
        let disk = SimulatedFileSystem(root: folder.path)
        disk.fail(operation, lasting: true, with: FileFailure(.noSpace, "write: No space left on device"))
        let full = try await refusal(fixture, on: disk)
        #expect(full?.code == .diskFull && full?.message.contains(target) == true)
        disk.mend()
        disk.fail(operation, lasting: true, with: FileFailure(.notPermitted, "Permission denied"))
        #expect(try await refusal(fixture, on: disk)?.code == .storage)
        #expect(try names().isEmpty)
    }

    @Test("A cancelled export leaves nothing behind")
    func cancelled() async throws {
        let fixture = try await VaultFixture.filled(length: 8_000_000)
        let vault = try await fixture.open(.reader)
        let target = target
        let begun = Mutex(false)
        let task = Task {
            try await vault.transfer.export(MediaReference(fixture.url), to: target) { _ in
                begun.withLock { $0 = true }
                // Safe: the current task is this one, and it is running.
                unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            }
        }
        let result = await task.result
        #expect(throws: CancellationError.self) { try result.get() }
        #expect(begun.withLock { $0 })
        #expect(try names().isEmpty)
        await vault.close()
    }

    @Test("After a power loss, the target is complete or in its previous state", arguments: [false, true])
    func powerLoss(replacing: Bool) async throws {
        let fixture = try await VaultFixture.filled()
        if replacing { try Data("old".utf8).write(to: URL(filePath: target)) }
        let disk = SimulatedFileSystem(root: folder.path)
        let copies = try TemporaryFolder()
        let points = Mutex(0)
        let media = fixture.media
        @Sendable func losePower() {
            let point = points.withLock {
                $0 += 1
                return $0
            }
            for seed in UInt64(0)..<4 {
                let copy = copies.path + "/\(point)-\(seed)"
                do {
                    try disk.loseEverythingUnsynced(tearing: UInt64(point) << 2 | seed, into: copy)
                    guard let data = FileManager.default.contents(atPath: copy + "/film.mp4") else {
                        #expect(!replacing, "the old file is lost")
                        continue
                    }
                    let isOld = replacing && data == Data("old".utf8)
                    #expect(isOld || (data.count == 400_000 && media.matches(Array(data), at: 0)), "point \(point)")
                } catch {
                    Issue.record(error)
                }
            }
        }
        disk.observe { _ in losePower() }
        let vault = try await fixture.open(.reader)
        try await ExportJob(
            loaders: vault.loaders, reference: MediaReference(fixture.url), path: target, replacing: replacing,
            fileSystem: disk
        ).run { _ in }
        disk.observe(nil)
        losePower()
        #expect(points.withLock { $0 } > 4)
        await vault.close()
    }

    @Test("An export whose segments are removed meanwhile ends with an error and no file")
    func removedMeanwhile() async throws {
        let fixture = try await VaultFixture.filled(length: 6_000_000)
        let (owner, reader) = (try await fixture.open(), try await fixture.open(.reader))
        let target = target
        let error = await #expect(throws: VaultError.self) {
            try await reader.transfer.export(MediaReference(fixture.url), to: target) { step in
                guard step.written == 0 else { return }
                for file in fixture.segmentFiles {
                    guard let id = SegmentID(hex: file.lastPathComponent) else { continue }
                    _ = try? SegmentRows(owner.store.index).drop(id, deletesFile: true)
                    try? FileManager.default.removeItem(at: file)
                }
            }
        }
        #expect(error?.code == .notHeld)
        #expect(try names().isEmpty)
        await reader.close()
        await owner.close()
    }
}
