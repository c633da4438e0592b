import Testing

@testable import VaultCommand

@Suite("Memory that was freed")
struct FreedMemoryTests {
    @Test("All threads together overwrite no more of it than they may, however many there are")
    func bound() {
        // Leaves free pieces behind, which are more than a small bound.
        let pieces = (0..<4000).map { [UInt8](repeating: 1, count: 1000 + $0 % 7) }
        #expect(pieces.count == 4000)
        for most in [1 << 16, 1 << 20] {
            let wiped = FreedMemory.wipe(atMost: most)
            #expect(wiped <= most, "\(wiped)")
        }
        #if canImport(Glibc)
        #expect(FreedMemory.wipe(atMost: 1 << 20) > 0)
        #endif
    }
}
