import Testing
import VaultModel

@testable import VaultCrypto

@Suite("A reader follows the keyring that the owner of its vault writes")
struct FollowingTests {
    private let resource = ResourceID(bytes: Array(repeating: 7, count: 32))
    private let fixture: KeyringFixture

    init() throws { fixture = try KeyringFixture() }

    private func changed(_ file: [UInt8], _ edit: (inout KeyringEdit) throws -> Void) throws -> [UInt8] {
        var written: [UInt8] = []
        try KeyringFixture(file: file).unlock().change(reading: { file }, edit) { written = $0.bytes }
        return written
    }

    @Test("A reader adopts a newer keyring, and never an older one, even if that has a key the reader lacks")
    func older() throws {
        let resource = try #require(resource)
        let rotated = try changed(fixture.file) { _ = try $0.addGeneration(now: 1) }
        let retired = try changed(rotated) { try $0.retireGeneration(1) }
        let key = try SecretKey(KeyringFixture.keyBytes)
        let wrapped = try (1...2).map { generation in
            let keyring = try KeyringFixture(file: rotated).unlock()
            return try #require(try keyring.wrap(key, resource: resource, number: 1, generation: generation))
        }
        func opens(_ follower: Keyring, _ generation: Int) throws -> Bool {
            let key = try follower.unwrap(
                wrapped[generation - 1], resource: resource, number: 1, generation: generation)
            return key != nil
        }
        let behind = try fixture.unlock()
        behind.follow { rotated }
        #expect(try opens(behind, 2) && behind.revision == 2)
        let ahead = try KeyringFixture(file: retired).unlock()
        for file in [rotated, fixture.file] {
            ahead.follow { file }
            #expect(try !opens(ahead, 1) && ahead.revision == 3 && ahead.activeGenerations == [2])
        }
    }

    @Test("A reader never adopts a forged keyring or that of another vault")
    func foreign() throws {
        let resource = try #require(resource)
        let follower = try fixture.unlock()
        let forged = try fixture.forged { $0["revision"] = .integer(9) }
        let other = try KeyringFixture()
        let others = try changed(other.file) { _ = try $0.addGeneration(now: 1) }
        for file in [forged.file, others, []] {
            follower.follow { file }
            let wrapped = [UInt8](repeating: 1, count: 60)
            #expect(try follower.unwrap(wrapped, resource: resource, number: 1, generation: 2) == nil)
            #expect(follower.revision == 1 && follower.activeGenerations == [1])
        }
    }
}
