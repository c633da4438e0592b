import Foundation
import GRDB
import Synchronization
package import VaultCrypto
import VaultModel

/// The index, which records which ranges of each representation are sealed in which segments.
///
/// It is an SQLite database in WAL mode, used through GRDB. Every call may block.
package final class VaultIndex: Sendable {
    let database: IndexDatabase
    let keyring: Keyring
    /// The number of the locator from which this vault's resource ids are derived.
    package var locator: Int { locatorInUse.load(ordering: .acquiring) }
    private let locatorInUse: Atomic<Int>
    /// The wall-clock time, in seconds since 1970.
    package let now: @Sendable () -> Int64
    /// The path of the index file, and the file's state when it was opened as immutable; nil if it was opened in any
    /// other way.
    private let closedFile: (path: String, stamp: FileStamp)?
    /// The title ids that resources keep in their metadata; nil until the first lookup.
    let kept = Locked<KeptIDs?>(nil)

    /// The maximum number of revisions by which an index may be ahead of a keyring. No vault can have had more changes.
    package static let maxRevisionLead: Int64 = 1 << 32

    private init(
        _ database: IndexDatabase, keyring: Keyring, now: @escaping @Sendable () -> Int64,
        closedFile: (path: String, stamp: FileStamp)? = nil
    ) {
        self.database = database
        self.keyring = keyring
        self.now = now
        self.closedFile = closedFile
        locatorInUse = Atomic(database.locator)
    }

    // MARK: Tables

    /// The resources.
    package var resources: ResourceRows { ResourceRows(self) }
    /// The representations of the resources.
    package var representations: RepresentationRows { RepresentationRows(self) }
    /// The titles, and the resources that belong to them.
    package var titles: TitleRows { TitleRows(self) }
    /// How complete the titles are.
    package var completeness: TitleCompleteness { TitleCompleteness(self) }
    /// The short ids of the titles.
    package var titleIDs: TitleIDs { TitleIDs(self) }
    /// The files in packs.
    package var packs: PackRows { PackRows(self) }
    /// The records of all tables, and the generations that seal them.
    package var records: RecordRows { RecordRows(self) }

    // MARK: Opening

    /// Creates an empty index for a keyring.
    ///
    /// The file must exist and be empty. The caller creates it with mode 0600, because SQLite creates its side files
    /// with the same mode.
    package static func create(at path: String, keyring: Keyring) throws {
        let settings = try VaultRow.seal(VaultSettings(), keyring)
        try IndexDatabase.creating(at: path) { db in
            try db.inTransaction {
                try IndexDatabase.createSchema(db) {
                    for number in keyring.activeGenerations { try GenerationRow.insert(number, db) }
                    try VaultRow.insert(
                        keyring.vaultID, revision: keyring.revision, locator: keyring.newestLocator,
                        settings: settings, db)
                }
                return .commit
            }
        }
    }

    /// Opens an index, and checks that the keyring belongs to this vault and is not an older one.
    ///
    /// A reader needs no free disk space (see ``nameForFullDisk(_:)``), nor a writable folder if the last owner closed
    /// the index (see ``nameForReadOnlyFolder(_:)``).
    package static func open(
        at path: String, keyring: Keyring, readOnly: Bool, now: @escaping @Sendable () -> Int64 = WallClock.now
    ) throws -> VaultIndex {
        for suffix in ["", "-wal", "-shm", "-journal"] { try RegularFile.require(path + suffix) }
        if readOnly, let stamp = stamp(ofClosed: path) {
            return try connect(toClosed: path, stamp, keyring: keyring, now: now)
        }
        do {
            return try connect(to: path, keyring: keyring, readOnly: readOnly, now: now)
        } catch let error as VaultError where error.code == .diskFull && readOnly {
            return try connect(to: nameForFullDisk(path), keyring: keyring, readOnly: true, now: now)
        }
    }

    static func connect(
        to path: String, keyring: Keyring, readOnly: Bool, now: @escaping @Sendable () -> Int64
    ) throws -> VaultIndex {
        VaultIndex(try IndexDatabase(at: path, keyring: keyring, readOnly: readOnly), keyring: keyring, now: now)
    }

    /// Opens an index as immutable. Every read then checks that the file has not changed.
    ///
    /// - Parameter stamp: the state of the file before it was opened.
    static func connect(
        toClosed path: String, _ stamp: FileStamp, keyring: Keyring, now: @escaping @Sendable () -> Int64
    ) throws -> VaultIndex {
        let database = try IndexDatabase(at: nameForReadOnlyFolder(path), keyring: keyring, readOnly: true)
        return VaultIndex(database, keyring: keyring, now: now, closedFile: (path, stamp))
    }

    /// Returns the name of an index for a reader whose disk has no space for `-shm`.
    ///
    /// With the plain path, SQLite begins by truncating `-shm`. With this name, SQLite uses an owner's `-shm`, if there
    /// is one, and otherwise keeps its own in memory until an owner opens the index. In both cases, nothing is written.
    static func nameForFullDisk(_ path: String) -> String {
        URL(fileURLWithPath: path).absoluteString + "?readonly_shm=1"
    }

    /// Returns the name of an index without a log, for a reader that cannot write to its folder.
    ///
    /// A reader of a database in WAL mode needs a `-shm`, which SQLite cannot create in that folder. With this name,
    /// SQLite treats the file as immutable, and needs no other file and no lock. It would ignore a log if there were
    /// one.
    static func nameForReadOnlyFolder(_ path: String) -> String {
        URL(fileURLWithPath: path).absoluteString + "?immutable=1"
    }

    /// Returns the state of an index file if its folder cannot be written and its last owner closed the index; nil for
    /// any other index.
    private static func stamp(ofClosed path: String) -> FileStamp? {
        let files = FileManager.default
        let folder = PosixFileSystem.folder(of: path)
        guard !files.isWritableFile(atPath: folder), !files.fileExists(atPath: path + "-wal") else { return nil }
        return FileStamp(path: path)
    }

    /// Whether the index was opened as immutable, because its folder cannot be written.
    package var isReadAsClosed: Bool { closedFile != nil }

    /// Requires that an index that was opened as immutable has not changed. Its file system may be writable from
    /// elsewhere, and SQLite does not check for changes.
    private func requireUnchanged() throws {
        guard let (path, stamp) = closedFile else { return }
        guard FileStamp(path: path) == stamp, !FileManager.default.fileExists(atPath: path + "-wal") else {
            throw VaultError(
                .owned, "an owner has changed the vault since it was opened to read; open it again once that has ended")
        }
    }

    /// Checkpoints the log into the file and closes the connection.
    package func close() throws { try database.close() }

    // MARK: Work

    func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
        let result = Swift.Result { try database.read(body) }
        // The check comes before the result is used, because a read during a change may return anything, even an error.
        try requireUnchanged()
        return try result.get()
    }

    func write<Result>(_ body: (Database) throws -> Result) throws -> Result { try database.write(body) }

    /// Writes together with other threads, with one sync. See ``IndexDatabase/writeTogether(_:)``.
    func writeTogether<Result: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Result
    ) throws -> Result { try database.writeTogether(body) }

    /// Makes the rows that were written without a sync durable.
    package func synchronize() throws { try write { db in try VaultRow.touch(db) } }

    /// Writes rows that nothing depends on yet, without a sync. See ``IndexDatabase/writeWithoutSync(_:)``.
    func writeWithoutSync<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try database.writeWithoutSync(body)
    }

    /// Returns the keys for a database's records.
    ///
    /// - Throws: ``VaultError`` with code `foreignKeyring` if the keyring has no record keys. In that case, a record
    ///   that does not open is not damaged.
    func recordKeys(_ db: Database) throws -> RecordKeys {
        guard keyring.hasRecordKeys else { throw RecordKeys.locked }
        return try RecordKeys(keyring, db)
    }

    // MARK: The vault's row

    /// Records the keyring's revision, so that an older keyring no longer opens the vault.
    package func recordKeyringRevision() throws {
        try write { db in try VaultRow.record(revision: keyring.revision, db) }
    }

    /// Requires that the index still has the schema that this program creates.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if the schema differs.
    package func requireOwnSchema() throws {
        try read { db in try SchemaCheck.require(IndexSchema.first, optional: IndexSchema.later, db) }
    }

    /// Switches to another locator, which the index must already name durably.
    func use(locator: Int) { locatorInUse.store(locator, ordering: .releasing) }

    /// Returns whether the owner has changed the keyring since this process read it.
    ///
    /// If so, data that does not open may still be sound.
    package func isNewerThanKeyring() throws -> Bool {
        try read { db in (try VaultRow.fetch(db)?.keyringRevision ?? 0) > keyring.revision }
    }
}
