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

    /// The disk space of segment files in bytes, including files that are being deleted.
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

    /// Counts a growing segment's file as `size` bytes, before these bytes are written.
    ///
    /// - Returns: the shortage that prevents this, in which case nothing was counted; nil if the bytes fit.
    func reserve(_ size: Int64, for id: SegmentID) -> QuotaLedger.Shortage? {
        if ledger.withLock({ $0.needsMeasurement }) { measure() }
        guard let shortage = ledger.withLock({ $0.reserve(size, for: id) }) else { return nil }
        guard shortage.free > 0 else { return shortage }
        // Other programs use the disk, too, so more may be free now than at the last measurement.
        measure()
        return ledger.withLock { $0.reserve(size, for: id) }
    }

    /// Returns the current shortage of space for `bytes` more bytes; nil if they fit.
    func shortage(of bytes: Int64) -> QuotaLedger.Shortage? {
        if limits.free > 0 { measure() }
        return ledger.withLock { $0.shortage(of: bytes) }
    }

    /// The bytes by which the limits are exceeded now, because a limit was lowered or other programs filled the disk;
    /// nil if they are not exceeded.
    var excess: QuotaLedger.Shortage? { shortage(of: 0) }

    /// Starts tracking a file that is not counted until it is settled.
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

    /// Returns the number of free bytes on the vault's file system; nil if it does not report that.
    func freeBytes() -> Int64? { try? fileSystem.freeBytes(at: folder) }

    /// Returns the limits with the space to leave free, which is the default share of the disk if none is set.
    func settled(_ limits: StorageLimits) -> StorageLimits {
        var limits = limits
        if limits.minFree == nil, let disk = try? fileSystem.totalBytes(at: folder) {
            limits.minFree = StorageLimits.standardFree(ofDisk: disk)
        }
        return limits
    }

    private func measure() {
        // If the file system does not report its free space, assume that there is enough. If the disk is full, the
        // write fails.
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

/// The accounting of a vault's segment files, as a value type.
///
/// A growing segment is counted, even before its bytes are written, at the size that its file would have if it were
/// closed now. A file that is being deleted is counted until it is gone and no reader has it open.
struct QuotaLedger {
    /// The bytes that must be freed before a file can grow: under the vault's own limit, and on the file system.
    struct Shortage: Hashable {
        var size: Int64 = 0
        var free: Int64 = 0
    }

    var limits = StorageLimits()
    /// The total bytes of all counted files.
    private(set) var used: Int64 = 0
    /// The number of bytes that may be written before free space must be measured again; nil if there is no
    /// measurement.
    private(set) var spare: Int64?
    /// The sizes of files for which the index has no accurate size: growing files, and those about to be removed.
    private var tracked: [SegmentID: Int64] = [:]
    private var pins: [SegmentID: Int] = [:]
    private var removedWhileOpen: [SegmentID: Int64] = [:]

    /// Begins the accounting with the existing files.
    ///
    /// - Parameters:
    ///   - indexed: the total bytes of the files whose rows state their size.
    ///   - measured: the bytes of each file whose row does not state its size.
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

    /// Returns the shortage of space for `bytes` more bytes; nil if they fit.
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

    /// Sets the final size of a closed segment's file. A file that has been removed since is not counted again.
    mutating func settle(_ id: SegmentID, size: Int64) {
        if let counted = tracked.removeValue(forKey: id) { take(size - counted) }
    }

    /// Corrects the size at which an existing file is counted.
    ///
    /// - Parameter counted: the size at which the file is counted if it is not tracked; 0 if it is not counted.
    mutating func correct(_ id: SegmentID, from counted: Int64, to size: Int64) {
        take(size - (tracked.removeValue(forKey: id) ?? counted))
    }

    /// Tracks a file that is already counted at this size, such as one that is about to be removed.
    mutating func track(_ id: SegmentID, size: Int64) {
        if tracked[id] == nil { tracked[id] = size }
    }

    /// Stops counting a file that was removed from its folder, either at once or when its last reader closes it.
    ///
    /// - Parameter size: the size at which the file is counted if it is not tracked.
    /// - Returns: the number of bytes at which the file was counted.
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
