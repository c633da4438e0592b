import CSodium

/// A 32-byte key in locked memory, with one owner; wiped when the owner lets go.
package struct SecretKey: ~Copyable, Sendable {
    /// The number of bytes of every key of the vault.
    package static let byteCount = KeyArena.slotByteCount

    private let slot: KeyArena.Slot

    /// Makes a key whose bytes `fill` writes. `fill` writes all 32 bytes.
    package init(filledBy fill: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
        let slot = try KeyArena.shared.take()
        do {
            // The slot is ours alone until `init` returns.
            try unsafe fill(UnsafeMutableRawBufferPointer(start: slot.address, count: Self.byteCount))
        } catch {
            KeyArena.shared.release(slot)
            throw error
        }
        self.slot = slot
    }

    /// Copies a key out of bytes that the caller holds; nil where they are not 32.
    package init?(copying bytes: UnsafeRawBufferPointer) throws {
        guard bytes.count == Self.byteCount else { return nil }
        try unsafe self.init { unsafe $0.copyMemory(from: bytes) }
    }

    /// A second owner of the same key.
    package borrowing func duplicate() throws -> SecretKey {
        let source = slot
        return try unsafe SecretKey {
            unsafe $0.copyMemory(from: UnsafeRawBufferPointer(start: source.address, count: Self.byteCount))
        }
    }

    deinit { KeyArena.shared.release(slot) }

    /// Lends the bytes for the time of a call. They must not be kept.
    package borrowing func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafePointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The pointer is bound to bytes and does not outlive `body`, which the borrow of self covers.
        try unsafe body(UnsafePointer(slot.address.assumingMemoryBound(to: UInt8.self)))
    }

    /// Compares in constant time.
    package borrowing func equals(_ other: borrowing SecretKey) -> Bool {
        let mine = slot
        let theirs = other.slot
        return unsafe sodium_memcmp(mine.address, theirs.address, Self.byteCount) == 0
    }
}
