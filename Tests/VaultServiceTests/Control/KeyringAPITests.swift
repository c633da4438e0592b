import MediaVault
import Testing

@testable import VaultService

@Suite("The keyring over the API", .timeLimit(.minutes(5)))
struct KeyringAPITests {
    @Test("The keyring's slots are listed as the description states, without sealed data")
    func listing() async throws {
        let test = try await TestVault()
        try await RunningService.run(over: test, hasControl: true) { service in
            let answer = try await service.control("GET", "/api/v1/keyring")
            #expect(answer.head.status == 200)
            #expect(try SchemaCheck.faults(of: answer.body, "Keyring") == [])
            let listing = try await RemoteVault(ControlClient(folder: service.folder)).call(Operations.Keys.keyring)
            #expect(listing.slots.map(\.method) == ["key-file"] && listing.revision == 1)
            #expect(!String(decoding: answer.body, as: UTF8.self).contains("rootKey"))
        }
    }

    @Test("An order authenticated with the keyring is applied once; a forged one never, with or without a token")
    func orders() async throws {
        let (test, stranger) = (try await TestVault(), try await TestVault())
        let other = Unlock.keyFile(path: test.place.keyring + ".second")
        let order = try await test.orders().adding(NewSlot(other))
        let forged = try await stranger.orders().adding(NewSlot(other))
        try await RunningService.run(over: test, hasControl: true) { service in
            let served = RemoteVault(ControlClient(folder: service.folder))
            let refused = await #expect(throws: VaultError.self) {
                try await served.call(Operations.Keys.changeKeyring, forged)
            }
            #expect(refused?.code == .wrongKey)
            let text = try JSONText.of(forged)
            let withToken = try #require(
                await service.client().ask(
                    "POST", "/api/v1/keyring", host: service.host,
                    fields: [
                        "Authorization": "Bearer \(service.token)",
                        "Content-Type": "application/json",
                    ], body: text))
            #expect(withToken.head.status == 400)
            try await served.call(Operations.Keys.changeKeyring, order)
            let again = await #expect(throws: VaultError.self) {
                try await served.call(Operations.Keys.changeKeyring, order)
            }
            #expect(again?.code == .olderKeyring)
            #expect(try await served.call(Operations.Keys.keyring).slots.count == 2)
            let malformed = try await service.control("POST", "/api/v1/keyring", body: #"{"act":"add"}"#)
            #expect(malformed.head.status == 400)
        }
        let vault = try await Vault.open(test.place, unlock: other)
        await vault.close()
    }
}
