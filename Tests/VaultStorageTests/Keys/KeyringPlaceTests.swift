import Foundation
import Synchronization
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("The keyring file and its copies")
struct KeyringPlaceTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path + "/keyring.json" }

    init() throws { folder = try TemporaryFolder() }

    private func write(_ bytes: [UInt8], _ name: String) throws {
        try PosixFileSystem().create(folder.path + "/" + name).write(bytes, at: 0)
    }

    @Test("Destroying a keyring first overwrites it and its unfinished replacement with zeros")
    func destroyed() throws {
        let disk = PosixFileSystem()
        let names = ["keyring.json", "keyring.json.new"]
        for name in names { try write(try TestKeyring.file(), name) }
        let open = try names.map { try disk.open(folder.path + "/" + $0, writable: false) }
        try KeyringFile.destroy(path)
        #expect(try disk.names(in: folder.path) == [])
        for file in open {
            let bytes = try file.read(count: Int(try file.size()), at: 0)
            #expect(bytes.count > 500 && bytes.allSatisfy { $0 == 0 })
        }
        #expect(throws: VaultError.self) { try KeyringFile.destroy(path) }
    }

    @Test("Writing a keyring overwrites the replaced file and any unfinished one with zeros")
    func replaced() throws {
        let disk = PosixFileSystem()
        let (old, new) = (try TestKeyring.file(), try TestKeyring.file())
        for name in ["keyring.json", "keyring.json.new"] { try write(old, name) }
        let open = try ["", ".new"].map { try disk.open(path + $0, writable: false) }
        try KeyringFile.write(new, to: path)
        for file in open { #expect(try file.contents() == [UInt8](repeating: 0, count: old.count)) }
        #expect(try disk.names(in: folder.path) == ["keyring.json"] && KeyringFile.read(path) == new)
    }

    @Test("An unfinished file as large as no keyring is overwritten as far as one could reach, and not read whole")
    func sparse() throws {
        let disk = PosixFileSystem()
        let new = try TestKeyring.file()
        for act in ["write", "destroy"] {
            try write(try TestKeyring.file(), "keyring.json.new")
            let huge = try disk.open(path + ".new", writable: true)
            // Larger than any memory, and than the disk, because the file is sparse.
            try huge.truncate(to: 1 << 42)
            if act == "write" { try KeyringFile.write(new, to: path) } else { try KeyringFile.destroy(path) }
            #expect(try huge.read(count: 4096, at: 0) == [UInt8](repeating: 0, count: 4096), "\(act)")
            #expect(!disk.exists(path + ".new"))
        }
    }

    @Test("A pipe or a link in the place of a keyring is refused, and one that is to be replaced is removed")
    func pipe() throws {
        let disk = PosixFileSystem()
        // The bytes of the paths are only used during the calls.
        for name in [path, path + ".new"] { #expect(unsafe mkfifo(name, 0o600) == 0) }
        let error = #expect(throws: VaultError.self) { try KeyringFile.read(path) }
        #expect(error?.code == .storage && error?.message.contains("not a regular file") == true)
        try disk.remove(path)
        let new = try TestKeyring.file()
        try KeyringFile.write(new, to: path)
        #expect(try KeyringFile.read(path) == new && disk.names(in: folder.path) == ["keyring.json"])
        try FileManager.default.createSymbolicLink(atPath: path + ".link", withDestinationPath: path)
        #expect(throws: VaultError.self) { try KeyringFile.read(path + ".link") }
    }

    @Test("An oversized file of an older version is read, copied once, and overwritten with zeros when replaced")
    func large() throws {
        let disk = PosixFileSystem()
        let old = try TestKeyring.file() + [UInt8](repeating: 0x20, count: KeyringDocument.maxBytes)
        try write(old, "keyring.json")
        #expect(try KeyringFile.read(path) == old)
        let copies = try (0..<2).map { _ in try KeyringFile.keep(old, of: path) }
        #expect(copies == [path + ".replaced", path + ".replaced"])
        let open = try disk.open(path, writable: false)
        try KeyringFile.write(try TestKeyring.file(), to: path)
        #expect(try open.contents(atMost: old.count) == [UInt8](repeating: 0, count: old.count))
        try write([UInt8](repeating: 0x20, count: KeyringDocument.maxBytesRead + 1), "longer")
        let error = #expect(throws: VaultError.self) { try KeyringFile.read(folder.path + "/longer") }
        #expect(error?.message.contains("larger") == true)
    }

    @Test("A replaced file with a second hard link is not overwritten, because the user may have made that copy")
    func linked() throws {
        let old = try TestKeyring.file()
        try write(old, "keyring.json")
        let copy = folder.path + "/copy"
        try FileManager.default.linkItem(atPath: path, toPath: copy)
        try KeyringFile.write(try TestKeyring.file(), to: path)
        #expect(try PosixFileSystem().contents(of: copy) == old)
    }

    @Test("A power loss at any moment of a replacement leaves the complete old or new keyring")
    func powerLoss() throws {
        let disk = SimulatedFileSystem(root: folder.path)
        let (old, new) = (try TestKeyring.file(), try TestKeyring.file())
        try write(old, "keyring.json")
        let copies = try TemporaryFolder()
        let points = Mutex(0)
        @Sendable func check(_ expected: [[UInt8]]) throws {
            let point = points.withLock {
                $0 += 1
                return $0
            }
            for seed in UInt64(0)..<16 {
                let copy = copies.path + "/\(point)-\(seed)"
                try disk.loseEverythingUnsynced(tearing: seed, into: copy)
                let found = try KeyringFile.read(copy + "/keyring.json")
                #expect(expected.contains(found), "point \(point), seed \(seed)")
            }
        }
        disk.observe { call in
            #expect(throws: Never.self, "\(call)") { try check([old, new]) }
        }
        try KeyringFile.write(new, to: path, fileSystem: disk)
        disk.observe(nil)
        try check([new])
        #expect(disk.count(.synchronizeDirectory) == 1 && disk.count(.write) == 2 && disk.count(.synchronize) == 2)
    }

    @Test(
        "Writing a keyring succeeds once it is durable, even if the old one cannot be overwritten", arguments: [1, 2])
    func unwiped(call: Int) throws {
        let disk = SimulatedFileSystem(root: folder.path)
        let new = try TestKeyring.file()
        try write(try TestKeyring.file(), "keyring.json")
        let operation: FileOperation = call == 1 ? .write : .synchronize
        disk.fail(operation, number: 2, with: FileFailure(.other(5), "pwrite: Input/output error"))
        try KeyringFile.write(new, to: path, fileSystem: disk)
        #expect(try KeyringFile.read(path) == new && disk.count(.synchronizeDirectory) == 1)
    }

    @Test("A replaced read-only keyring is overwritten with zeros too")
    func readOnly() throws {
        let disk = SimulatedFileSystem(root: folder.path)
        let old = try TestKeyring.file()
        try write(old, "keyring.json")
        let open = try PosixFileSystem().open(path, writable: false)
        disk.fail(.open, of: "keyring.json", with: FileFailure(.notPermitted, "open: Permission denied"))
        try KeyringFile.write(try TestKeyring.file(), to: path, fileSystem: disk)
        #expect(try open.contents() == [UInt8](repeating: 0, count: old.count))
        // This call restores the owner's write permission.
        try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: path)
        try PosixFileSystem().makePrivate(path)
        #expect(try TemporaryFolder.mode(of: path) == 0o600)
        try FileManager.default.createSymbolicLink(atPath: folder.path + "/link", withDestinationPath: path)
        #expect(throws: FileFailure.self) { try PosixFileSystem().makePrivate(folder.path + "/link") }
    }

    @Test("A keyring that cannot be overwritten is not replaced, and the error reports that")
    func unwritable() throws {
        let disk = SimulatedFileSystem(root: folder.path)
        let old = try TestKeyring.file()
        try write(old, "keyring.json")
        disk.fail(
            .open, of: "keyring.json", lasting: true, with: FileFailure(.notPermitted, "open: Permission denied"))
        let new = try TestKeyring.file()
        let error = #expect(throws: VaultError.self) { try KeyringFile.write(new, to: path, fileSystem: disk) }
        #expect(error?.code == .storage && error?.message.contains("nothing was written") == true)
        #expect(try KeyringFile.read(path) == old)
        try FileManager.default.createSymbolicLink(atPath: path + ".new", withDestinationPath: "/nowhere")
        try KeyringFile.write(new, to: path)
        #expect(try KeyringFile.read(path) == new)
    }

    @Test(
        "If the new name cannot be made durable, the former keyring is restored",
        arguments: [0, KeyringDocument.maxBytes])
    func unsyncedName(padding: Int) throws {
        let disk = SimulatedFileSystem(root: folder.path)
        let old = try TestKeyring.file() + [UInt8](repeating: 0x20, count: padding)
        try write(old, "keyring.json")
        disk.fail(.synchronizeDirectory, with: FileFailure(.other(5), "fsync: Input/output error"))
        let new = try TestKeyring.file()
        #expect(throws: VaultError.self) { try KeyringFile.write(new, to: path, fileSystem: disk) }
        #expect(try KeyringFile.read(path) == old)
        try KeyringFile.write(new, to: path, fileSystem: disk)
        #expect(try KeyringFile.read(path) == new)
    }

    @Test("Only one of many concurrent attempts to create a keyring succeeds, and the file contains its keyring")
    func together() throws {
        let files = try (0..<8).map { _ in try TestKeyring.file() }
        let outcomes = Locked<[Int: VaultError.Code?]>([:])
        let path = path
        DispatchQueue.concurrentPerform(iterations: files.count) { number in
            var code: VaultError.Code?
            do { try KeyringFile.make(files[number], at: path) } catch { code = (error as? VaultError)?.code }
            outcomes.withLock { $0[number] = code }
        }
        let made = outcomes.withLock { $0 }.filter { $0.value == nil }.map(\.key)
        #expect(made.count == 1)
        #expect(outcomes.withLock { $0 }.values.allSatisfy { $0 == nil || $0 == .busy })
        #expect(try KeyringFile.read(path) == files[made[0]])
        #expect(try PosixFileSystem().names(in: folder.path) == ["keyring.json"])
    }

    @Test("Creating a keyring leaves unfinished files of others unchanged")
    func halfWritten() throws {
        for name in ["keyring.json.part", "keyring.json.0123456789abcdef.part"] { try write([1, 2, 3], name) }
        let file = try TestKeyring.file()
        try KeyringFile.make(file, at: path)
        #expect(try KeyringFile.read(path) == file)
        let others = try PosixFileSystem().names(in: folder.path).filter { $0 != "keyring.json" }
        #expect(others.count == 2)
        for name in others { #expect(try PosixFileSystem().contents(of: folder.path + "/" + name) == [1, 2, 3]) }
    }

    @Test("A reader during replacements gets one complete keyring and never zeros")
    func readWhileReplaced() throws {
        let files = try [TestKeyring.file(), TestKeyring.file()]
        try write(files[0], "keyring.json")
        let path = path
        let isDone = Atomic(false)
        DispatchQueue.concurrentPerform(iterations: 2) { part in
            if part == 0 {
                for turn in 1...200 {
                    #expect(throws: Never.self) { try KeyringFile.write(files[turn % 2], to: path) }
                }
                isDone.store(true, ordering: .relaxed)
            } else {
                while !isDone.load(ordering: .relaxed) {
                    let found = try? KeyringFile.read(path)
                    #expect(found.map(files.contains) == true)
                }
            }
        }
    }

    @Test("Only kept copies of the vault's keyring are destroyed, including unfinished ones")
    func copies() throws {
        let file = try TestKeyring.file()
        let vault = try KeyringReader.vaultID(of: file)
        let copies = ["", "-2", ".part", "-3.part"].map { "keyring.json.replaced" + $0 }
        for name in copies { try write(name.hasSuffix(".part") ? Array(file.dropLast(200)) : file, name) }
        try write(file, "keyring.json.replaced-4.part")
        // A foreign name, an unfinished backup, and copies of another vault's keyring.
        let others = ["keyring.json.replaced-by-hand", "backup.json.part"]
        for name in others { try write(file, name) }
        let strangers = ["keyring.json.replaced-5", "keyring.json.replaced-6.part"]
        for name in strangers { try write(try TestKeyring.file(), name) }
        try write(file, "keyring.json")
        try KeyringPlace(path).destroyCopies(of: vault)
        #expect(
            try PosixFileSystem().names(in: folder.path).sorted() == (["keyring.json"] + others + strangers).sorted())
    }
}
