package import VaultModel

/// The room that a vault takes and may take: admits bytes before they are written.
package final class StorageQuota: Sendable {
    private let ledger = Locked(QuotaLedger())
    private let folder: String
    private let fileSystem: any FileSystem

    /// What is asked for beyond what is needed now, where somebody must go anyway; and what must be free for storing to
    /// begin again.
    package static let step: Int64 = 1 << 20

    init(folder: String, fileSystem: any FileSystem) {
        self.folder = folder
        self.fileSystem = fileSystem
    }

    /// The bytes of segment files, those that are being deleted included.
    package var used: Int64 { ledger.withLock { $0.used } }

    /// The limits in force.
    package var limits: StorageLimits {
        get { ledger.withLock { $0.limits } }
        set {
            ledger.withLock { ledger in
                ledger.limits = newValue
                ledger.forgetMeasure()
            }
        }
    }

    func begin(told: Int64, untold: [SegmentID: Int64]) {
        ledger.withLock { $0.begin(told: told, untold: untold) }
    }

    /// Counts a growing segment's file as `size` bytes before they are written.
    ///
    /// - Returns: what is short for that; then nothing was counted.
    func reserve(_ size: Int64, for id: SegmentID) -> QuotaLedger.Shortage? {
        if ledger.withLock({ $0.mustMeasure }) { measure() }
        guard let shortage = ledger.withLock({ $0.reserve(size, for: id) }) else { return nil }
        guard shortage.free > 0 else { return shortage }
        // Others use the disk too: what was free then may be more now.
        measure()
        return ledger.withLock { $0.reserve(size, for: id) }
    }

    /// What is short of `bytes` more, as things stand now.
    func shortage(of bytes: Int64) -> QuotaLedger.Shortage? {
        if limits.free > 0 { measure() }
        return ledger.withLock { $0.shortage(of: bytes) }
    }

    /// Bytes that lie beyond the limits as things stand: the vault's limit was lowered, or others filled the disk.
    var excess: QuotaLedger.Shortage? { shortage(of: 0) }

    /// A file is written that counts once it is settled.
    func leaveUncounted(_ id: SegmentID) { ledger.withLock { $0.track(id, size: 0) } }

    func settle(_ id: SegmentID, size: Int64) { ledger.withLock { $0.settle(id, size: size) } }

    func add(_ size: Int64) { ledger.withLock { $0.add(size) } }

    func track(_ segments: [SegmentDescription]) {
        ledger.withLock { ledger in
            for segment in segments { ledger.track(segment.id, size: segment.diskSize) }
        }
    }

    @discardableResult
    func remove(_ id: SegmentID, size: Int64) -> Int64 { ledger.withLock { $0.remove(id, size: size) } }

    /// Keeps a file counted, though it be deleted, until the pin goes.
    func pin(_ id: SegmentID) -> SegmentPin {
        ledger.withLock { $0.pin(id) }
        return SegmentPin(id, in: self)
    }

    fileprivate func unpin(_ id: SegmentID) { ledger.withLock { $0.unpin(id) } }

    /// Bytes that are free on the file system; nil where it does not say.
    func freeBytes() -> Int64? { try? fileSystem.freeBytes(at: folder) }

    /// Limits that say how many bytes to leave free: the usual part of the disk where they said nothing.
    func settled(_ limits: StorageLimits) -> StorageLimits {
        var limits = limits
        if limits.minFree == nil, let disk = try? fileSystem.totalBytes(at: folder) {
            limits.minFree = StorageLimits.standardFree(ofDisk: disk)
        }
        return limits
    }

    private func measure() {
        // A file system that does not say is taken to have room: a full one says so when it is written to.
        let free = freeBytes() ?? .max / 2
        ledger.withLock { $0.measured(free: free) }
    }
}

extension StorageLimits {
    /// The classes that may go for the size: what was fetched by name only where that is allowed.
    var sizeClasses: Set<ResourceClass> { evictsDownloads == true ? [.cache, .download] : [.cache] }
}

/// Somebody has a segment's file open.
package final class SegmentPin: Sendable {
    private let id: SegmentID
    private let room: StorageQuota

    init(_ id: SegmentID, in room: StorageQuota) {
        self.id = id
        self.room = room
    }

    deinit { room.unpin(id) }
}

/// The account of a vault's segment files: a value.
///
/// A growing segment counts with the size that its file would have were it closed now, from before its bytes are
/// written. A file that is being deleted counts until it is gone, and until nobody has it open.
struct QuotaLedger {
    /// What keeps a file from growing: the bytes that must go, of the vault's own limit, and of the file system.
    struct Shortage: Hashable {
        var size: Int64 = 0
        var free: Int64 = 0
    }

    var limits = StorageLimits()
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

    /// A growing segment is closed: its file has this size for good. One that went meanwhile counts no more.
    mutating func settle(_ id: SegmentID, size: Int64) {
        if let counted = tracked.removeValue(forKey: id) { take(size - counted) }
    }

    /// A file that was there uncounted counts from now on.
    mutating func add(_ size: Int64) { take(size) }

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

/// What is known of the bytes that are to come: room is made with an eye on it.
package struct WriteEstimate: Sendable {
    /// The length of the whole title; nil where nobody knows.
    package var length: Int64?
    /// How many bytes are to follow, `Int64.max` where nobody knows.
    package var expected: Int64

    package init(length: Int64? = nil, expected: Int64 = 0) {
        self.length = length
        self.expected = expected
    }

    /// How much room is made beyond what is needed now, where somebody must go anyway.
    var ahead: Int64 { min(max(0, expected), StorageQuota.step) }
}

/// Who uses which resources: what is open, read or filled now is not evicted.
package struct ResourceUse: Sendable {
    /// The resources in use now.
    package let all: @Sendable () -> Set<ResourceID>
    /// Lets go of what is remembered of a resource that nobody uses, within the transaction that evicts it: who asks for
    /// it from now on reads the index anew, after the transaction. False where somebody uses it.
    package let letGo: @Sendable (ResourceID) -> Bool

    package init(
        all: @escaping @Sendable () -> Set<ResourceID>, letGo: @escaping @Sendable (ResourceID) -> Bool
    ) {
        self.all = all
        self.letGo = letGo
    }

    /// Nobody uses anything.
    package static let none = ResourceUse(all: { [] }, letGo: { _ in true })
}
