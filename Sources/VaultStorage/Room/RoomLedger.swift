import VaultModel

/// The account of a vault's segment files: a value.
///
/// A growing segment counts with the size that its file would have were it closed now, from before its bytes are
/// written. A file that is being deleted counts until it is gone, and until nobody has it open.
struct RoomLedger {
    /// What keeps a file from growing: the bytes that must go, of the vault's own limit, and of the file system.
    struct Shortage: Hashable {
        var size: Int64 = 0
        var free: Int64 = 0
    }

    var limits = RoomLimits()
    /// The bytes of files that count.
    private(set) var used: Int64 = 0
    /// The bytes that may still be written before the file system must be asked again; nil where it was never asked.
    private(set) var spare: Int64?
    /// The files whose size is known here better than from the index: growing ones, and those about to go.
    private var tracked: [SegmentID: Int64] = [:]
    private var pins: [SegmentID: Int] = [:]
    private var lingering: [SegmentID: Int64] = [:]

    /// Begins with the files that are there: those whose rows tell their size, and those whose do not.
    mutating func begin(told: Int64, untold: [SegmentID: Int64]) {
        used = told + untold.values.reduce(0, +)
        tracked = untold
    }

    /// Whether the file system must be asked before anything is reserved.
    var mustMeasure: Bool { limits.free > 0 && spare == nil }

    /// Takes over what the file system says is free.
    mutating func measured(free: Int64) { spare = free - limits.free }

    /// What the file system said is not believed any longer.
    mutating func forgetMeasure() { spare = nil }

    /// What is short of `bytes` more.
    func shortage(of bytes: Int64) -> Shortage? {
        var shortage = Shortage()
        if let limit = limits.size { shortage.size = max(0, used + bytes - limit) }
        if limits.free > 0, let spare { shortage.free = max(0, bytes - spare) }
        return shortage == Shortage() ? nil : shortage
    }

    /// Counts a growing segment's file as `size` bytes.
    ///
    /// - Returns: what is short for that; then nothing was counted.
    mutating func reserve(_ size: Int64, for id: SegmentID) -> Shortage? {
        let more = size - (tracked[id] ?? 0)
        guard more > 0 else { return nil }
        if let shortage = shortage(of: more) { return shortage }
        take(more)
        tracked[id] = size
        return nil
    }

    /// A segment is closed: its file has this size for good.
    mutating func settle(_ id: SegmentID, size: Int64) { take(size - (tracked.removeValue(forKey: id) ?? 0)) }

    /// A file that counts with this size is about to go.
    mutating func track(_ id: SegmentID, size: Int64) {
        if tracked[id] == nil { tracked[id] = size }
    }

    /// A file is gone from its folder.
    ///
    /// - Parameter size: what it was, for one that is not tracked.
    /// - Returns: the bytes that it counted with.
    mutating func remove(_ id: SegmentID, size: Int64) -> Int64 {
        let counted = tracked.removeValue(forKey: id) ?? size
        if pins[id] == nil { take(-counted) } else { lingering[id, default: 0] += counted }
        return counted
    }

    /// Somebody opens the file.
    mutating func pin(_ id: SegmentID) { pins[id, default: 0] += 1 }

    /// Somebody has closed it.
    mutating func unpin(_ id: SegmentID) {
        guard let count = pins[id] else { return }
        pins[id] = count > 1 ? count - 1 : nil
        if count == 1, let size = lingering.removeValue(forKey: id) { take(-size) }
    }

    private mutating func take(_ bytes: Int64) {
        used = max(0, used + bytes)
        spare = spare.map { $0 - bytes }
    }
}
