import Foundation
import GRDB
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("A reader opens a vault on a disk without a free byte")
struct RoomlessReaderTests {
    /// A vault with a killed owner: its last commit is only in the log, and SQLite found no space for `-shm`.
    private static func killed() throws -> (vault: TemporaryVault, copy: String, title: ResourceID) {
        let vault = try TemporaryVault()
        let owner = try vault.open()
        let title = try owner.addMedia("film", length: 100_000).id
        let copy = vault.above.path + "/copy"
        try FileManager.default.copyItem(atPath: vault.folder, toPath: copy)
        try Data("abc".utf8).write(to: URL(filePath: copy + "/index.sqlite-shm"))
        return (vault, copy, title)
    }

    @Test("The reader sees the commits in the log and changes no byte of the folder")
    func killedOwner() throws {
        let (vault, copy, title) = try Self.killed()
        let files = try TemporaryFolder.files(below: copy)
        let before = try files.map { try Data(contentsOf: URL(filePath: $0)) }
        let plain = try Data(contentsOf: URL(filePath: copy + "/index.sqlite"))
        #expect(plain.range(of: title.data) == nil, "the title must be in the log only")
        let path = VaultIndex.nameForFullDisk(copy + "/index.sqlite")
        let index = try VaultIndex.connect(to: path, keyring: vault.keyring, readOnly: true, now: WallClock.now)
        #expect(try index.resources.find(title)?.id == title && index.resources.totals().resources == 1)
        #expect(throws: VaultError.self) { try index.recordKeyringRevision() }
        try index.close()
        #expect(try TemporaryFolder.files(below: copy) == files)
        #expect(try files.map { try Data(contentsOf: URL(filePath: $0)) } == before)
    }

    @Test("A folder with any name opens", arguments: ["a?b", "a#b", "100%20", "ä ö"])
    func names(name: String) throws {
        let (vault, copy, title) = try Self.killed()
        let folder = vault.above.path + "/" + name
        try FileManager.default.moveItem(atPath: copy, toPath: folder)
        let path = VaultIndex.nameForFullDisk(folder + "/index.sqlite")
        let index = try VaultIndex.connect(to: path, keyring: vault.keyring, readOnly: true, now: WallClock.now)
        #expect(try index.resources.find(title)?.id == title)
        try index.close()
    }

    @Test("An owner that starts at the same time is reported as an owner, not as a fault of the folder")
    func ownerComes() {
        for code: ResultCode in [.SQLITE_READONLY_RECOVERY, .SQLITE_READONLY_CANTLOCK, .SQLITE_READONLY_CANTINIT] {
            let error = #expect(throws: VaultError.self) {
                try IndexError.translating { throw DatabaseError(resultCode: code) }
            }
            #expect(error?.code == .owned)
        }
        let readOnly = #expect(throws: VaultError.self) {
            try IndexError.translating { throw DatabaseError(resultCode: .SQLITE_READONLY) }
        }
        #expect(readOnly?.code == .storage)
    }
}
