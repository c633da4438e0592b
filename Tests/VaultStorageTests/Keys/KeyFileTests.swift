import Foundation
import SeededRandom
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("Key files and keyring files")
struct KeyFileTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path + "/key" }

    init() throws { folder = try TemporaryFolder() }

    private func write(_ bytes: [UInt8], mode: Int = 0o600) throws {
        try PosixFileSystem().create(path).write(bytes, at: 0)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    private func makePipe() throws {
        // The bytes of the path are only used during the call.
        guard unsafe mkfifo(path, 0o600) == 0 else { throw FileFailure.last("mkfifo") }
    }

    private func readingError(loose: Bool = false) -> VaultError? {
        do {
            _ = try KeyFile.readKey(path, allowLoose: loose)
            return nil
        } catch {
            return error as? VaultError
        }
    }

    @Test("A created key file has 32 bytes, is private to its owner, and can be read again")
    func roundTrip() throws {
        try KeyFile.make(path)
        #expect(try TemporaryFolder.mode(of: path) == 0o600)
        let bytes = try PosixFileSystem().contents(of: path)
        #expect(bytes.count == 32)
        let key = try KeyFile.readKey(path, allowLoose: false)
        let read = unsafe key.withBytes { key in unsafe Array(UnsafeBufferPointer(start: key, count: 32)) }
        #expect(read == bytes)
    }

    @Test("Creating a key file never overwrites another file")
    func exclusive() throws {
        try write([1])
        #expect(throws: VaultError.self) { try KeyFile.make(path) }
        #expect(try PosixFileSystem().contents(of: path) == [1])
    }

    @Test("A key file that could not be written completely is removed", arguments: [FileOperation.write, .synchronize])
    func halfMade(operation: FileOperation) throws {
        let disk = SimulatedFileSystem(root: folder.path)
        disk.fail(operation, with: FileFailure(.noSpace, "write: No space left on device"))
        let error = #expect(throws: VaultError.self) { try KeyFile.make(path, fileSystem: disk) }
        #expect(error?.code == .diskFull)
        #expect(!PosixFileSystem().exists(path))
        try KeyFile.make(path, fileSystem: disk)
        #expect(readingError() == nil)
    }

    @Test("A key file can be created after an earlier attempt was killed")
    func killed() throws {
        let disk = SimulatedFileSystem(root: folder.path)
        disk.fail(.write, with: FileFailure(.other(5), "write: Input/output error"))
        // No cleanup runs after a kill.
        disk.fail(.remove, lasting: true, with: FileFailure(.other(5), "unlink: Input/output error"))
        #expect(throws: VaultError.self) { try KeyFile.make(path, fileSystem: disk) }
        #expect(!PosixFileSystem().exists(path))
        disk.mend()
        try KeyFile.make(path, fileSystem: disk)
        #expect(readingError() == nil)
    }

    @Test("A key file of any size but 32 bytes is refused", arguments: [0, 1, 31, 33, 64, 4096])
    func size(size: Int) throws {
        try write([UInt8](repeating: 7, count: size))
        #expect(readingError()?.code == .looseKeyFile)
        #expect(readingError()?.message.contains("32 bytes") == true)
    }

    @Test(
        "A key file that other users can access is refused unless loose files are allowed",
        arguments: [0o644, 0o640, 0o604, 0o620, 0o601])
    func mode(mode: Int) throws {
        try write([UInt8](repeating: 7, count: 32), mode: mode)
        #expect(readingError()?.code == .looseKeyFile)
        #expect(readingError()?.message.contains("chmod 600") == true)
        #expect(readingError(loose: true) == nil)
    }

    @Test("A private key file is accepted with or without write permission", arguments: [0o600, 0o400])
    func strictMode(mode: Int) throws {
        try write([UInt8](repeating: 7, count: 32), mode: mode)
        #expect(readingError() == nil)
    }

    @Test(
        "A credential is read even if the mask of its access list looks like read access for the group",
        arguments: [(0o400, true), (0o440, true), (0o600, true), (0o404, false), (0o444, false), (0o420, false)])
    func credential(mode: Int, isRight: Bool) throws {
        try write([UInt8](repeating: 7, count: 32), mode: mode)
        do {
            _ = try KeyFile.readCredential(path)
            #expect(isRight)
        } catch let error as VaultError {
            #expect(!isRight && error.code == .looseKeyFile && error.message.contains("credential"))
        }
    }

    @Test("A missing credential and one of any size but 32 bytes are refused", arguments: [0, 31, 33, 64])
    func credentialSize(size: Int) throws {
        let missing = #expect(throws: VaultError.self) { _ = try KeyFile.readCredential(path) }
        #expect(missing?.code == .wrongKey && missing?.message.contains(path) == true)
        try write([UInt8](repeating: 7, count: size))
        let error = #expect(throws: VaultError.self) { _ = try KeyFile.readCredential(path) }
        #expect(error?.code == .looseKeyFile && error?.message.contains("32 bytes") == true)
    }

    @Test("A key file that is not a regular file is refused, and reading it never hangs", arguments: [true, false])
    func kinds(loose: Bool) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(readingError(loose: loose)?.code == .looseKeyFile)
        try TemporaryFolder.remove(path)

        try makePipe()
        #expect(readingError(loose: loose)?.code == .looseKeyFile)
        try TemporaryFolder.remove(path)

        try PosixFileSystem().create(path + "2").write([UInt8](repeating: 7, count: 32), at: 0)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + "2")
        #expect(readingError(loose: loose)?.code == .looseKeyFile)
        #expect(readingError(loose: loose)?.message.contains("symbolic link") == true)
    }

    @Test("The error for a missing file names it")
    func missing() throws {
        #expect(readingError()?.code == .wrongKey)
        #expect(readingError()?.message.contains(path) == true)
    }

    @Test("A passphrase file may end in a line end and be at most 4095 bytes long")
    func passphrase() throws {
        let cost = Argon2id.Cost(salt: [UInt8](repeating: 1, count: 16), opsLimit: 1, memLimit: 8 << 20)
        let typed = try unsafe SecretBytes(capacity: 5) { buffer in
            unsafe buffer.copyBytes(from: Array("tulip".utf8))
            return 5
        }
        let file = try NewKeyring.make(
            with: .passphrase(normalizing: typed), method: .passphrase, label: "test", cost: cost, now: 0)
        try write(Array("tulip\r\n".utf8))
        _ = try KeyringReader.unlock(file, with: KeyFile.readPassphrase(path, allowLoose: false))
        for size in [4095, 4096] {
            try TemporaryFolder.remove(path)
            try write([UInt8](repeating: 0x61, count: size))
            let error = #expect(throws: VaultError.self) {
                _ = try KeyringReader.unlock(file, with: KeyFile.readPassphrase(path, allowLoose: false))
            }
            #expect(error?.code == (size == 4095 ? .wrongKey : .looseKeyFile))
        }
    }

    @Test("A keyring file is rewritten completely or not at all after any power loss")
    func keyring() throws {
        let disk = SimulatedFileSystem(root: folder.path)
        let path = folder.path + "/keyring.json"
        let (old, new) = (SeededGenerator.bytes(3000, seed: 1), SeededGenerator.bytes(3500, seed: 2))
        try KeyringFile.write(old, to: path, fileSystem: disk)
        let copies = try TemporaryFolder()
        func expect(_ allowed: [[UInt8]], _ name: String) {
            for seed in UInt64(0)..<32 {
                do {
                    let copy = copies.path + "/\(name)-\(seed)"
                    try disk.loseEverythingUnsynced(tearing: seed, into: copy)
                    let content = try KeyringFile.read(copy + "/keyring.json")
                    #expect(allowed.contains(content), "\(name), seed \(seed)")
                } catch {
                    Issue.record(error, "\(name), seed \(seed)")
                }
            }
        }
        expect([old], "first")
        for (number, operation) in [FileOperation.create, .write, .synchronize, .rename].enumerated() {
            disk.fail(operation, with: FileFailure(.other(5), "Input/output error"))
            #expect(throws: VaultError.self) { try KeyringFile.write(new, to: path, fileSystem: disk) }
            expect([old], "failed-\(number)")
            #expect(!PosixFileSystem().exists(path + ".new"))
        }
        disk.fail(.synchronizeDirectory, with: FileFailure(.other(5), "Input/output error"))
        #expect(throws: VaultError.self) { try KeyringFile.write(new, to: path, fileSystem: disk) }
        expect([old, new], "folder")
        try KeyringFile.write(new, to: path, fileSystem: disk)
        expect([new], "last")
        #expect(try TemporaryFolder.mode(of: path) == 0o600)
    }

    @Test("A missing or irregular keyring file yields no keyring, and reading it never hangs")
    func keyringKinds() throws {
        let error = #expect(throws: VaultError.self) { _ = try KeyringFile.read(path) }
        #expect(error?.code == .noVault)
        try makePipe()
        #expect(throws: VaultError.self) { _ = try KeyringFile.read(path) }
        try TemporaryFolder.remove(path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(throws: VaultError.self) { _ = try KeyringFile.read(path) }
        try TemporaryFolder.remove(path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + "2")
        let link = #expect(throws: VaultError.self) { _ = try KeyringFile.read(path) }
        #expect(link?.message.contains("symbolic link") == true)
        try PosixFileSystem().create(path + "3").write(
            [UInt8](repeating: 0, count: KeyringDocument.maxBytesRead + 1), at: 0)
        #expect(throws: VaultError.self) { _ = try KeyringFile.read(path + "3") }
    }
}
