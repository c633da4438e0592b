import CSodium
internal import VaultModel

/// Locked memory for keys: a few guarded regions cut into slots of 32 bytes.
///
/// One `sodium_malloc` for each key would exhaust the process's mappings and its lock limit; a region holds 256 keys.
/// A region has a page on either side that nobody may touch, stays out of core files, and lives as long as the process; a
/// slot is wiped when its key is released. Regions stay writable: to close one between two uses costs more than the use.
package final class KeyArena: Sendable {
    /// The arena that all keys of the process live in.
    package static let shared = KeyArena()

    package static let slotByteCount = 32
    private static let slotsInRegion = 256

    private let freeSlots = Locked<[Slot]>([])

    /// Takes a slot. Its bytes are undefined until they are written.
    func take() throws -> Slot {
        try Sodium.start()
        return try freeSlots.withLock { slots in
            if slots.isEmpty { slots = try Self.region() }
            return slots.removeLast()
        }
    }

    /// Wipes a slot and takes it back.
    func release(_ slot: Slot) {
        // The slot belongs to the key that is ending: nobody else reads or writes it.
        unsafe sodium_memzero(slot.address, Self.slotByteCount)
        freeSlots.withLock { $0.append(slot) }
    }

    /// The slots of a new region.
    private static func region() throws -> [Slot] {
        let byteCount = slotByteCount * slotsInRegion
        guard let region = unsafe sodium_malloc(byteCount) else {
            throw VaultError(
                .storage, "there is no memory left for keys; end other programs or raise the memory limit")
        }
        unsafe MemoryLock.shared.lock(region, byteCount)
        return (0..<slotsInRegion).map { index in unsafe Slot(address: region + index * slotByteCount) }
    }

    /// The address of 32 bytes in a region that is never freed.
    // Sendable though it is a pointer: a slot has one owner at a time, the key that took it.
    @safe struct Slot: @unchecked Sendable {
        let address: UnsafeMutableRawPointer
    }
}

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

/// Secret bytes of any number, such as a passphrase, in guarded and locked memory; wiped when their owner lets go.
package struct SecretBytes: ~Copyable, Sendable {
    private let storage: Storage

    /// The number of bytes.
    package let count: Int

    /// Makes room for `capacity` bytes, lets `fill` write into it, and keeps as many as `fill` says.
    package init(capacity: Int, filledBy fill: (UnsafeMutableRawBufferPointer) throws -> Int) throws {
        try Sodium.start()
        guard let address = unsafe sodium_malloc(capacity) else {
            throw VaultError(
                .storage, "there is no memory left for secrets; end other programs or raise the memory limit")
        }
        unsafe MemoryLock.shared.lock(address, capacity)
        let count: Int
        do {
            // The memory is ours alone until `init` returns.
            count = try unsafe fill(UnsafeMutableRawBufferPointer(start: address, count: capacity))
        } catch {
            unsafe sodium_free(address)
            throw error
        }
        self.count = count
        storage = unsafe Storage(address: address)
    }

    deinit { unsafe sodium_free(storage.address) }  // `sodium_free` wipes first.

    /// Lends the bytes for the time of a call. They must not be kept.
    package borrowing func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The borrow of self covers the call.
        try unsafe body(UnsafeRawBufferPointer(start: storage.address, count: count))
    }

    // Sendable though it is a pointer: the value that holds it has one owner at a time.
    @safe private struct Storage: @unchecked Sendable {
        let address: UnsafeMutableRawPointer
    }
}

/// A key that several owners hold; wiped when the last of them lets go.
package final class SharedKey: Sendable {
    package let secret: SecretKey

    package init(_ secret: consuming SecretKey) { self.secret = secret }
}

/// libsodium, started once before anything of it is used.
enum Sodium {
    /// Starts libsodium on first use.
    ///
    /// - Throws: ``VaultError`` with code `storage` where the system's randomness cannot be had (`sodium_init`).
    static func start() throws {
        guard isReady else {
            throw VaultError(.storage, "libsodium could not start: the system gives no randomness; check /dev/urandom")
        }
    }

    // `sodium_malloc` before `sodium_init` ends the process, so every allocation goes through here.
    private static let isReady: Bool = sodium_init() >= 0
}

/// What computing leaves behind, wiped.
package enum SecureWipe {
    /// Wipes bytes that held a secret or media, in a way that no optimiser drops (`sodium_memzero`).
    package static func wipe(_ buffer: UnsafeMutableRawBufferPointer) {
        guard let address = buffer.baseAddress else { return }
        // The caller's own buffer, with its length.
        unsafe sodium_memzero(address, buffer.count)
    }

    /// Wipes an array that nobody else holds, and keeps its length.
    package static func wipe(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { unsafe wipe($0) }
    }

    /// Wipes the part of the stack that libsodium has just used: it leaves derived keys and spilled registers there.
    static func wipeStack(_ byteCount: Int = stackByteCount) { sodium_stackzero(byteCount) }

    /// More than its hash and its cipher use; its signatures use more, and wipe what they make of a seed.
    private static let stackByteCount = 4096
}

/// Comparison that takes as long for values that differ early as for those that differ late.
package enum ConstantTime {
    /// Whether two values are equal (`sodium_memcmp`); values of different lengths are not.
    package static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        guard one.count == other.count else { return false }
        // Both arrays lend their storage for the call.
        return unsafe sodium_memcmp(one, other, one.count) == 0
    }
}
