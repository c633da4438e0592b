package import VaultCrypto
import VaultModel

/// Makes the index of a vault anew from `catalog.backup` and the files of its segments.
///
/// It owns the vault from beginning to end. The new index is made under a temporary name and put in the old one's place
/// when it is whole and durable; until then no file is moved, cut or removed, so that whoever breaks it off has the vault
/// as it was. What a crash leaves undone after that, a repair finds: files without a row, and files that are too long.
/// Every call may block.
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
        /// Segments of the index that was there of which the backup does not know what they are; 0 where that index did
        /// not open.
        package var unknownToBackup = 0
        /// Whether the backup's settings did not open: the index has those of a new vault.
        package var areSettingsLost = false
    }

    /// What is to be done to files once the new index is in its place.
    private struct Work {
        var cuts: [SegmentDescription] = []
        var aside: [(name: String, byte: UInt8)] = []
    }

    private let folder: String
    private let fileSystem: any FileSystem
    /// A store over the new index.
    private let store: VaultStore
    private let counts = Locked(Counts())
    private let work = Locked(Work())

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
        // Forced, it goes on with an index that this keyring is not the one for, too.
        let (isSound, unknown) =
            evenIfSound
            ? (try? Self.judge(path, backup, keyring, fileSystem)) ?? (false, 0)
            : try Self.judge(path, backup, keyring, fileSystem)
        if isSound, !evenIfSound {
            let loss =
                unknown == 0
                ? "" : ": catalog.backup does not know \(unknown) of its segments, which would be moved to quarantine"
            throw VaultError(
                .invalidArgument,
                "the index of \(folder) is sound, and one made again could only know less\(loss); use --force to do it "
                    + "all the same")
        }
        do throws(FileFailure) {
            for suffix in ["", "-wal", "-shm"] { try fileSystem.remove(path + ".new" + suffix) }
            _ = try fileSystem.create(path + ".new")
        } catch {
            throw error.vaultError("a new index cannot be made")
        }
        let (index, areSettingsLost) = try VaultIndex.restore(at: path + ".new", from: backup, keyring: keyring)
        self.folder = folder
        self.fileSystem = fileSystem
        counts.withLock { ($0.unknownToBackup, $0.areSettingsLost) = (unknown, areSettingsLost) }
        store = VaultStore(
            folder: folder, fileSystem: fileSystem, index: index, keyring: keyring, lock: lock, now: now)
    }

    /// Whether nothing is wrong with the index that is there, and how many of its segments the backup does not know.
    ///
    /// - Throws: ``VaultError`` where the index opens, and this keyring is not the one for it.
    private static func judge(
        _ path: String, _ backup: String, _ keyring: Keyring, _ fileSystem: any FileSystem
    ) throws -> (isSound: Bool, unknown: Int) {
        guard fileSystem.exists(path) else { return (false, 0) }
        do {
            // Opened for writing, so that closing it folds its log into it: it may be moved away in a moment.
            let index = try VaultIndex.open(at: path, keyring: keyring, readOnly: false)
            defer { try? index.close() }
            return (try index.isSound(), (try? index.segmentCount(unknownTo: backup)) ?? 0)
        } catch let error as VaultError where [.foreignKeyring, .olderKeyring].contains(error.code) {
            throw error
        } catch {
            return (false, 0)
        }
    }

    // MARK: Segments

    /// Takes in the segments whose ids begin with a byte.
    package func adopt(_ byte: UInt8) throws {
        let (segments, others) = try store.unnamedFiles(in: byte)
        for id in segments { try adopt(id, in: byte) }
        for name in others { putAside(name, in: byte) }
    }

    private func adopt(_ id: SegmentID, in byte: UInt8) throws {
        do {
            guard let claimed = try store.claim(of: id), let (segment, badBlocks) = try Self.good(of: claimed) else {
                return putAside(id.hex, in: byte)
            }
            // One that cannot be made durable goes, too: the next sync might say yes to pages that the disk never got.
            guard (try? store.makeDurable(id)) != nil, try store.enter(segment, badBlocks: badBlocks) else {
                return putAside(id.hex, in: byte)
            }
            counts.withLock { $0.badBlocks += badBlocks.count }
            if segment.fileSize != claimed.fileSize { work.withLock { $0.cuts.append(segment) } }
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

    private func putAside(_ name: String, in byte: UInt8) { work.withLock { $0.aside.append((name, byte)) } }

    /// Cuts and moves what was found, now that the index that is in place knows of it. A file that the system does not
    /// let go of stays: a repair finds it again.
    private func clearUp() {
        let work = work.withLock(\.self)
        for segment in work.cuts {
            let isCut = (try? store.cut(segment)) != nil
            counts.withLock { if isCut { $0.cut += 1 } else { $0.unknown += 1 } }
        }
        for (name, byte) in work.aside {
            let isMoved = (try? store.putAside(name, in: byte)) != nil
            counts.withLock { if isMoved { $0.quarantined += 1 } else { $0.unknown += 1 } }
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
        clearUp()
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
