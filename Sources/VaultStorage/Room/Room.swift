package import VaultModel

/// The room that a vault takes and may take: admits bytes before they are written.
package final class Room: Sendable {
    private let ledger = Locked(RoomLedger())
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
    package var limits: RoomLimits {
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
    func reserve(_ size: Int64, for id: SegmentID) -> RoomLedger.Shortage? {
        if ledger.withLock({ $0.mustMeasure }) { measure() }
        guard let shortage = ledger.withLock({ $0.reserve(size, for: id) }) else { return nil }
        guard shortage.free > 0 else { return shortage }
        // Others use the disk too: what was free then may be more now.
        measure()
        return ledger.withLock { $0.reserve(size, for: id) }
    }

    /// What is short of `bytes` more, as things stand now.
    func shortage(of bytes: Int64) -> RoomLedger.Shortage? {
        if limits.free > 0 { measure() }
        return ledger.withLock { $0.shortage(of: bytes) }
    }

    /// Bytes that lie beyond the limits as things stand: the vault's limit was lowered, or others filled the disk.
    var excess: RoomLedger.Shortage? { shortage(of: 0) }

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
    func settled(_ limits: RoomLimits) -> RoomLimits {
        var limits = limits
        if limits.minFree == nil, let disk = try? fileSystem.totalBytes(at: folder) {
            limits.minFree = RoomLimits.standardFree(ofDisk: disk)
        }
        return limits
    }

    private func measure() {
        // A file system that does not say is taken to have room: a full one says so when it is written to.
        let free = freeBytes() ?? .max / 2
        ledger.withLock { $0.measured(free: free) }
    }
}

extension RoomLimits {
    /// The classes that may go for the size: what was fetched by name only where that is allowed.
    var sizeClasses: Set<ResourceClass> { evictsDownloads == true ? [.cache, .download] : [.cache] }
}

/// Somebody has a segment's file open.
package final class SegmentPin: Sendable {
    private let id: SegmentID
    private let room: Room

    init(_ id: SegmentID, in room: Room) {
        self.id = id
        self.room = room
    }

    deinit { room.unpin(id) }
}
