import Testing

@testable import VaultCrypto

@Suite("Constant-time comparison")
struct ConstantTimeTests {
    @Test(
        "Equal values compare equal, and one changed bit or one more byte makes them differ",
        arguments: [0, 1, 16, 32, 33])
    func comparison(count: Int) {
        let value = (0..<count).map { UInt8($0) }
        #expect(ConstantTime.areEqual(value, value))
        #expect(!ConstantTime.areEqual(value, value + [0]))
        #expect(!ConstantTime.areEqual(value + [0], value))
        for bit in 0..<(count * 8) { #expect(!ConstantTime.areEqual(value, value.flipping(bit: bit))) }
    }

    @Test("Keys compare by their bytes")
    func keys() throws {
        let one = try SecretKey(repeating: 7)
        let same = try one.duplicate()
        let other = try SecretKey(Array(repeating: 7, count: 32).flipping(bit: 255))
        let (isSame, isOther) = (one.equals(same), one.equals(other))
        #expect(isSame)
        #expect(!isOther)
    }
}
