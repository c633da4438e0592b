import Foundation
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("A reader opens an index that was closed in a folder that cannot be written")
struct ReadOnlyFolderTests {
    private let vault: TemporaryVault
    private let title: ResourceID
    private var path: String { vault.folder + "/index.sqlite" }

    init() throws {
        vault = try TemporaryVault()
        let owner = try vault.open()
        title = try owner.addMedia("film", length: 100_000).id
        try owner.close()
    }

    @Test("It needs no side file, takes no lock, and changes no byte of the folder")
    func closed() throws {
        let files = try TemporaryFolder.files(below: vault.folder)
        let before = try files.map { try Data(contentsOf: URL(filePath: $0)) }
        #expect(!files.contains { $0.hasSuffix("-wal") || $0.hasSuffix("-shm") }, "premise")
        let name = VaultIndex.nameForReadOnlyFolder(path)
        let index = try VaultIndex.connect(to: name, keyring: vault.keyring, readOnly: true, now: WallClock.now)
        #expect(try index.resources.find(title)?.id == title)
        #expect(try TemporaryFolder.files(below: vault.folder) == files)
        #expect(throws: VaultError.self) { try index.recordKeyringRevision() }
        try index.close()
        #expect(try files.map { try Data(contentsOf: URL(filePath: $0)) } == before)
    }

    @Test("A folder that can be written is read as ever, beside its owner")
    func writable() throws {
        let reader = try vault.open(.reader)
        #expect(!reader.index.isReadAsClosed)
        let owner = try vault.open()
        let other = try owner.addMedia("other", length: 100_000).id
        #expect(try reader.index.resources.find(other)?.id == other)
        try reader.close()
        try owner.close()
    }

    @Test("Once an owner changes the index, what is read is refused, while it is open and after it was closed")
    func changed() throws {
        for isClosed in [false, true] {
            let stamp = try #require(FileStamp(path: path))
            let index = try VaultIndex.connect(toClosed: path, stamp, keyring: vault.keyring, now: WallClock.now)
            #expect(try index.resources.find(title)?.id == title && index.isReadAsClosed)
            let owner = try vault.open()
            _ = try owner.addMedia("other \(isClosed)", length: 100_000)
            if isClosed { try owner.close() }
            let error = #expect(throws: VaultError.self) { _ = try index.resources.find(title) }
            #expect(error?.code == .owned)
            try index.close()
            if !isClosed { try owner.close() }
        }
    }
}
