package import VaultModel

// Room for what is about to be written.
extension VaultStore {
    /// Counts the files that are there. What the index says is believed; only files whose rows do not tell their size
    /// are looked at.
    func beginCounting() throws {
        var untold: [SegmentID: Int64] = [:]
        var told = try index.fileBytes()
        for (segment, _) in try index.openSegments() {
            told -= segment.diskSize
            untold[segment.id] = diskSize(of: segment.id)
        }
        for id in try index.doomedSegments(limit: .max) { untold[id] = diskSize(of: id) }
        room.begin(told: told, untold: untold)
    }

    /// What a segment's file takes on the disk; nothing where it is not there.
    func diskSize(of id: SegmentID) -> Int64 {
        SegmentDescription.diskSize(ofFile: (try? segments.size(of: id)) ?? 0)
    }

    /// What segment files take on the disk; beside an owner what the index tells of them.
    package func bytesUsed() throws -> Int64 { isOwner ? room.used : try index.fileBytes() }

    /// Says who uses what: nothing of that is evicted.
    package func respect(_ use: ResourceUse) { self.use.withLock { $0 = use } }

    /// Counts bytes that were handed on and not stored.
    package func countPassedThrough(_ bytes: Int64) { counters.withLock { $0.passedThrough += bytes } }

    /// Bytes handed on and not stored, and bytes of files evicted, since the vault was opened.
    package var tally: (passedThrough: Int64, evicted: Int64) {
        counters.withLock { ($0.passedThrough, $0.evicted.bytes) }
    }

    /// What was evicted since the vault was opened.
    package var evictions: EvictionTally { counters.withLock { $0.evicted } }

    /// Lets a segment's file grow to `size` bytes, evicting what must go for that.
    ///
    /// - Throws: ``VaultError`` with code `noRoom`.
    func admit(_ size: Int64, for id: SegmentID, _ outlook: Outlook) throws {
        guard let shortage = room.reserve(size, for: id) else { return }
        guard shortage.size == 0 || mayEvict(for: outlook.length) else {
            throw Self.noRoom("the title is larger than the vault may become; raise the limit")
        }
        try eviction.withLock { queue in
            while let shortage = room.reserve(size, for: id) {
                let gone =
                    shortage.size > 0
                    ? try evict(shortage.size + outlook.ahead, room.limits.sizeClasses, &queue)
                    : try evict(shortage.free + outlook.ahead, [.cache], &queue)
                guard gone.bytes > 0 else {
                    throw Self.noRoom(
                        shortage.size > 0
                            ? "the vault is as large as it may become, and the rest of it is pinned, in use or kept by "
                                + "name; raise the limit, or unpin or remove something"
                            : "the disk has no more room than is to be left free; make room on it, or let less be "
                                + "left free")
                }
            }
        }
    }

    /// Whether others may go for a title of this length: one that never fits is no reason to lose them.
    private func mayEvict(for length: Int64?) -> Bool {
        guard let limit = room.limits.size, let length else { return true }
        return Self.fileBytes(of: length) <= limit
    }

    /// The bytes of the files that hold a whole title, cut as rarely as can be.
    static func fileBytes(of length: Int64) -> Int64 {
        guard length <= ContentInformation.mostBytes else { return length }
        let block = Int64(blockSize)
        let files = (length + SegmentDescription.mostBytes - 1) / SegmentDescription.mostBytes
        let bytes = length + Int64(SegmentDescription.tagByteCount) * ((length + block - 1) / block)
            + Int64(SegmentDescription.headerByteCount) * files
        // Each file ends within a unit of the disk's.
        return SegmentDescription.diskSize(ofFile: bytes) + SegmentDescription.diskUnit * max(0, files - 1)
    }

    private static func noRoom(_ reason: String) -> VaultError {
        VaultError(.noRoom, reason)
    }

    /// Whether it may be tried again to store a title, after the store refused with an error.
    ///
    /// - Parameter length: the title's, where it is known.
    package func hasRoom(after error: VaultError, length: Int64?) -> Bool {
        switch error.code {
        case .diskFull: return hasDiskRoom
        case .noRoom:
            guard let shortage = room.shortage(of: Room.step) else { return true }
            guard shortage.size == 0 || mayEvict(for: length) else { return false }
            return eviction.withLock { queue in
                queue.begin(inUse: use.withLock { $0 }.all())
                return ((try? next(shortage.size > 0 ? room.limits.sizeClasses : [.cache], &queue)) ?? nil) != nil
            }
        default: return true
        }
    }

    /// Whether the disk has room to begin storing again. What a file system does not say, the next write will.
    package var hasDiskRoom: Bool { room.freeBytes().map { $0 >= Room.step + room.limits.free } ?? true }

    /// Does something with the index; where the disk is full, evicts something and tries once more.
    ///
    /// - Parameter isVital: whether the reserve is given up for it first: it makes room, or nothing goes on without it.
    func withDiskRoom<Result>(orReserve isVital: Bool = false, _ body: () throws -> Result) throws -> Result {
        do {
            return try isVital ? reserve.givenUp(for: body) : body()
        } catch let error as VaultError where error.code == .diskFull {
            guard makeDiskRoom() else { throw error }
            return try body()
        }
    }

    /// Evicts something that was merely played, since the disk is full.
    ///
    /// - Returns: whether anything went.
    package func makeDiskRoom() -> Bool {
        guard isOwner else { return false }
        return eviction.withLock { queue in
            // Rows go before files, always: where the index takes no write even so, nothing goes.
            ((try? evict(Room.step, [.cache], &queue).bytes) ?? 0) > 0
        }
    }
}

extension SegmentWriter {
    /// Takes bytes once there is room for them, as ``append(_:)`` does.
    ///
    /// - Throws: ``VaultError``: `noRoom`; `diskFull` or `storage` where they cannot be written.
    package mutating func append(_ bytes: ArraySlice<UInt8>, in store: VaultStore, _ outlook: Outlook) throws {
        try store.admit(SegmentDescription.diskSize(ofFile: fileSize(after: bytes.count)), for: segment.id, outlook)
        do throws(FileFailure) {
            try append(bytes)
        } catch {
            throw error.vaultError("a segment cannot be written")
        }
        store.work.sealed.count(Int64(bytes.count))
    }
}
