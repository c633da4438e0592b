package import VaultCrypto
package import VaultModel

/// A vault's folder: its index and its sealed segments, in the order that loses nothing.
///
/// The index may lag the data, never lead it: seal → write → sync the file → sync its folder where it is new → commit
/// the range. Deletion goes by list: the row is deleted and the id condemned in one commit, then the file goes.
/// Every call may block.
package final class VaultStore: Sendable {
    package let index: VaultIndex
    package let segments: any SegmentStore
    package let keyring: Keyring

    package let folder: String
    package let fileSystem: any FileSystem
    /// Whether this process may change the vault.
    package let isOwner: Bool
    private let lock: Locked<VaultLock?>
    /// The wall clock.
    package let now: @Sendable () -> Int64
    let counters = Locked(Counters())
    /// The room that the segment files take, and may take.
    package let room: StorageQuota
    /// Held while something is evicted: one at a time, and none evicts for what another has made room for.
    let eviction = Locked(EvictionQueue())
    /// Held while condemned files are removed, so that each is counted off once.
    let removal = Locked(())
    /// Given up where the disk has no room for what must be written.
    let reserve: Reserve
    /// Held while copies of keys are erased that are not needed any more.
    let erasing = Locked(())
    /// Held while `catalog.backup` is written anew.
    let backup = Locked(())
    let use = Locked(ResourceUse.none)
    /// What was done since it was opened.
    package let work = WorkCounters()
    /// Which resources change.
    package let changes = ChangeNotifier()

    struct Counters {
        /// Bytes that origins have sent since the vault was made.
        var fetched: Int64 = 0
        /// How many of them the index knows of.
        var committed: Int64 = 0
        /// Changes that `catalog.backup` does not have yet.
        var changesSinceBackup = 0
        /// Not by the wall clock: that may be set back.
        var lastBackup = ContinuousClock.now
        /// Bytes that were handed on and not stored, since the vault was opened.
        var passedThrough: Int64 = 0
        /// What was evicted since then.
        var evicted = EvictionCounters()
        /// When copies of keys were last erased.
        var lastErasure: ContinuousClock.Instant?
        /// Segments that were given up while the index took no write: they serve nothing, and their rows are to go.
        var abandoned: Set<SegmentID> = []
    }

    /// The plaintext bytes of a block in new segments. With half of it a random 64 KiB were 3 % sooner opened, and 256 KiB
    /// no sooner.
    package static let blockSize = 32 << 10

    init(
        folder: String, fileSystem: any FileSystem, index: VaultIndex, keyring: Keyring, lock: consuming VaultLock?,
        now: @escaping @Sendable () -> Int64
    ) {
        self.folder = folder
        self.fileSystem = fileSystem
        self.index = index
        self.keyring = keyring
        isOwner = lock != nil
        self.lock = Locked(lock)
        self.now = now
        segments = FolderSegmentStore(vault: folder, fileSystem: fileSystem)
        room = StorageQuota(folder: folder, fileSystem: fileSystem)
        reserve = Reserve(in: folder, fileSystem: fileSystem)
    }

    // MARK: Opening

    /// Whether a folder holds a vault.
    package static func exists(at folder: String, fileSystem: any FileSystem = PosixFileSystem()) -> Bool {
        fileSystem.exists(folder + "/index.sqlite")
    }

    /// Whether a folder holds a vault that has lost its index and kept what one can be made from.
    package static func hasLostIndex(at folder: String, fileSystem: any FileSystem = PosixFileSystem()) -> Bool {
        !exists(at: folder, fileSystem: fileSystem) && fileSystem.exists(folder + "/catalog.backup")
    }

    /// Why there is nothing to open in a folder.
    package static func absence(at folder: String, fileSystem: any FileSystem = PosixFileSystem()) -> VaultError {
        do throws(FileFailure) {
            _ = try fileSystem.names(in: folder)
        } catch where error.kind == .notPermitted {
            return VaultError(
                .storage, "the folder \(folder) may not be read by this user; run this as the vault's owner")
        } catch {
            // It is not there, or is no folder.
        }
        guard hasLostIndex(at: folder, fileSystem: fileSystem) else {
            return VaultError(.noVault, "there is no vault at \(folder); make one with init, or name its folder")
        }
        return VaultError(
            .integrity, "the vault at \(folder) has lost its index.sqlite; make it anew with index rebuild")
    }

    /// Refuses a folder in which somebody else could put another file in the place of one of the vault's.
    ///
    /// - Throws: ``VaultError`` with code `storage`.
    static func requireOwn(_ folder: String, _ fileSystem: any FileSystem) throws {
        do throws(FileFailure) {
            guard try fileSystem.isShared(folder) else { return }
        } catch {
            throw error.vaultError("the vault's folder cannot be looked at")
        }
        throw VaultError(
            .storage,
            "the vault's folder \(folder) is another user's, or others can write in it; run this as its owner, and chmod 700 it"
        )
    }

    /// Makes the folder of a new vault: owner's eyes only, every folder there and synced, the index empty.
    package static func create(
        at folder: String, keyring: Keyring, fileSystem: any FileSystem = PosixFileSystem()
    ) throws {
        do {
            try fileSystem.createDirectory(folder)
            try requireOwn(folder, fileSystem)
            let lock = try VaultLock(folder: folder)
            guard !exists(at: folder, fileSystem: fileSystem) else {
                throw VaultError(
                    .invalidArgument, "there is a vault at \(folder) already; open it, or name another folder")
            }
            // An empty index, and the empty backup that follows it, would make the loss final.
            guard !hasLostIndex(at: folder, fileSystem: fileSystem) else {
                throw absence(at: folder, fileSystem: fileSystem)
            }
            try FolderSegmentStore(vault: folder, fileSystem: fileSystem).prepare()
            // Under a temporary name until it is whole: a vault that was half made is none.
            let path = folder + "/index.sqlite"
            let temporary = path + ".new"
            for suffix in ["", "-wal", "-shm"] { try fileSystem.remove(temporary + suffix) }
            // The log of an index that is gone must not be taken for this one's.
            for suffix in ["-wal", "-shm"] { try fileSystem.remove(path + suffix) }
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
        guard exists(at: folder, fileSystem: fileSystem) else { throw absence(at: folder, fileSystem: fileSystem) }
        try requireOwn(folder, fileSystem)
        let path = folder + "/index.sqlite"
        switch access {
        case .reader:
            let index = try VaultIndex.open(at: path, keyring: keyring, readOnly: true)
            return VaultStore(
                folder: folder, fileSystem: fileSystem, index: index, keyring: keyring, lock: nil, now: now)
        case .owner:
            let lock = try VaultLock(folder: folder)
            // An owner that closed the index left no log.
            let wasKilled = fileSystem.exists(path + "-wal")
            let index = try Reserve(in: folder, fileSystem: fileSystem).givenUp {
                try VaultIndex.open(at: path, keyring: keyring, readOnly: false)
            }
            let store = VaultStore(
                folder: folder, fileSystem: fileSystem, index: index, keyring: keyring, lock: lock, now: now)
            // Damaged settings are told to those who ask for them, or would change them.
            if let fetched = try? index.settings().bytesFetched {
                store.counters.withLock { ($0.fetched, $0.committed) = (fetched, fetched) }
            }
            try store.recover(afterKill: wasKilled)
            try store.beginCounting()
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

    /// Lets another process own the vault.
    func giveUpLock() { lock.withLock { $0 = nil } }

    private func finishCounting() throws {
        try flushCounters()
        // What cannot be erased now is owed to the next owner.
        try? eraseTraces()
        if counters.withLock({ $0.changesSinceBackup }) > 0 { try backUpCatalog() }
    }

    // MARK: Resources

    /// Adds a resource.
    package func addResource(
        _ id: ResourceID, url: String, cacheKey: [UInt8], resourceClass: ResourceClass, fields: OriginFields? = nil,
        isDerived: Bool = false
    ) throws -> StoredResource {
        var metadata = ResourceMetadata(url: url, cacheKey: cacheKey, created: now())
        metadata.fields = fields
        metadata.isDerived = isDerived
        noteChange()
        defer { changes.note(id) }
        return try withDiskRoom {
            try index.addResource(id, metadata: metadata, resourceClass: resourceClass, now: now())
        }
    }

    /// Begins a new representation of a resource. What the resource held before stays until the new one has something to
    /// serve: ``serve(_:)``.
    ///
    /// - Parameter id: its name, where it has one already.
    package func startRepresentation(
        _ information: ContentInformation, of resource: inout StoredResource, id: RepresentationID? = nil,
        freshness: Freshness? = nil
    ) throws {
        let sequence = (resource.serving?.info.sequence ?? 0) + 1
        let info = RepresentationInfo(
            sequence: sequence, information: information, retrieved: now(), freshness: freshness)
        let representation = StoredRepresentation(
            id: try id ?? SecureRandom.identifier("representation id"), info: info, segments: [], badBlocks: [:])
        noteChange()
        try withDiskRoom { try index.add(representation, to: resource) }
        let isFirst = resource.serving == nil
        resource.serving = representation
        if isFirst || information.length == 0 { try serve(&resource) }
    }

    /// Makes the representation that was begun last the one that is read after a restart too. What the resource held
    /// before is condemned.
    package func serve(_ resource: inout StoredResource) throws {
        guard let serving = resource.serving, resource.metadata.serving != serving.id else { return }
        noteChange()
        resource.metadata = try withDiskRoom { try index.serve(serving.id, of: resource) }
        changes.note(resource.id)
        try finishDoomed()
    }

    /// Changes how long a resource is kept.
    ///
    /// - Parameter only: does nothing where it has another class than this one.
    /// - Returns: whether there is such a resource.
    @discardableResult
    package func setClass(
        _ resourceClass: ResourceClass, of id: ResourceID, only: ResourceClass? = nil
    ) throws -> Bool {
        noteChange()
        defer { changes.note(id) }
        return try withDiskRoom { try index.setClass(resourceClass, of: id, only: only) }
    }

    /// Writes what has become known of the serving representation.
    package func update(_ information: ContentInformation, of resource: inout StoredResource) throws {
        guard var serving = resource.serving else { return }
        serving.info.information = information
        noteChange()
        try withDiskRoom { try index.update(serving.info, of: serving.id, resource: resource) }
        changes.note(resource.id)
        resource.serving = serving
    }
}
