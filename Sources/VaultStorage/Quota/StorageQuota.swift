package import VaultModel

/// Enforces the limits on a vault's disk space: admits bytes before they are written, and evicts to make space for
/// them.
package final class StorageQuota: Sendable {
    let account: QuotaAccount
    let evictor: Evictor
    private let index: VaultIndex
    /// The reserve that is given up if the disk has no space for something that must be written.
    let reserve: Reserve
    /// The number of plaintext bytes in a block of a new segment.
    private let blockSize: Int
    /// Whether this process may change the vault. A reader of the vault evicts nothing.
    private let isOwner: Bool

    /// The unit of eviction in bytes.
    ///
    /// Once something must be evicted, up to this much is freed in addition to what is needed now. This much must also
    /// be free before storing resumes.
    package static let step: Int64 = 1 << 20

    init(
        account: QuotaAccount, evictor: Evictor, index: VaultIndex, reserve: Reserve, blockSize: Int, isOwner: Bool
    ) {
        self.account = account
        self.evictor = evictor
        self.index = index
        self.reserve = reserve
        self.blockSize = blockSize
        self.isOwner = isOwner
    }

    /// The disk space of segment files in bytes, including files that are being deleted.
    package var used: Int64 { account.used }

    /// The limits in force.
    package var limits: StorageLimits { account.limits }

    /// Sets the limits in force. If they do not state the space to leave free, the default share of the disk is left
    /// free.
    package func enforce(_ limits: StorageLimits) { account.limits = settled(limits) }

    /// Returns the limits with the space to leave free, which is the default share of the disk if none is set.
    package func settled(_ limits: StorageLimits) -> StorageLimits { account.settled(limits) }

    /// Refuses a size limit that is smaller than the space of the resources that it does not evict.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the limit is too small.
    package func requireAttainable(_ limits: StorageLimits) throws {
        guard let size = limits.size else { return }
        let kept = try EvictionRows(index).protectedFileBytes(evicting: limits.sizeClasses)
        guard kept > size else { return }
        let what = limits.evictsDownloads == true ? "are pinned" : "are pinned or downloaded"
        let way =
            limits.evictsDownloads == true
            ? "or unpin or remove something" : "remove something, or allow eviction of downloads"
        throw VaultError(
            .invalidArgument,
            "the vault cannot be limited to \(Quantity.readable(bytes: size)): at least "
                + "\(Quantity.readable(bytes: kept)) of it \(what), and no limit evicts those; "
                + "raise the limit, \(way)",
            hint: limits.evictsDownloads == true ? nil : .evictDownloads)
    }

    /// Whether the vault exceeds the limits in force, as far as is known without querying the index.
    package var exceedsLimits: Bool { account.excess != nil }

    /// Evicts what exceeds the given limits: first the age limit, then the size limit, then the space to leave free.
    package func prune(_ limits: StorageLimits) throws -> EvictionCounters { try evictor.prune(limits) }

    /// Returns what ``prune(_:)`` would evict now, without evicting anything.
    package func previewPrune(_ limits: StorageLimits) throws -> EvictionCounters { try evictor.previewPrune(limits) }

    /// Returns the resources that the age limit in force will remove completely within `time` seconds, each with the
    /// time at which it was last read.
    ///
    /// At most `limit` resources are returned, in the order of eviction.
    package func expiring(
        within time: Int64, age: Int64, limit: Int
    ) throws -> [(resource: ResourceID, accessed: Int64)] {
        try evictor.expiring(within: time, age: age, limit: limit)
    }

    /// Returns the resources or titles that a size limit would evict first, in the order of eviction, with the space
    /// that each would free. Blocks.
    ///
    /// - Parameter limit: the maximum number of resources or titles.
    package func next(_ limit: Int, of classes: Set<ResourceClass>) throws -> [EvictionPlan.Candidate] {
        try evictor.next(limit, of: classes)
    }

    /// The number of bytes to leave free by default; nil if the system does not report the size of the disk.
    package var standardFree: Int64? { account.settled(StorageLimits()).minFree }

    /// The free space of the vault's disk in bytes; nil if the system does not report it.
    package var freeBytes: Int64? { account.freeBytes() }

    /// The total of what was evicted since the vault was opened.
    package var evictions: EvictionCounters { evictor.total }

    /// Sets the closures that report which resources are in use and therefore not evicted.
    package func setResourceUse(_ use: ResourceUse) { evictor.setResourceUse(use) }

    // MARK: Admission

    /// Lets a segment's file grow to `size` bytes, and evicts other resources if it needs their space.
    ///
    /// - Throws: ``VaultError`` with code `quotaExceeded` if the limits do not allow this.
    func admit(_ size: Int64, for id: SegmentID, _ estimate: WriteEstimate) throws {
        guard let shortage = account.reserve(size, for: id) else { return }
        guard estimate.mayEvict else {
            throw VaultError(
                .quotaExceeded, "there is no free space for a resource of unknown length, and nothing goes for it")
        }
        guard shortage.size == 0 || mayEvict(for: estimate.length) else {
            throw VaultError(.quotaExceeded, "the title is larger than the vault's size limit; raise the limit")
        }
        try evictor.queue.withLock { queue in
            while let shortage = account.reserve(size, for: id) {
                let gone =
                    shortage.size > 0
                    ? try evictor.evict(shortage.size + estimate.ahead, limits.sizeClasses, &queue)
                    : try evictor.evict(shortage.free + estimate.ahead, [.cache], &queue)
                guard gone.bytes > 0 else {
                    throw VaultError(
                        .quotaExceeded,
                        shortage.size > 0
                            ? "the vault has reached its size limit, and everything that is left is pinned, in use or "
                                + "a download; raise the limit, or unpin or remove something"
                            : "the disk has no space left beyond what must stay free; free some space, or "
                                + "lower that limit")
                }
            }
        }
    }

    /// Returns whether other resources may be evicted for a resource of this length; false if such a resource can never
    /// fit.
    private func mayEvict(for length: Int64?) -> Bool {
        guard let limit = limits.size, let length else { return true }
        return fileBytes(of: length) <= limit
    }

    /// Returns the disk space in bytes of the files that hold a whole resource of this length in as few segments as
    /// possible.
    private func fileBytes(of length: Int64) -> Int64 {
        guard length <= ContentInformation.maxBytes else { return length }
        let block = Int64(blockSize)
        let files = (length + SegmentDescription.maxBytes - 1) / SegmentDescription.maxBytes
        let bytes =
            length + Int64(SegmentDescription.tagByteCount) * ((length + block - 1) / block)
            + Int64(SegmentDescription.headerByteCount) * files
        // The end of each file may fill only part of an allocation unit of the disk.
        return SegmentDescription.diskSize(ofFile: bytes) + SegmentDescription.diskUnit * max(0, files - 1)
    }

    // MARK: A full disk

    /// Returns whether storing a resource may be tried again after the store refused it with the given error.
    ///
    /// - Parameter length: the resource's length in bytes, if known.
    package func canStore(after error: VaultError, length: Int64?) -> Bool {
        switch error.code {
        case .diskFull: return hasDiskSpace
        case .quotaExceeded:
            guard let shortage = account.shortage(of: Self.step) else { return true }
            guard shortage.size == 0 || mayEvict(for: length) else { return false }
            return evictor.queue.withLock { queue in
                queue.begin(inUse: evictor.resourcesInUse)
                return ((try? evictor.next(shortage.size > 0 ? limits.sizeClasses : [.cache], &queue)) ?? nil) != nil
            }
        default: return true
        }
    }

    /// Returns whether there is space again after the store refused a write with the given error, or would be after an
    /// eviction.
    ///
    /// ``canStore(after:length:)`` requires less, because storing may be tried even if it soon fails again.
    package func hasSpace(after error: VaultError) throws -> Bool {
        guard error.code == .quotaExceeded else { return canStore(after: error, length: nil) }
        guard let shortage = account.shortage(of: min(Self.step, limits.size ?? Self.step)) else { return true }
        return try evictor.canEvict(shortage.size, limits.sizeClasses) && evictor.canEvict(shortage.free, [.cache])
    }

    /// Whether the disk has enough space to resume storing; true if that is unknown, because the next write will find
    /// out.
    private var hasDiskSpace: Bool { account.freeBytes().map { $0 >= Self.step + limits.free } ?? true }

    /// The error with which the next write of media would fail, because the disk is full and nothing can be evicted; nil
    /// if the write may succeed.
    package func diskRefusal() -> VaultError? {
        guard let free = account.freeBytes(), free < Self.step else { return nil }
        guard !isOwner || (try? evictor.canEvict(Self.step, [.cache])) != true else { return nil }
        return VaultError(.diskFull, "the disk is full, so that nothing is stored; free some space")
    }

    /// Creates the reserve, if there is space for it. It is given up when the disk is full.
    package func keepReserve() { if isOwner { reserve.keep() } }

    /// Runs work on the index. If the disk is full, evicts something and tries again once.
    ///
    /// - Parameter isVital: whether to give up the reserve first, because the work frees space or nothing works without
    ///   it.
    func withDiskSpace<Result>(orReserve isVital: Bool = false, _ body: () throws -> Result) throws -> Result {
        do {
            return try isVital ? reserve.withReserve(for: body) : body()
        } catch let error as VaultError where error.code == .diskFull {
            guard freeDiskSpace() else { throw error }
            return try body()
        }
    }

    /// Evicts something that was only played, because the disk is full.
    ///
    /// - Returns: whether anything was evicted.
    package func freeDiskSpace() -> Bool {
        guard isOwner else { return false }
        return evictor.queue.withLock { queue in
            // Rows are always deleted before files, so nothing is evicted if the index cannot be written even now.
            ((try? evictor.evict(Self.step, [.cache], &queue).bytes) ?? 0) > 0
        }
    }
}

