import CSodium
import Synchronization
internal import VaultModel

/// Locked memory for keys: a few guarded regions cut into slots of 32 bytes.
///
/// One `sodium_malloc` for each key would exhaust the process's mappings and its lock limit; a region holds 256 keys.
/// Regions live as long as the process; a slot is wiped when its key is released.
package final class KeyArena: Sendable {
    /// The arena that all keys of the process live in.
    package static let shared = KeyArena()

    package static let slotByteCount = 32
    private static let slotsInRegion = 256

    private struct State {
        var freeSlots: [Slot] = []
        var isLocked = true
    }

    private let state = Mutex(State())

    /// Whether every region could be locked into memory; where not, keys may reach the swap device.
    package var isLocked: Bool { state.withLock { $0.isLocked } }

    /// Takes a slot. Its bytes are undefined until they are written.
    func take() throws -> Slot {
        try Sodium.start()
        return try state.withLock { state in
            if let slot = state.freeSlots.popLast() { return slot }
            try Self.addRegion(to: &state)
            guard let slot = state.freeSlots.popLast() else { throw Self.noMemory }
            return slot
        }
    }

    /// Wipes a slot and takes it back.
    func release(_ slot: Slot) {
        // The slot belongs to the key that is ending: nobody else reads or writes it.
        unsafe sodium_memzero(slot.address, Self.slotByteCount)
        state.withLock { $0.freeSlots.append(slot) }
    }

    private static func addRegion(to state: inout State) throws {
        let byteCount = slotByteCount * slotsInRegion
        guard let region = unsafe sodium_malloc(byteCount) else { throw noMemory }
        // `sodium_malloc` locks silently or not at all; only `sodium_mlock` says which.
        if unsafe sodium_mlock(region, byteCount) != 0 { state.isLocked = false }
        for index in 0..<slotsInRegion {
            unsafe state.freeSlots.append(Slot(address: region + index * slotByteCount))
        }
    }

    private static var noMemory: VaultError {
        VaultError(.storage, "there is no memory left for keys; end other programs or raise the memory limit")
    }

    /// The address of 32 bytes in a region that is never freed.
    // Sendable though it is a pointer: a slot has one owner at a time, the key that took it.
    @safe struct Slot: @unchecked Sendable {
        let address: UnsafeMutableRawPointer
    }
}
