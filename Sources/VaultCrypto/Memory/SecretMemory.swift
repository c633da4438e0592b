import CSodium
internal import VaultModel

/// Locked memory for keys, in a few guarded regions that are cut into slots of 32 bytes.
///
/// Each region holds 256 keys, because one `sodium_malloc` for each key would exhaust the process's mappings and its
/// lock limit. A region has an inaccessible page on either side, stays out of core files, and lives as long as the
/// process. A slot is wiped when its key is released. Regions stay writable, because protecting one between two uses
/// would cost more than the uses themselves.
package final class KeyArena: Sendable {
    /// The arena for all keys in the process.
    package static let shared = KeyArena()

    package static let slotByteCount = 32
    private static let slotsInRegion = 256

    private let freeSlots = Locked<[Slot]>([])

    /// Takes a free slot, whose bytes are undefined until they are written.
    func take() throws -> Slot {
        try Sodium.start()
        return try freeSlots.withLock { slots in
            if slots.isEmpty { slots = try Self.region() }
            return slots.removeLast()
        }
    }

    /// Wipes a slot and makes it available again.
    func release(_ slot: Slot) {
        // The slot belongs to the key that is being released, so nothing else reads or writes it.
        unsafe sodium_memzero(slot.address, Self.slotByteCount)
        freeSlots.withLock { $0.append(slot) }
    }

    /// Allocates a region and returns its slots.
    private static func region() throws -> [Slot] {
        let byteCount = slotByteCount * slotsInRegion
        guard let region = unsafe sodium_malloc(byteCount) else {
            throw VaultError(
                .storage, "no memory left for keys; stop other programs or raise the memory limit")
        }
        unsafe MemoryLock.shared.lock(region, byteCount)
        return (0..<slotsInRegion).map { index in unsafe Slot(address: region + index * slotByteCount) }
    }

    /// A slot of 32 bytes, given by its address in a region that is never freed.
    // This is Sendable despite the pointer, because a slot has one owner at a time: the key that took it.
    @safe struct Slot: @unchecked Sendable {
        let address: UnsafeMutableRawPointer
    }
}

/// A 32-byte key in locked memory, with a single owner. It is wiped when the owner releases it.
package struct SecretKey: ~Copyable, Sendable {
    /// The length in bytes of every key in the vault.
    package static let byteCount = KeyArena.slotByteCount

    private let slot: KeyArena.Slot

    /// Creates a key from the 32 bytes that `fill` writes. `fill` must write all of them.
    package init(filledBy fill: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
        let slot = try KeyArena.shared.take()
        do {
            // No one else has access to the slot until `init` returns.
            try unsafe fill(UnsafeMutableRawBufferPointer(start: slot.address, count: Self.byteCount))
        } catch {
            KeyArena.shared.release(slot)
            throw error
        }
        self.slot = slot
    }

    /// Creates a key by copying the caller's bytes; nil if there are not exactly 32.
    package init?(copying bytes: UnsafeRawBufferPointer) throws {
        guard bytes.count == Self.byteCount else { return nil }
        try unsafe self.init { unsafe $0.copyMemory(from: bytes) }
    }

    /// Copies the key for a second owner.
    package borrowing func duplicate() throws -> SecretKey {
        let source = slot
        return try unsafe SecretKey {
            unsafe $0.copyMemory(from: UnsafeRawBufferPointer(start: source.address, count: Self.byteCount))
        }
    }

    deinit { KeyArena.shared.release(slot) }

    /// Lends the bytes to `body`, which must not keep the pointer.
    package borrowing func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafePointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The slot holds plain bytes. The pointer does not outlive `body`, during which self stays borrowed.
        try unsafe body(UnsafePointer(slot.address.assumingMemoryBound(to: UInt8.self)))
    }

    /// Whether two keys are equal, compared in constant time.
    package borrowing func equals(_ other: borrowing SecretKey) -> Bool {
        let mine = slot
        let theirs = other.slot
        return unsafe sodium_memcmp(mine.address, theirs.address, Self.byteCount) == 0
    }
}

