import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("Where the keyring lies")
struct KeyringPlaceTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path + "/keyring.json" }

    init() throws { folder = try TemporaryFolder() }

    private func write(_ bytes: [UInt8], _ name: String) throws {
        try PosixFileSystem().create(folder.path + "/" + name).write(bytes, at: 0)
    }

    @Test("A keyring that is destroyed is zeros before its name goes, and so is one on its way to take its place")
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

    @Test("Copies that were kept are destroyed, those whose writing was killed too, and nothing else")
    func copies() throws {
        let file = try TestKeyring.file()
        let vault = try KeyringReader.vaultID(of: file)
        let copies = ["", "-2", ".part", "-3.part"].map { "keyring.json.replaced" + $0 }
        for name in copies { try write(name.hasSuffix(".part") ? Array(file.dropLast(200)) : file, name) }
        try write(file, "keyring.json.replaced-4.part")
        // A name that is none of ours, a backup on its way, and copies of another vault's keyring.
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
