package import VaultCrypto
package import VaultModel

/// A vault's folder: its index and its sealed segments.
///
/// The order of its writes ensures that nothing is lost. The index may lag behind the data, but is never ahead of it:
/// seal → write → sync the file → sync its folder if the file is new → commit the range. To delete a segment, one
/// commit deletes the row and records the id as a pending deletion; then the file is removed. Every call may block.
package final class VaultStore: Sendable {
    package let index: VaultIndex
    /// The files of the segments.
    package let segmentFiles: any SegmentStore
    package let keyring: Keyring

    package let folder: String
    package let fileSystem: any FileSystem
    /// Whether this process may change the vault.
    package let isOwner: Bool
    private let lock: Locked<VaultLock?>
    /// The disk space that segment files use, and the limits on it.
    package let quota: StorageQuota
    let removal: SegmentRemoval
    package let catalogBackup: CatalogBackup
    package let erasure: KeyErasure
    let fetched = FetchedBytes()
    /// Counters of the work done since the store was opened.
    package let work = WorkCounters()
    /// Reports which resources change.
    package let changes = ChangeNotifier()
    /// A closure that is called after rows were restored from `catalog.backup`, because earlier reads of these rows are
    /// out of date. The closure may block.
    package let onRestore = Locked<@Sendable () -> Void>({})
    /// The last verification of the whole vault by this store; nil if there was none.
    let verification = Locked<VerificationRecord?>(nil)

    /// The number of plaintext bytes in a block of a new segment.
    ///
    /// With blocks of half this size, a random range of 64 KiB opened 3 % sooner, and one of 256 KiB no sooner.
    package static let blockSize = 32 << 10

    init(
        folder: String, fileSystem: any FileSystem, index: VaultIndex, keyring: Keyring, lock: consuming VaultLock?
    ) {
        self.folder = folder
        self.fileSystem = fileSystem
        self.index = index
        self.keyring = keyring
        isOwner = lock != nil
        self.lock = Locked(lock)
        segmentFiles = FolderSegmentStore(vault: folder, fileSystem: fileSystem)
        let account = QuotaAccount(folder: folder, fileSystem: fileSystem)
        let reserve = Reserve(in: folder, fileSystem: fileSystem)
        removal = SegmentRemoval(index, segmentFiles, account)
        catalogBackup = CatalogBackup(index, vault: folder, fileSystem: fileSystem)
        let evictor = Evictor(
            index: index, account: account, reserve: reserve,
            removingFiles: { [removal] ids in try removal.removeFiles(of: ids).bytes },
            reporting: { [catalogBackup, changes] resources, deleted in
                catalogBackup.noteChanges(deleted)
                changes.note(resources)
            })
        quota = StorageQuota(
            account: account, evictor: evictor, index: index, reserve: reserve, blockSize: VaultStore.blockSize,
            isOwner: isOwner)
        erasure = KeyErasure(index, catalogBackup, quota, vault: folder, fileSystem: fileSystem)
    }

    /// Requires that this process may change the vault.
    ///
    /// - Throws: ``VaultError`` with code `owned` if this process does not own the vault.
    package func requireOwner(to act: String) throws {
        guard isOwner else { throw VaultError(.owned, "only the owner of a vault \(act); open it as the owner") }
    }

    /// The segments: their rows together with their files.
    package var segments: SegmentTable { SegmentTable(store: self) }

    // MARK: Opening

    /// Returns whether a folder holds a vault.
    package static func exists(at folder: String, fileSystem: any FileSystem = PosixFileSystem()) -> Bool {
        fileSystem.exists(folder + "/index.sqlite")
    }

    /// Returns whether a folder holds a vault that has lost its index, but has the backup to rebuild it from.
    package static func hasLostIndex(at folder: String, fileSystem: any FileSystem = PosixFileSystem()) -> Bool {
        !exists(at: folder, fileSystem: fileSystem) && CatalogFiles(in: folder).exist(fileSystem)
    }

    /// Returns the error that explains why a folder has nothing to open.
    package static func absence(at folder: String, fileSystem: any FileSystem = PosixFileSystem()) -> VaultError {
        do throws(FileFailure) {
            _ = try fileSystem.names(in: folder)
        } catch  where error.kind == .notPermitted {
            return VaultError(
                .storage, "this user cannot read the folder \(folder); run this as the vault's owner")
        } catch {
            // The path does not exist, or is not a folder.
        }
        guard hasLostIndex(at: folder, fileSystem: fileSystem) else {
            return VaultError(
                .noVault, "there is no vault at \(folder); create one, or give its folder", hint: .createVault)
        }
        return VaultError(
            .integrity, "the vault at \(folder) has lost its index.sqlite; rebuild it", hint: .rebuildIndex)
    }

    /// Refuses a folder in which another user could replace one of the vault's files.
    ///
    /// - Throws: ``VaultError`` with code `storage`.
    static func requireOwn(_ folder: String, _ fileSystem: any FileSystem) throws {
        do throws(FileFailure) {
            guard try fileSystem.isShared(folder) else { return }
        } catch {
            throw error.vaultError("the vault's folder cannot be examined")
        }
        throw VaultError(
            .storage,
            """
            the vault's folder \(folder) belongs to another user, or others can write to it; run this as its owner, \
            and chmod 700 it
            """
        )
    }

    /// Creates the folder of a new vault with an empty index, accessible only to its owner.
    ///
    /// All of its folders are created and synced.
    package static func create(
        at folder: String, keyring: Keyring, fileSystem: any FileSystem = PosixFileSystem()
    ) throws {
        do {
            try fileSystem.createDirectory(folder)
            try requireOwn(folder, fileSystem)
            let lock = try VaultLock(folder: folder)
            guard !exists(at: folder, fileSystem: fileSystem) else {
                throw VaultError(
                    .invalidArgument, "there is already a vault at \(folder); open it, or give another folder")
            }
            // A new empty index, and the empty backup made from it, would make the loss of the old index permanent.
            guard !hasLostIndex(at: folder, fileSystem: fileSystem) else {
                throw absence(at: folder, fileSystem: fileSystem)
            }
            try FolderSegmentStore(vault: folder, fileSystem: fileSystem).prepare()
            // The index has a temporary name until it is complete, so that a half-created vault does not count as a
            // vault.
            let path = folder + "/index.sqlite"
            let temporary = path + ".new"
            for suffix in ["", "-wal", "-shm"] { try fileSystem.remove(temporary + suffix) }
            // SQLite must not mistake the log of a lost index for the log of the new one.
            for suffix in ["-wal", "-shm"] { try fileSystem.remove(path + suffix) }
            _ = try fileSystem.create(temporary)
            try VaultIndex.create(at: temporary, keyring: keyring)
            try fileSystem.open(temporary, writable: true).synchronize()
            try fileSystem.rename(temporary, to: path)
            try fileSystem.synchronizeDirectory(folder)
            try fileSystem.synchronizeDirectory(PosixFileSystem.folder(of: folder))
            _ = consume lock
        } catch let failure as FileFailure {
            throw failure.vaultError("the vault's folder cannot be created")
        }
        let store = try open(at: folder, keyring: keyring, access: .owner, fileSystem: fileSystem)
        try store.catalogBackup.write()
        try store.close()
    }

    /// What an opened store may do with the vault.
    package enum Access: Sendable {
        /// Change the vault; only one process at a time can do so.
        case owner
        /// Read the vault, even while another process owns it.
        case reader
    }

    /// Opens a vault.
    ///
    /// An owner takes the lock, finishes pending deletions, and recovers the segments that were left open. It examines
    /// nothing else, so that a vault with a million segments opens as fast as one with ten.
    package static func open(
        at folder: String, keyring: Keyring, access: Access, fileSystem: any FileSystem = PosixFileSystem(),
        now: @escaping @Sendable () -> Int64 = WallClock.now
    ) throws -> VaultStore {
        guard exists(at: folder, fileSystem: fileSystem) else { throw absence(at: folder, fileSystem: fileSystem) }
        try requireOwn(folder, fileSystem)
        let path = folder + "/index.sqlite"
        switch access {
        case .reader:
            let index = try VaultIndex.open(at: path, keyring: keyring, readOnly: true, now: now)
            return VaultStore(
                folder: folder, fileSystem: fileSystem, index: index, keyring: keyring, lock: nil)
        case .owner:
            let lock = try VaultLock(folder: folder)
            // A log exists only if the last owner did not close the index.
            let wasKilled = fileSystem.exists(path + "-wal")
            let index = try Reserve(in: folder, fileSystem: fileSystem).withReserve {
                try VaultIndex.open(at: path, keyring: keyring, readOnly: false, now: now)
            }
            let store = VaultStore(
                folder: folder, fileSystem: fileSystem, index: index, keyring: keyring, lock: lock)
            // Damaged settings are reported when a caller reads or changes them.
            if let fetched = try? index.settings().bytesFetched { store.fetched.begin(at: fetched) }
            try Recovery(store).run()
            try store.beginCounting()
            // It is unknown how many changes the backup lacks after an owner was killed.
            if wasKilled { store.noteChange() }
            return store
        }
    }

    /// Commits the counters, backs up the catalog if it changed, closes the index, and releases the lock.
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

    /// Releases the lock, so that another process can own the vault.
    func giveUpLock() { lock.withLock { $0 = nil } }

    private func finishCounting() throws {
        try flushCounters()
        // An erasure that fails now stays pending for the next owner.
        try? erasure.carryOut()
        if catalogBackup.isBehind { try catalogBackup.write() }
    }
}
