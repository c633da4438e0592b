import Foundation
import Testing
import VaultModel
import VaultTestSupport

@testable import MediaVault

@Suite("Header files")
struct HeaderFileTests {
    @Test(
        "A file has one field per line, with either line ending; blank lines are ignored",
        arguments: [
            ("", [:]), ("\n\r\n  \n", [:]), ("A: b", ["A": "b"]), ("A: b\r\n\r\nC:d\n", ["A": "b", "C": "d"]),
            ("A:\t b: c \n", ["A": "b: c"]), ("A:", ["A": ""]), ("A: 1\nA: 2", ["A": "1", "A": "2"]),
            ("X: \u{e9}\u{301}", ["X": "\u{e9}\u{301}"]),
        ] as [(String, HeaderFields)])
    func fields(text: String, fields: HeaderFields) throws {
        #expect(try HeaderFile.fields(in: Array(text.utf8)) == fields)
    }

    @Test(
        "Text that is not a list of fields is refused, and the error does not repeat it",
        arguments: [
            Array("secret".utf8), Array("A: b\n secret".utf8), Array(": secret".utf8), Array("secret secret: b".utf8),
            Array("A: sec\u{0}ret".utf8), Array("A: b\rsecret: c\n".utf8), Array("Host: secret".utf8),
            Array("range: secret".utf8), [0x41, 0x3A, 0xFF], Array(repeating: 0x0A, count: HeaderFile.maxBytes + 1),
        ])
    func refused(text: [UInt8]) {
        let error = #expect(throws: VaultError.self) { try HeaderFile.fields(in: text) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("secret") == false)
    }

    @Test("A file is read up to the size limit, and only if no other user can read it")
    func file() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/fields"
        try Data("A: b\n".utf8).write(to: URL(filePath: path))
        let loose = await #expect(throws: VaultError.self) { try await HeaderFile.read(path) }
        #expect(loose?.code == .looseKeyFile)
        #expect(try await HeaderFile.read(path, allowLoose: true) == ["A": "b"])
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(try await HeaderFile.read(path) == ["A": "b"])
        let missing = await #expect(throws: VaultError.self) { try await HeaderFile.read(path + "x") }
        #expect(missing?.code == .invalidArgument)
        try Data(repeating: 0x0A, count: HeaderFile.maxBytes).write(to: URL(filePath: path))
        #expect(try await HeaderFile.read(path, allowLoose: true).fields.isEmpty)
    }
}