/// Secret bytes of any length, such as a passphrase, in guarded and locked memory.
///
/// The bytes are wiped when their owner releases them.
package struct SecretBytes: ~Copyable, Sendable {
    private let storage: Storage

    /// The number of bytes.
    package let count: Int

    /// Allocates `capacity` bytes, lets `fill` write them, and keeps the number of bytes that `fill` returns.
    package init(capacity: Int, filledBy fill: (UnsafeMutableRawBufferPointer) throws -> Int) throws {
        try Sodium.start()
        guard let address = unsafe sodium_malloc(capacity) else {
            throw VaultError(
                .storage, "no memory left for secrets; stop other programs or raise the memory limit")
        }
        unsafe MemoryLock.shared.lock(address, capacity)
        let count: Int
        do {
            // No one else has access to the memory until `init` returns.
            count = try unsafe fill(UnsafeMutableRawBufferPointer(start: address, count: capacity))
        } catch {
            unsafe sodium_free(address)
            throw error
        }
        self.count = count
        storage = unsafe Storage(address: address)
    }

    deinit { unsafe sodium_free(storage.address) }  // `sodium_free` wipes first.

    /// Lends the bytes to `body`, which must not keep the pointer.
    package borrowing func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // Self stays borrowed for the duration of the call.
        try unsafe body(UnsafeRawBufferPointer(start: storage.address, count: count))
    }

    // This is Sendable despite the pointer, because the value that holds it has one owner at a time.
    @safe private struct Storage: @unchecked Sendable {
        let address: UnsafeMutableRawPointer
    }
}

/// A key with several owners. It is wiped when the last owner releases it.
package final class SharedKey: Sendable {
    package let secret: SecretKey

    package init(_ secret: consuming SecretKey) { self.secret = secret }
}

/// Ensures that libsodium is initialized before it is used.
enum Sodium {
    /// Initializes libsodium (`sodium_init`) unless that has already been done.
    ///
    /// - Throws: ``VaultError`` with code `storage` if the system provides no randomness.
    static func start() throws {
        guard isReady else {
            throw VaultError(.storage, "libsodium could not start: the system gives no randomness; check /dev/urandom")
        }
    }

    // Every allocation calls `start()` first, because `sodium_malloc` ends the process if it runs before `sodium_init`.
    private static let isReady: Bool = sodium_init() >= 0
}

/// Wipes secrets that computations leave in memory.
package enum SecureWipe {
    /// Wipes bytes that held a secret or media. No optimizer removes this call (`sodium_memzero`).
    package static func wipe(_ buffer: UnsafeMutableRawBufferPointer) {
        guard let address = buffer.baseAddress else { return }
        // The buffer belongs to the caller, and this is its whole length.
        unsafe sodium_memzero(address, buffer.count)
    }

    /// Wipes an array without changing its length. The caller must hold the only reference to the array's storage.
    package static func wipe(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { unsafe wipe($0) }
    }

    /// Wipes the part of the stack that libsodium has just used.
    ///
    /// libsodium leaves derived keys and spilled registers there.
    static func wipeStack(_ byteCount: Int = stackByteCount) { sodium_stackzero(byteCount) }

    /// The number of bytes of stack to wipe, more than libsodium's hash and cipher use. Its signatures use more, but
    /// wipe what they derive from a seed.
    private static let stackByteCount = 4096
}

/// Compares values in constant time: the duration does not depend on where the values differ.
package enum ConstantTime {
    /// Whether two values are equal (`sodium_memcmp`). Values of different lengths are unequal.
    package static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        guard one.count == other.count else { return false }
        // Both arrays lend their storage for the duration of the call.
        return unsafe sodium_memcmp(one, other, one.count) == 0
    }
}
