package import VaultCrypto
import VaultModel

/// Makes the index of a vault anew from `catalog.backup` and the files of its segments.
///
/// It owns the vault from beginning to end. The new index is made under a temporary name and put in the old one's place
/// when it is whole and durable; until then nothing has changed but that files which are no segments were moved to
/// `quarantine/`. Every call may block.
package final class IndexRebuild: Sendable {
    /// What was found.
    package struct Counts: Sendable {
        package var resources = 0
        package var segments = 0
        package var bytes: Int64 = 0
        /// Blocks that fail their tag, in segments that were taken in: gaps.
        package var badBlocks = 0
        /// Files that ended in something that does not open, and were cut there.
        package var cut = 0
        /// Files that were moved aside.
        package var quarantined = 0
        /// Files that could not be read, or whose resource does not open: they stay where they are.
        package var unknown = 0
    }

    private let folder: String
    private let fileSystem: any FileSystem
    /// A store over the new index.
    private let store: VaultStore
    private let counts = Locked(Counts())

    /// The first bytes of segment ids: ``adopt(_:)`` wants each of them.
    package static let bytes = UInt8.min...UInt8.max

    /// Takes the vault's lock and makes an index of the backup's rows.
    ///
    /// - Parameter evenIfSound: whether to go on though the index that is there has nothing wrong with it.
    /// - Throws: ``VaultError`` with code `noVault` where there is nothing to make an index from, `integrity` where the
    ///   backup is damaged, `invalidArgument` where the index is sound.
    package init(
        at folder: String, keyring: Keyring, evenIfSound: Bool, fileSystem: any FileSystem = PosixFileSystem(),
        now: @escaping @Sendable () -> Int64 = WallClock.now
    ) throws {
        guard fileSystem.exists(folder) else { throw VaultStore.absence(at: folder, fileSystem: fileSystem) }
        try VaultStore.requireOwn(folder, fileSystem)
        let lock = try VaultLock(folder: folder)
        let backup = folder + "/catalog.backup"
        guard fileSystem.exists(backup) else {
            throw VaultError(
                .noVault,
                "there is no catalog.backup at \(folder): no segment can be opened without it, and nothing can be rebuilt"
            )
        }
        let path = folder + "/index.sqlite"
        if !evenIfSound, try Self.isSound(path, keyring, fileSystem) {
            throw VaultError(
                .invalidArgument,
                "the index of \(folder) is sound, and an index made anew could only know less; use --force to do it all the same"
            )
        }
        let index: VaultIndex
        do throws(FileFailure) {
            for suffix in ["", "-wal", "-shm"] { try fileSystem.remove(path + ".new" + suffix) }
            _ = try fileSystem.create(path + ".new")
        } catch {
            throw error.vaultError("a new index cannot be made")
        }
        index = try VaultIndex.restore(at: path + ".new", from: backup, keyring: keyring)
        self.folder = folder
        self.fileSystem = fileSystem
        store = VaultStore(
            folder: folder, fileSystem: fileSystem, index: index, keyring: keyring, lock: lock, now: now)
    }

    /// - Throws: ``VaultError`` where the index opens, and this keyring is not the one for it.
    private static func isSound(
        _ path: String, _ keyring: Keyring, _ fileSystem: any FileSystem
    ) throws -> Bool {
        guard fileSystem.exists(path) else { return false }
        do {
            // Opened for writing, so that closing it folds its log into it: it may be moved away in a moment.
            let index = try VaultIndex.open(at: path, keyring: keyring, readOnly: false)
            defer { try? index.close() }
            return try index.isSound()
        } catch let error as VaultError where [.foreignKeyring, .olderKeyring].contains(error.code) {
            throw error
        } catch {
            return false
        }
    }

    // MARK: Segments

    /// Takes in the segments whose ids begin with a byte.
    package func adopt(_ byte: UInt8) throws {
        let (segments, others) = try store.unnamedFiles(in: byte)
        for id in segments { try adopt(id, in: byte) }
        for name in others { try putAside(name, in: byte) }
    }

    private func adopt(_ id: SegmentID, in byte: UInt8) throws {
        do {
            guard let claimed = try store.claim(of: id), let (segment, badBlocks) = try Self.good(of: claimed) else {
                return try putAside(id.hex, in: byte)
            }
            let isCut = segment.fileSize != claimed.fileSize
            if isCut { try store.cut(segment) }
            guard try store.adopt(segment, badBlocks: badBlocks) else { return try putAside(id.hex, in: byte) }
            counts.withLock { counts in
                counts.badBlocks += badBlocks.count
                if isCut { counts.cut += 1 }
            }
        } catch SegmentFailure.missing {
            return
        } catch SegmentFailure.unreadable {
            counts.withLock { $0.unknown += 1 }
        } catch let error as VaultError where error.code == .integrity {
            counts.withLock { $0.unknown += 1 }
        }
    }

    /// What of a file can be read: it ends with the last block that opens. Nil where none does.
    private static func good(of claimed: ClaimedSegment) throws -> (SegmentDescription, badBlocks: Set<Int>)? {
        var segment = claimed.segment
        var bad = Set(try claimed.reader.badBlocks(in: 0..<segment.blockCount, of: segment))
        var count = segment.blockCount
        while count > 0, bad.contains(count - 1) {
            count -= 1
            bad.remove(count)
            segment.length = Int64(count) * Int64(segment.blockSize)
        }
        return count > 0 ? (segment, bad) : nil
    }

    private func putAside(_ name: String, in byte: UInt8) throws {
        do {
            try store.putAside(name, in: byte)
            counts.withLock { $0.quarantined += 1 }
        } catch let error as VaultError where error.code == .storage {
            counts.withLock { $0.unknown += 1 }
        }
    }

    // MARK: Putting it in place

    /// Puts the new index in the old one's place, which is kept as `index.sqlite.damaged`, and gives up the lock.
    package func finish() throws -> Counts {
        let index = store.index
        try index.serveFilled()
        let totals = try index.totals()
        try index.close()
        do throws(FileFailure) {
            try replace()
        } catch {
            throw error.vaultError("the new index cannot be put in place")
        }
        store.giveUpLock()
        return counts.withLock { counts in
            (counts.resources, counts.segments, counts.bytes) = (totals.resources, totals.segments, totals.bytes)
            return counts
        }
    }

    private func replace() throws(FileFailure) {
        let path = folder + "/index.sqlite"
        let damaged = path + ".damaged"
        try fileSystem.open(path + ".new", writable: true).synchronize()
        // The old log goes before the new index comes: SQLite would take it for the new one's. Until then there is no
        // index at all rather than one without its log.
        for suffix in ["", "-wal"] { try fileSystem.remove(damaged + suffix) }
        if fileSystem.exists(path) { try fileSystem.rename(path, to: damaged) }
        try fileSystem.synchronizeDirectory(folder)
        if fileSystem.exists(path + "-wal") { try fileSystem.rename(path + "-wal", to: damaged + "-wal") }
        try fileSystem.remove(path + "-shm")
        try fileSystem.synchronizeDirectory(folder)
        try fileSystem.rename(path + ".new", to: path)
        try fileSystem.synchronizeDirectory(folder)
    }

    /// Lets go of what was made so far, and gives up the lock.
    package func abandon() {
        try? store.index.close()
        for suffix in ["", "-wal", "-shm"] { try? fileSystem.remove(folder + "/index.sqlite.new" + suffix) }
        store.giveUpLock()
    }
}
