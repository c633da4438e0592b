import Testing
import VaultModel

@testable import VaultCrypto

@Suite("Revoking tokens")
struct RevocationTests {
    @Test("Revocation raises epoch and revision by one, in file and memory, and changes the tokens")
    func raised() throws {
        let fixture = try KeyringFixture()
        let keyring = try fixture.unlock()
        let before = keyring.token(.token, LittleEndian.bytes(UInt64(keyring.tokenEpoch)))
        var written: [UInt8] = []
        try keyring.change(reading: { fixture.file }) {
            $0.revokeTokens()
        } writing: {
            written = $0.bytes
        }
        #expect(keyring.tokenEpoch == 2 && keyring.revision == 2)
        let again = try KeyringFixture(file: written).unlock()
        #expect(again.tokenEpoch == 2 && again.revision == 2 && again.vaultID == keyring.vaultID)
        #expect(again.token(.token, LittleEndian.bytes(UInt64(again.tokenEpoch))) != before)
        #expect(again.token(.token, [1]) == keyring.token(.token, [1]), "the token key must stay the same")
    }

    @Test("Nothing is revoked if the keyring cannot be written")
    func unwritten() throws {
        let fixture = try KeyringFixture()
        let keyring = try fixture.unlock()
        let refusal = VaultError(.diskFull, "full")
        #expect(throws: refusal) {
            try keyring.change(reading: { fixture.file }) {
                $0.revokeTokens()
            } writing: { _ in
                throw refusal
            }
        }
        #expect(keyring.tokenEpoch == 1 && keyring.revision == 1)
    }

    @Test("A keyring file of another vault, a changed one and an older one are not overwritten")
    func otherFile() throws {
        let fixture = try KeyringFixture()
        let keyring = try fixture.unlock()
        var newer: [UInt8] = []
        try keyring.change(reading: { fixture.file }) {
            $0.revokeTokens()
        } writing: {
            newer = $0.bytes
        }
        let forged = try fixture.forged { $0["tokenEpoch"] = .integer(7) }
        let others = try NewKeyring.make(
            with: .key(SecretKey(KeyringFixture.keyBytes)), method: .keyFile, label: "test", now: 0)
        for (file, code) in [
            (fixture.file, VaultError.Code.olderKeyring), (forged.file, .tamperedKeyring), (others, .tamperedKeyring),
            (Array(newer.dropLast(9)), .damagedKeyring),
        ] {
            let error = #expect(throws: VaultError.self) {
                try keyring.change(reading: { file }) {
                    $0.revokeTokens()
                } writing: { _ in
                    Issue.record("the keyring was overwritten")
                }
            }
            #expect(error?.code == code)
        }
        #expect(keyring.tokenEpoch == 2)
    }
}
