import MediaVault
import Testing

@testable import VaultService

@Suite("How a slot's unlock method is sent to the service")
struct SlotDocumentTests {
    @Test("A key file is sent by its path, a credential by its name only")
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

    @Test("A passphrase or a key command is never sent")
    func secrets() throws {
        for key in [SlotKey.unlock(.keyCommand("true")), .unlock(.passphrase(try Passphrase(copying: [1])))] {
            #expect(!key.isFoundByOthers)
            let error = #expect(throws: VaultError.self) { try SlotDocument(key) }
            #expect(error?.code == .invalidArgument && error?.hint == .passSecret)
        }
    }

    @Test(
        "A document without a valid file path or credential name is refused",
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
