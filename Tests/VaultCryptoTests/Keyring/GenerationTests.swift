import Testing
import VaultModel

@testable import VaultCrypto

@Suite("Generations of a keyring")
struct GenerationTests {
    private let resource = ResourceID(bytes: Array(repeating: 7, count: 32))

    /// Changes a keyring and its `file`.
    private func change<Result>(
        _ keyring: Keyring, _ file: inout [UInt8], _ edit: (inout KeyringEdit) throws -> Result
    ) throws -> Result {
        let (old, written) = (file, Box())
        let result = try keyring.change(reading: { old }, edit) { written.bytes = $0.bytes }
        file = written.bytes
        return result
    }

    private final class Box { var bytes: [UInt8] = [] }

    @Test("A new generation becomes current in file and memory, and older ones still open the keys they wrapped")
    func added() throws {
        let fixture = try KeyringFixture()
        let keyring = try fixture.unlock()
        var file = fixture.file
        let resource = try #require(resource)
        let key = try SecretKey(Array(UInt8(0)..<32))
        let wrapped = try #require(try keyring.wrap(key, resource: resource, number: 1, generation: 1))
        #expect(try change(keyring, &file) { try $0.addGeneration(now: 1_800_000_000) } == 2)
        for keyring in [keyring, try KeyringFixture(file: file).unlock()] {
            #expect(keyring.currentGeneration == 2 && keyring.activeGenerations == [1, 2] && keyring.revision == 2)
            #expect(keyring.generationRecords.map(\.created) == [KeyringFixture.now, 1_800_000_000])
            #expect(try keyring.unwrap(wrapped, resource: resource, number: 1, generation: 1) != nil)
            #expect(try keyring.unwrap(wrapped, resource: resource, number: 1, generation: 2) == nil)
        }
    }

    @Test("Retiring a generation removes its key from file and memory, and its number is never used again")
    func retired() throws {
        let fixture = try KeyringFixture()
        let keyring = try fixture.unlock()
        var file = fixture.file
        let resource = try #require(resource)
        let key = try SecretKey(Array(UInt8(0)..<32))
        let wrapped = try #require(try keyring.wrap(key, resource: resource, number: 1, generation: 1))
        let sealed = try #require(try KeyringDocument(reading: fixture.object).generations.first?.key)
        _ = try change(keyring, &file) { try $0.addGeneration(now: 1) }
        try change(keyring, &file) { try $0.retireGeneration(1) }
        for keyring in [keyring, try KeyringFixture(file: file).unlock()] {
            #expect(keyring.activeGenerations == [2] && keyring.generationRecords.map(\.isRetired) == [true, false])
            #expect(try keyring.unwrap(wrapped, resource: resource, number: 1, generation: 1) == nil)
        }
        #expect(!String(decoding: file, as: UTF8.self).contains(Base64.encode(sealed)))
        #expect(try change(keyring, &file) { try $0.addGeneration(now: 1) } == 3)
        try change(keyring, &file) { try $0.retireGeneration(1) }
    }

    @Test(
        "Retiring the current generation or an unknown one is refused",
        arguments: [(1, "inUse"), (9, "notHeld")])
    func refused(_ number: Int, _ code: String) throws {
        let fixture = try KeyringFixture()
        let keyring = try fixture.unlock()
        var file = fixture.file
        let error = #expect(throws: VaultError.self) { try change(keyring, &file) { try $0.retireGeneration(number) } }
        #expect(error?.code.description == code && error?.message.contains("generation \(number)") == true)
        #expect(keyring.revision == 1 && file == fixture.file)
    }
}
