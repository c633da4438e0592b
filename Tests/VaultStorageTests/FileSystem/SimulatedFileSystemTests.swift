import SeededRandom
import Testing
import VaultTestSupport

@testable import VaultStorage

@Suite("The simulated file system keeps synced data and loses unsynced data")
struct SimulatedFileSystemTests {
    private let folder: TemporaryFolder
    private let copies: TemporaryFolder
    private let disk: SimulatedFileSystem
    private var path: String { folder.path + "/file" }

    init() throws {
        folder = try TemporaryFolder()
        copies = try TemporaryFolder()
        disk = SimulatedFileSystem(root: folder.path)
    }

    /// The content of a file under each of many outcomes of a power loss; nil if the file is gone.
    private func outcomes(of name: String = "/file") throws -> [[UInt8]?] {
        try (UInt64(0)..<40).map { seed in
            let copy = copies.path + "/\(seed)"
            defer { try? TemporaryFolder.remove(copy) }
            try disk.loseEverythingUnsynced(tearing: seed, into: copy)
            return PosixFileSystem().exists(copy + name) ? try PosixFileSystem().contents(of: copy + name) : nil
        }
    }

    private static let old = SeededGenerator.bytes(2000, seed: 1)
    private static let new = SeededGenerator.bytes(2000, seed: 2)

    @Test("Synced content under a synced name is kept under every outcome")
    func kept() throws {
        let file = try disk.create(path)
        try file.write(Self.old, at: 0)
        try file.synchronize()
        try disk.synchronizeDirectory(folder.path)
        #expect(try outcomes().allSatisfy { $0 == Self.old })
    }

    @Test("An unsynced name is lost under some outcomes and kept under others")
    func unsyncedName() throws {
        try disk.create(path).synchronize()
        let outcomes = try outcomes()
        #expect(outcomes.contains { $0 == nil } && outcomes.contains { $0 == [] })
    }

    @Test("Unsynced content is lost, kept, or torn at sectors of 512 bytes")
    func torn() throws {
        let file = try disk.create(path)
        try file.write(Self.old, at: 0)
        try file.synchronize()
        try disk.synchronizeDirectory(folder.path)
        try file.write(Self.new, at: 0)
        #expect(try file.read(count: 2000, at: 0) == Self.new, "the running system must read what it wrote")
        let outcomes = try outcomes().compactMap { $0 }
        #expect(outcomes.contains(Self.old) && outcomes.contains(Self.new))
        #expect(outcomes.contains { $0 != Self.old && $0 != Self.new })
        for content in outcomes {
            for sector in stride(from: 0, to: 2000, by: 512) {
                let range = sector..<min(sector + 512, 2000)
                #expect(content[range] == Self.old[range] || content[range] == Self.new[range])
            }
        }
    }

    @Test("The same seed gives the same outcome")
    func repeatable() throws {
        let file = try disk.create(path)
        try file.write(Self.old, at: 0)
        #expect(try outcomes() == outcomes())
    }

    @Test("After a failed sync the bytes never reach the disk unless written again, even if a later sync succeeds")
    func failedSync() throws {
        let file = try disk.create(path)
        try file.write(Self.old, at: 0)
        try file.synchronize()
        try disk.synchronizeDirectory(folder.path)
        try file.write(Self.new, at: 0)
        disk.fail(.synchronize, with: FileFailure(.other(5), "fdatasync: Input/output error"))
        #expect(throws: FileFailure.self) { try file.synchronize() }
        try file.synchronize()
        #expect(try file.read(count: 2000, at: 0) == Self.new)
        #expect(try outcomes().allSatisfy { $0 == Self.old })
        try file.write(Self.new[..<512], at: 0)
        try file.synchronize()
        #expect(try outcomes().allSatisfy { $0 == Array(Self.new[..<512] + Self.old[512...]) })
    }

    @Test("A rename is atomic, and a removal may be undone")
    func names() throws {
        for (name, content) in [("/file", Self.old), ("/file.new", Self.new)] {
            let file = try disk.create(folder.path + name)
            try file.write(content, at: 0)
            try file.synchronize()
        }
        try disk.synchronizeDirectory(folder.path)
        try disk.rename(path + ".new", to: path)
        let renamed = try outcomes()
        #expect(Set(renamed) == [Self.old, Self.new])
        let left = try outcomes(of: "/file.new")
        for (target, source) in zip(renamed, left) { #expect((target == Self.new) == (source == nil)) }
        try disk.synchronizeDirectory(folder.path)
        #expect(try outcomes().allSatisfy { $0 == Self.new })
        try disk.remove(path)
        #expect(Set(try outcomes()) == [Self.new, nil])
        try disk.synchronizeDirectory(folder.path)
        #expect(try outcomes().allSatisfy { $0 == nil })
    }

    @Test("The n-th call of a kind fails, once or from then on, and calls are counted")
    func faults() throws {
        let file = try disk.create(path)
        let full = FileFailure(.noSpace, "pwrite: No space left on device")
        disk.fail(.write, number: 2, with: full)
        disk.fail(.synchronize, of: "elsewhere", with: full)
        try file.write(Self.old, at: 0)
        #expect(throws: full) { try file.write(Self.new, at: 0) }
        #expect(
            try file.read(count: 2000, at: 0) == Array(Self.new[..<1000] + Self.old[1000...]),
            "half of the bytes must be written")
        try file.write(Self.new, at: 0)
        try file.synchronize()
        disk.fail(.write, lasting: true, with: full)
        for _ in 0..<3 { #expect(throws: full) { try file.write(Self.new, at: 0) } }
        disk.mend()
        try file.write(Self.new, at: 0)
        #expect(disk.count(.write) == 7)
        #expect(disk.count(.write, of: "/file") == 7)
        #expect(disk.count(.write, of: "elsewhere") == 0)
    }
}
