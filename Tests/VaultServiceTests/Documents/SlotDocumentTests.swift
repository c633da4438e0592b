import MediaVault
import Testing

@testable import VaultService

@Suite("What opens a slot, on its way to the service")
struct SlotDocumentTests {
    @Test("Of a file its path crosses, of a credential its name alone")
    func documents() throws {
        let cases: [(SlotKey, String)] = [
            (.unlock(.keyFile(path: "/k", allowLoose: true)), #"{"loose":true,"method":"key-file","path":"/k"}"#),
            (.unlock(.passphraseFile(path: "/p")), #"{"loose":false,"method":"passphrase","path":"/p"}"#),
            (.unlock(.credential(path: "/run/credentials/a.service/c")), #"{"method":"credential","name":"c"}"#),
            (.credential(try CredentialName("c")), #"{"method":"credential","name":"c"}"#),
        ]
        for (key, text) in cases {
            #expect(key.isFoundByOthers)
            let document = try SlotDocument(key)
            #expect(try JSONText.of(document) == text)
            #expect(try SlotDocument(try document.key) == document)
        }
    }

    @Test("What is typed, or printed by a command, crosses never")
    func secrets() throws {
        for key in [SlotKey.unlock(.keyCommand("true")), .unlock(.passphrase(try Passphrase(copying: [1])))] {
            #expect(!key.isFoundByOthers)
            let error = #expect(throws: VaultError.self) { try SlotDocument(key) }
            #expect(error?.code == .invalidArgument && error?.message.contains("--credential") == true)
        }
    }

    @Test(
        "What names neither a file nor a credential is refused",
        arguments: [
            #"{"method":"key-file","path":"k"}"#, #"{"method":"passphrase","path":""}"#, #"{"method":"key-file"}"#,
            #"{"method":"credential","path":"/c"}"#, #"{"method":"credential","name":"../c"}"#,
            #"{"method":"credential","name":"c","path":"/c"}"#, #"{"method":"command","path":"/bin/true"}"#,
            #"{"method":"key-file","name":"k"}"#,
        ])
    func refused(_ text: String) throws {
        let document = try JSONText.read(SlotDocument.self, from: Array(text.utf8))
        let error = #expect(throws: VaultError.self) { try document.key }
        #expect(error?.code == .invalidArgument)
    }
}
