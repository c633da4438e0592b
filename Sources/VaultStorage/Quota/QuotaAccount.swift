import VaultModel

/// The disk space that a vault's segment files use, and the limits on it.
final class QuotaAccount: Sendable {
    private let ledger = Locked(QuotaLedger())
    private let folder: String
    private let fileSystem: any FileSystem

    init(folder: String, fileSystem: any FileSystem) {
        self.folder = folder
        self.fileSystem = fileSystem
    }

    /// The bytes of segment files, including those that are being deleted.
    var used: Int64 { ledger.withLock { $0.used } }

    /// The limits in force.
    var limits: StorageLimits {
        get { ledger.withLock { $0.limits } }
        set {
            ledger.withLock { ledger in
                ledger.limits = newValue
                ledger.discardMeasurement()
            }
        }
    }

    func begin(indexed: Int64, measured: [SegmentID: Int64]) {
        ledger.withLock { $0.begin(indexed: indexed, measured: measured) }
    }

    /// Counts a growing segment's file as `size` bytes, before they are written.
    ///
    /// - Returns: the shortage that prevents this, in which case nothing was counted; nil if the bytes fit.
    func reserve(_ size: Int64, for id: SegmentID) -> QuotaLedger.Shortage? {
        if ledger.withLock({ $0.needsMeasurement }) { measure() }
        guard let shortage = ledger.withLock({ $0.reserve(size, for: id) }) else { return nil }
        guard shortage.free > 0 else { return shortage }
        // Other programs use the disk too: more may be free now than at the last measurement.
        measure()
        return ledger.withLock { $0.reserve(size, for: id) }
    }

    /// Returns the shortage of space for `bytes` more, as of now; nil if they fit.
    func shortage(of bytes: Int64) -> QuotaLedger.Shortage? {
        if limits.free > 0 { measure() }
        return ledger.withLock { $0.shortage(of: bytes) }
    }

    /// The bytes beyond the limits at present: the vault's limit was lowered, or other programs filled the disk.
    var excess: QuotaLedger.Shortage? { shortage(of: 0) }

    /// Starts tracking a file that counts only once it is settled.
    func trackUncounted(_ id: SegmentID) { ledger.withLock { $0.track(id, size: 0) } }

    func settle(_ id: SegmentID, size: Int64) { ledger.withLock { $0.settle(id, size: size) } }

    func correct(_ id: SegmentID, from counted: Int64, to size: Int64) {
        ledger.withLock { $0.correct(id, from: counted, to: size) }
    }

    func track(_ segments: [SegmentDescription]) {
        ledger.withLock { ledger in
            for segment in segments { ledger.track(segment.id, size: segment.diskSize) }
        }
    }

    @discardableResult
    func remove(_ id: SegmentID, size: Int64) -> Int64 { ledger.withLock { $0.remove(id, size: size) } }

    /// Keeps a file counted, even if it is deleted, until the pin is released.
    func pin(_ id: SegmentID) -> SegmentPin {
        ledger.withLock { $0.pin(id) }
        return SegmentPin(id, in: self)
    }

    fileprivate func unpin(_ id: SegmentID) { ledger.withLock { $0.unpin(id) } }

    /// Returns the bytes that are free on the file system; nil if it does not report them.
    func freeBytes() -> Int64? { try? fileSystem.freeBytes(at: folder) }

    /// Returns limits that state the space to leave free: the default share of the disk if none is set.
    func settled(_ limits: StorageLimits) -> StorageLimits {
        var limits = limits
        if limits.minFree == nil, let disk = try? fileSystem.totalBytes(at: folder) {
            limits.minFree = StorageLimits.standardFree(ofDisk: disk)
        }
        return limits
    }

    private func measure() {
        // If the file system does not report free space, assume that there is some: if it is full, the write fails.
        let free = freeBytes() ?? .max / 2
        ledger.withLock { $0.measured(free: free) }
    }
}

/// Keeps a segment's file counted while a reader has it open.
final class SegmentPin: Sendable {
    private let id: SegmentID
    private let account: QuotaAccount

    init(_ id: SegmentID, in account: QuotaAccount) {
        self.id = id
        self.account = account
    }

    deinit { account.unpin(id) }
}

