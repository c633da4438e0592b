import CSodium
import VaultModel
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
