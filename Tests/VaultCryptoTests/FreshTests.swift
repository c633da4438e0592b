import Testing
import VaultModel

@testable import VaultCrypto

@Suite("Fresh")
struct FreshTests {
    @Test("Draws differ from each other")
    func draws() throws {
        var bytes: Set<[UInt8]> = []
        var keys: Set<[UInt8]> = []
        var ids: Set<SegmentID> = []
        for _ in 0..<2000 {
            bytes.insert(try Fresh.bytes(16, "test"))
            keys.insert(try Fresh.key("test").exposed)
            ids.insert(try Fresh.identifier("test"))
        }
        #expect(bytes.count == 2000)
        #expect(keys.count == 2000)
        #expect(ids.count == 2000)
    }

    @Test("As many bytes come as were asked for", arguments: [0, 1, 12, 16, 31, 32])
    func sizes(count: Int) throws {
        #expect(try Fresh.bytes(count, "test").count == count)
    }
}