extension StorageLimits {
    /// The classes that a size limit may evict, which include downloads only if that is allowed.
    var sizeClasses: Set<ResourceClass> { evictsDownloads == true ? [.cache, .download] : [.cache] }
}

/// An estimate of the bytes still to be written, so that eviction can allow for them.
package struct WriteEstimate: Sendable {
    /// The length of the whole resource in bytes; nil if unknown.
    package var length: Int64?
    /// The number of bytes that will follow; `Int64.max` if unknown.
    package var expected: Int64
    /// Whether other resources may be evicted for this one; false for a resource that may never end.
    package var mayEvict: Bool

    package init(length: Int64? = nil, expected: Int64 = 0, mayEvict: Bool = true) {
        self.length = length
        self.expected = expected
        self.mayEvict = mayEvict
    }

    /// The number of bytes to free in addition to what is needed now, once something must be evicted.
    var ahead: Int64 { min(max(0, expected), StorageQuota.step) }
}

/// Reports the resources in use: those that are open, being read or being filled, which are not evicted.
package struct ResourceUse: Sendable {
    /// The resources in use now.
    package let all: @Sendable () -> Set<ResourceID>
    /// Forgets a resource that is not in use, within the transaction that evicts it; returns false if the resource is
    /// in use.
    ///
    /// Later requests for the resource read the index again, after the transaction.
    package let forget: @Sendable (ResourceID) -> Bool

    package init(
        all: @escaping @Sendable () -> Set<ResourceID>, forget: @escaping @Sendable (ResourceID) -> Bool
    ) {
        self.all = all
        self.forget = forget
    }

    /// No resource is in use.
    package static let none = ResourceUse(all: { [] }, forget: { _ in true })
}
