package import VaultCrypto
package import VaultModel
import Synchronization

/// A vault's folder: its index and its sealed segments, in the order that loses nothing.
///
/// The index may lag the data, never lead it: seal → write → sync the file → sync its folder where it is new → commit
/// the range. Deletion goes by list: the row is deleted and the id condemned in one commit, then the file goes.
/// Every call may block.
package final class VaultStore: Sendable {
    package let index: VaultIndex
    package let segments: any SegmentStore
    package let keyring: Keyring

    private let folder: String
    private let fileSystem: any FileSystem
    private let isOwner: Bool
    private let lock: Mutex<VaultLock?>
    private let now: @Sendable () -> Int64
    private let counters = Mutex(Counters())

    private struct Counters {
        /// Bytes that origins have sent since the vault was made.
        var fetched: Int64 = 0
        /// How many of them the index knows of.
        var committed: Int64 = 0
        /// Changes that `catalog.backup` does not have yet.
        var changesSinceBackup = 0
        var lastBackup: Int64 = 0
    }

    /// The plaintext bytes of a block in new segments.
    package static let blockSize = 32 << 10

    private init(
        folder: String, fileSystem: any FileSystem, index: VaultIndex, keyring: Keyring, lock: consuming VaultLock?,
        now: @escaping @Sendable () -> Int64
    ) {
        self.folder = folder
        self.fileSystem = fileSystem
        self.index = index
        self.keyring = keyring
        isOwner = lock != nil
        self.lock = Mutex(lock)
        self.now = now
        segments = FolderSegmentStore(vault: folder, fileSystem: fileSystem)
        counters.withLock { $0.lastBackup = now() }
    }

    // MARK: Opening

    /// Whether a folder holds a vault.
    package static func exists(at folder: String, fileSystem: any FileSystem = PosixFileSystem()) -> Bool {
        fileSystem.exists(folder + "/index.sqlite")
    }

    /// Makes the folder of a new vault: owner's eyes only, every folder there and synced, the index empty.
    package static func create(
        at folder: String, keyring: Keyring, fileSystem: any FileSystem = PosixFileSystem()
    ) throws {
        do {
            try fileSystem.createDirectory(folder)
            let lock = try VaultLock(folder: folder)
            guard !exists(at: folder, fileSystem: fileSystem) else {
                throw VaultError(.invalidArgument, "there is a vault at \(folder) already; open it, or name another folder")
            }
            try FolderSegmentStore(vault: folder, fileSystem: fileSystem).prepare()
            // Under a temporary name until it is whole: a vault that was half made is none.
            let path = folder + "/index.sqlite"
            let temporary = path + ".new"
            for suffix in ["", "-wal", "-shm"] { try fileSystem.remove(temporary + suffix) }
            _ = try fileSystem.create(temporary)
            try VaultIndex.create(at: temporary, keyring: keyring)
            try fileSystem.open(temporary, writable: true).synchronize()
            try fileSystem.rename(temporary, to: path)
            try fileSystem.synchronizeDirectory(folder)
            try fileSystem.synchronizeDirectory(PosixFileSystem.folder(of: folder))
            _ = consume lock
        } catch let failure as FileFailure {
            throw failure.vaultError("the vault's folder cannot be made")
        }
        let store = try open(at: folder, keyring: keyring, access: .owner, fileSystem: fileSystem)
        try store.backUpCatalog()
        try store.close()
    }

    /// What an opened store may do.
    package enum Access: Sendable {
        /// Change the vault: one process at a time.
        case owner
        /// Read beside the owner.
        case reader
    }

    /// Opens a vault. The owner takes its lock, finishes condemned segments and recovers those left open; it looks at
    /// nothing else, so that a million segments open as fast as ten.
    package static func open(
        at folder: String, keyring: Keyring, access: Access, fileSystem: any FileSystem = PosixFileSystem(),
        now: @escaping @Sendable () -> Int64 = WallClock.now
    ) throws -> VaultStore {
        guard exists(at: folder, fileSystem: fileSystem) else {
            throw VaultError(.noVault, "there is no vault at \(folder); make one with init, or name its folder")
        }
        let path = folder + "/index.sqlite"
        switch access {
        case .reader:
            let index = try VaultIndex.open(at: path, keyring: keyring, readOnly: true)
            return VaultStore(folder: folder, fileSystem: fileSystem, index: index, keyring: keyring, lock: nil, now: now)
        case .owner:
            let lock = try VaultLock(folder: folder)
            // An owner that closed the index left no log.
            let wasKilled = fileSystem.exists(path + "-wal")
            let index = try VaultIndex.open(at: path, keyring: keyring, readOnly: false)
            let store = VaultStore(
                folder: folder, fileSystem: fileSystem, index: index, keyring: keyring, lock: lock, now: now)
            let fetched = try index.settings().bytesFetched
            store.counters.withLock { ($0.fetched, $0.committed) = (fetched, fetched) }
            try index.dropFilling()
            try store.finishDoomed()
            try store.recoverOpenSegments()
            // How far behind an owner that was killed left the backup nobody knows.
            if wasKilled { store.noteChange() }
            return store
        }
    }

    /// Counts what is left to count, backs the catalog up where it changed, closes the index, and gives up the lock.
    package func close() throws {
        defer { lock.withLock { $0 = nil } }
        var failure: (any Error)?
        do {
            if isOwner { try finishCounting() }
        } catch {
            failure = error
        }
        try index.close()
        if let failure { throw failure }
    }

    private func finishCounting() throws {
        try flushCounters()
        if counters.withLock({ $0.changesSinceBackup }) > 0 { try backUpCatalog() }
    }

    // MARK: Resources

    /// Adds a resource.
    package func addResource(
        _ id: ResourceID, url: String, cacheKey: [UInt8], resourceClass: ResourceClass
    ) throws -> StoredResource {
        let metadata = ResourceMetadata(url: url, cacheKey: cacheKey, created: now())
        noteChange()
        return try index.addResource(id, metadata: metadata, resourceClass: resourceClass, now: now())
    }

    /// Begins a new representation of a resource. What the resource held before stays until the new one has something to
    /// serve: ``serve(_:)``.
    package func startRepresentation(_ information: ContentInformation, of resource: inout StoredResource) throws {
        let sequence = (resource.serving?.info.sequence ?? 0) + 1
        let info = RepresentationInfo(sequence: sequence, information: information, retrieved: now())
        let representation = StoredRepresentation(
            id: try Fresh.identifier("representation id"), info: info, segments: [], badBlocks: [:])
        noteChange()
        try index.add(representation, to: resource)
        let isFirst = resource.serving == nil
        resource.serving = representation
        if isFirst || information.length == 0 { try serve(&resource) }
    }

    /// Makes the representation that was begun last the one that is read after a restart too. What the resource held
    /// before is condemned.
    package func serve(_ resource: inout StoredResource) throws {
        guard let serving = resource.serving, resource.metadata.serving != serving.id else { return }
        noteChange()
        resource.metadata = try index.serve(serving.id, of: resource)
        try finishDoomed()
    }

    /// Changes how long a resource is kept.
    package func setClass(_ resourceClass: ResourceClass, of id: ResourceID) throws {
        noteChange()
        try index.setClass(resourceClass, of: id)
    }

    /// Writes what has become known of the serving representation.
    package func update(_ information: ContentInformation, of resource: inout StoredResource) throws {
        guard var serving = resource.serving else { return }
        serving.info.information = information
        noteChange()
        try index.update(serving.info, of: serving.id, resource: resource)
        resource.serving = serving
    }

    // MARK: Segments

    /// Begins a segment at an offset of a resource's serving representation: its row first, then its file.
    package func beginSegment(at start: Int64, of resource: StoredResource) throws -> SegmentWriter {
        guard let representation = resource.serving, let key = resource.keys[resource.keyNumber] else {
            throw VaultError(.storage, "a segment needs a representation; open the resource again")
        }
        let segment = SegmentDescription(
            id: try Fresh.identifier("segment id"), representation: representation.id, keyNumber: resource.keyNumber,
            blockSize: Self.blockSize, start: start, length: 0)
        try index.begin(segment, now: now())
        do {
            let file = try segments.create(segment.id)
            return try SegmentWriter(segment, resourceKey: key.secret, file: file)
        } catch {
            try abandon(segment.id)
            throw Self.translated(error, "a segment cannot be written")
        }
    }

    /// Makes the whole blocks of a growing segment durable and commits them.
    package func checkpoint(_ writer: inout SegmentWriter) throws {
        try commit(&writer, closed: false)
    }

    /// Closes a segment for ever: the short last block sealed, everything durable and committed.
    ///
    /// - Returns: the segment, which ends at its last whole block where the short one could not be written; nil where
    ///   it has no byte and is gone.
    /// - Throws: ``VaultError`` where it could not be made durable and is condemned.
    package func close(_ writer: consuming SegmentWriter) throws -> SegmentDescription? {
        var writer = writer
        writer.finish()
        guard writer.segment.length > 0 else {
            try abandon(writer.segment.id)
            return nil
        }
        try commit(&writer, closed: true)
        return writer.segment
    }

    private func commit(_ writer: inout SegmentWriter, closed: Bool) throws {
        let segment = writer.segment
        do {
            try writer.synchronize()
            try segments.synchronizeName(of: segment.id)
            try countingFetched { try index.commit(segment, closed: closed, fetched: $0) }
        } catch {
            // After a failed sync the row goes before anything else can read pages that the disk never got.
            try abandon(segment.id)
            throw Self.translated(error, "a segment cannot be made durable")
        }
    }

    private static func translated(_ error: any Error, _ what: String) -> any Error {
        (error as? FileFailure)?.vaultError(what) ?? error
    }

    private func abandon(_ id: SegmentID) throws {
        try index.drop(id, doomed: true)
        try finishDoomed()
    }

    /// Opens a segment for reading.
    ///
    /// - Throws: ``SegmentFailure``.
    package func reader(of segment: SegmentDescription, resource: StoredResource) throws -> SegmentReader {
        guard let key = resource.keys[segment.keyNumber] else { throw SegmentFailure.wrongKey }
        return try SegmentReader(segment, resourceKey: key.secret, in: segments)
    }

    /// Acts on what reading a segment failed with: the block, or the whole segment, is a gap from now on. Readers that
    /// are not the owner only pass it by.
    package func condemn(_ segment: SegmentDescription, for failure: SegmentFailure) throws {
        guard isOwner else { return }
        switch failure {
        case .badBlock(let block): try index.markBad(segment.id, block: block)
        case .missing: try index.drop(segment.id, doomed: false)
        case .foreign, .wrongKey:
            try index.drop(segment.id, doomed: false)
            // The row is gone, so the file is never served again; that it could not be moved changes nothing.
            try? segments.quarantine(segment.id)
        case .unreadable: break
        }
    }

    // MARK: Counting

    /// Counts bytes that an origin sent; they are committed with the next change.
    package func countFetched(_ bytes: Int64) {
        counters.withLock { $0.fetched += bytes }
    }

    /// Bytes that origins have sent since the vault was made, those not yet committed included.
    package func bytesFetched() throws -> Int64 {
        try isOwner ? counters.withLock { $0.fetched } : index.settings().bytesFetched
    }

    /// Lets a commit take the count along.
    private func countingFetched(_ commit: (Int64) throws -> Void) throws {
        let total = counters.withLock { $0.fetched }
        try commit(total)
        counters.withLock { counters in
            guard total > counters.committed else { return }
            counters.committed = total
            // The count rests in a row that the backup holds too.
            counters.changesSinceBackup += 1
        }
    }

    /// Commits a count that no segment took along.
    package func flushCounters() throws {
        let isDue = counters.withLock { $0.fetched > $0.committed }
        if isDue { try countingFetched { try index.countFetched($0) } }
    }

    // MARK: Upkeep

    /// Notes that resources were read in this hour.
    package func touch(_ ids: [ResourceID]) throws {
        if isOwner, !ids.isEmpty { try index.touch(ids, now: now()) }
    }

    private func noteChange() { counters.withLock { $0.changesSinceBackup += 1 } }

    /// Backs the catalog up where it is 10 minutes or 1 000 changes behind.
    package func backUpCatalogIfDue() throws {
        let isDue = counters.withLock { counters in
            counters.changesSinceBackup >= 1000
                || (counters.changesSinceBackup > 0 && now() - counters.lastBackup >= 600)
        }
        if isDue { try backUpCatalog() }
    }

    /// Writes `catalog.backup` anew.
    package func backUpCatalog() throws {
        let changes = counters.withLock { $0.changesSinceBackup }
        try CatalogBackup.write(index, vault: folder, fileSystem: fileSystem)
        counters.withLock { counters in
            counters.changesSinceBackup -= changes
            counters.lastBackup = now()
        }
    }

    /// Removes the files of condemned segments, and then their names from the list. What cannot be removed stays on it
    /// for the next time: it is no reason to refuse a vault or to stop playing.
    private func finishDoomed() throws {
        while true {
            let doomed = try index.doomedSegments(limit: 256)
            let gone = doomed.filter { id in (try? segments.remove(id)) != nil }
                .filter { id in (try? segments.synchronizeName(of: id)) != nil }
            if gone.isEmpty { return }
            try index.forgetDoomed(gone)
        }
    }

    /// Closes the segments that the last owner left open, at the last block that opens. One that cannot be recovered
    /// is no reason to refuse the vault.
    private func recoverOpenSegments() throws {
        for (segment, resource) in try index.openSegments() {
            // Where the resource does not open nothing is known about the bytes, and nothing is condemned.
            guard let key = (try? index.resource(resource))?.keys[segment.keyNumber] else { continue }
            switch try SegmentRecovery.recover(segment, resourceKey: key.secret, in: segments) {
            case .recovered(let recovered): try closeRecovered(recovered)
            case .lost: try abandon(segment.id)
            case .unreadable: break
            }
        }
    }

    private func closeRecovered(_ segment: SegmentDescription) throws {
        do {
            try index.commit(segment, closed: true, fetched: 0)
        } catch let error as VaultError where error.code == .integrity {
            // Another segment holds these bytes by now.
            try abandon(segment.id)
        } catch let error as VaultError where error.code == .diskFull {
            // It stays open, as far as it was committed, for the next owner: a full disk can still be read.
        }
    }
}