/// The account of a vault's segment files, as a value.
///
/// Even before its bytes are written, a growing segment counts with the size that its file would have if it were closed
/// now. A file that is being deleted counts until it is gone and no reader has it open.
struct QuotaLedger {
    /// The bytes that must be freed before a file can grow: under the vault's own limit, and on the file system.
    struct Shortage: Hashable {
        var size: Int64 = 0
        var free: Int64 = 0
    }

    var limits = StorageLimits()
    /// The bytes of all files that count.
    private(set) var used: Int64 = 0
    /// The bytes that may be written before free space must be measured again; nil without a measurement.
    private(set) var spare: Int64?
    /// The files whose size is better known here than from the index: growing files, and those about to be removed.
    private var tracked: [SegmentID: Int64] = [:]
    private var pins: [SegmentID: Int] = [:]
    private var removedWhileOpen: [SegmentID: Int64] = [:]

    /// Begins with the existing files: those whose rows state their size, and those whose rows do not.
    ///
    /// - Parameters:
    ///   - indexed: the total bytes of the former.
    ///   - measured: the bytes of each of the latter.
    mutating func begin(indexed: Int64, measured: [SegmentID: Int64]) {
        used = indexed + measured.values.reduce(0, +)
        tracked = measured
    }

    /// Whether free space must be measured before anything is reserved.
    var needsMeasurement: Bool { limits.free > 0 && spare == nil }

    /// Records a measurement of the file system's free bytes.
    mutating func measured(free: Int64) { spare = free - limits.free }

    /// Discards the last measurement.
    mutating func discardMeasurement() { spare = nil }

    /// Returns the shortage of space for `bytes` more; nil if they fit.
    func shortage(of bytes: Int64) -> Shortage? {
        var shortage = Shortage()
        if let limit = limits.size { shortage.size = max(0, used + bytes - limit) }
        if limits.free > 0, let spare { shortage.free = max(0, bytes - spare) }
        return shortage == Shortage() ? nil : shortage
    }

    /// Counts a growing segment's file as `size` bytes.
    ///
    /// - Returns: the shortage that prevents this, in which case nothing was counted; nil if the bytes fit.
    mutating func reserve(_ size: Int64, for id: SegmentID) -> Shortage? {
        let more = size - (tracked[id] ?? 0)
        guard more > 0 else { return nil }
        if let shortage = shortage(of: more) { return shortage }
        take(more)
        tracked[id] = size
        return nil
    }

    /// Sets the final size of a closed segment's file. A segment that was removed since no longer counts.
    mutating func settle(_ id: SegmentID, size: Int64) {
        if let counted = tracked.removeValue(forKey: id) { take(size - counted) }
    }

    /// Counts a file, which stays, with another size.
    ///
    /// - Parameter counted: the size with which it counts, used if it is not tracked; 0 if it does not count.
    mutating func correct(_ id: SegmentID, from counted: Int64, to size: Int64) {
        take(size - (tracked.removeValue(forKey: id) ?? counted))
    }

    /// Tracks a file that counts with this size, such as one that is about to be removed.
    mutating func track(_ id: SegmentID, size: Int64) {
        if tracked[id] == nil { tracked[id] = size }
    }

    /// Stops counting a file that was removed from its folder, at the latest when its last reader closes it.
    ///
    /// - Parameter size: the size of the file, used if it is not tracked.
    /// - Returns: the bytes with which it was counted.
    mutating func remove(_ id: SegmentID, size: Int64) -> Int64 {
        let counted = tracked.removeValue(forKey: id) ?? size
        if pins[id] == nil { take(-counted) } else { removedWhileOpen[id, default: 0] += counted }
        return counted
    }

    /// Records that a reader opens the file.
    mutating func pin(_ id: SegmentID) { pins[id, default: 0] += 1 }

    /// Records that a reader has closed the file.
    mutating func unpin(_ id: SegmentID) {
        guard let count = pins[id] else { return }
        pins[id] = count > 1 ? count - 1 : nil
        if count == 1, let size = removedWhileOpen.removeValue(forKey: id) { take(-size) }
    }

    private mutating func take(_ bytes: Int64) {
        used = max(0, used + bytes)
        spare = spare.map { $0 - bytes }
    }
}
