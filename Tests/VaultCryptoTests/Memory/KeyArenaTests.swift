import Testing
import VaultModel

@testable import VaultCrypto

@Suite("Key memory")
struct KeyArenaTests {
    private static func bytes(of slot: KeyArena.Slot) -> [UInt8] {
        // Regions exist for the life of the process, so a released slot can still be read.
        unsafe Array(UnsafeRawBufferPointer(start: slot.address, count: KeyArena.slotByteCount))
    }

    private static func place(of slot: KeyArena.Slot) -> UInt { unsafe UInt(bitPattern: slot.address) }

    @Test("A released slot is wiped and reused")
    func reuse() throws {
        let arena = KeyArena()
        let slot = try arena.take()
        _ = unsafe slot.address.initializeMemory(as: UInt8.self, repeating: 0xAA, count: KeyArena.slotByteCount)
        #expect(Self.bytes(of: slot) == Array(repeating: 0xAA, count: 32))
        arena.release(slot)
        #expect(Self.bytes(of: slot) == Array(repeating: 0, count: 32))
        let again = try arena.take()
        #expect(Self.place(of: again) == Self.place(of: slot))
        arena.release(again)
    }

    @Test("Slots in use at the same time never overlap, even across regions")
    func distinct() throws {
        let arena = KeyArena()
        var slots: [KeyArena.Slot] = []
        for _ in 0..<700 { slots.append(try arena.take()) }
        let addresses = slots.map(Self.place).sorted()
        for (lower, upper) in zip(addresses, addresses.dropFirst()) { #expect(upper - lower >= 32) }
        for slot in slots { arena.release(slot) }
        var again: [UInt] = []
        for _ in 0..<700 { again.append(Self.place(of: try arena.take())) }
        #expect(again.sorted() == addresses)
    }

    @Test("Keys are in locked memory")
    func locked() throws {
        let key = try SecureRandom.key("test")
        #expect(MemoryLock.shared.refusal == nil)
        _ = key.exposed
    }

    @Test("Slots of dropped keys are reused by 100 000 new keys")
    func dropped() throws {
        var addresses: Set<UInt> = []
        for number in 0..<100_000 {
            let key = try SecretKey(repeating: UInt8(truncatingIfNeeded: number))
            addresses.insert(unsafe key.withBytes { UInt(bitPattern: $0) })
        }
        // Other tests use slots at the same time; if no slot were reused, this would be 100 000.
        #expect(addresses.count < 5000)
    }

    @Test("The bytes of a dropped key are wiped")
    func wiped() throws {
        let pattern = Array(repeating: UInt8(0xC3), count: 32)
        var slot: KeyArena.Slot?
        do {
            let key = try SecretKey(pattern)
            unsafe key.withBytes { slot = unsafe KeyArena.Slot(address: UnsafeMutableRawPointer(mutating: $0)) }
            #expect(key.exposed == pattern)
        }
        #expect(try Self.bytes(of: #require(slot)) != pattern)
    }

    @Test("A key whose initialization fails releases its slot")
    func failed() throws {
        struct Refusal: Error {}
        var addresses: Set<UInt> = []
        for _ in 0..<2000 {
            do {
                _ = try unsafe SecretKey { buffer in
                    addresses.insert(UInt(bitPattern: buffer.baseAddress))
                    throw Refusal()
                }
                Issue.record("a key was created")
            } catch {
                #expect(error is Refusal)
            }
        }
        #expect(addresses.count < 1000)
    }

    @Test("Bytes of any size but 32 are not a key", arguments: [0, 1, 16, 31, 33, 64])
    func sizes(count: Int) throws {
        #expect(try !SecretKey.isKey(Array(repeating: 1, count: count)))
    }

    @Test(
        "Secret bytes have the count and content that were written",
        arguments: [0, 1, 31, 32, 4095, 4096, 4097, 100_000])
    func secretBytes(count: Int) throws {
        let content = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let secret = try SecretBytes(content)
        let (exposed, kept) = (secret.exposed, secret.count)
        #expect(exposed == content)
        #expect(kept == count)
    }
}
