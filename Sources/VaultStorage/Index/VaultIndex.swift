import Foundation
import GRDB
import Synchronization
package import VaultCrypto
import VaultModel

/// The index: which ranges of which representation are sealed in which segment.
///
/// It is an SQLite database in WAL mode, used through GRDB. Every call may block.
package final class VaultIndex: Sendable {
    let database: IndexDatabase
    let keyring: Keyring
    /// The locator from which this vault's resource ids are derived.
    package var locator: Int { locatorInUse.load(ordering: .acquiring) }
    private let locatorInUse: Atomic<Int>
    /// The wall clock, in seconds since 1970.
    let now: @Sendable () -> Int64
    /// The path of the file, and its state when it was opened as immutable; nil if it was opened in any other way.
    private let closedFile: (path: String, stamp: FileStamp)?
    /// The title ids that resources keep; nil until the first lookup.
    let kept = Locked<KeptIDs?>(nil)

    /// Maximum lead of an index's revision over a keyring's: no vault can have had more changes.
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

    // MARK: Opening

    /// Creates an empty index for a keyring.
    ///
    /// The file must exist and be empty: the caller created it with mode 0600, and SQLite gives its side files the
    /// same mode.
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

    /// Opens an index, and checks that the keyring is this vault's and not an older one.
    ///
    /// A reader needs no free space on the disk (see ``nameForFullDisk(_:)``), and no writable folder if the last owner
    /// closed the index (see ``nameForReadOnlyFolder(_:)``).
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
        to path: String, keyring: Keyring, readOnly: Bool, now: @escaping @Sendable () -> Int64 = WallClock.now
    ) throws -> VaultIndex {
        VaultIndex(try IndexDatabase(at: path, keyring: keyring, readOnly: readOnly), keyring: keyring, now: now)
    }

    /// Opens an index as immutable; every read then checks that the file has not changed.
    ///
    /// - Parameter stamp: the state of the file before it was opened.
    static func connect(
        toClosed path: String, _ stamp: FileStamp, keyring: Keyring,
        now: @escaping @Sendable () -> Int64 = WallClock.now
    ) throws -> VaultIndex {
        let database = try IndexDatabase(at: nameForReadOnlyFolder(path), keyring: keyring, readOnly: true)
        return VaultIndex(database, keyring: keyring, now: now, closedFile: (path, stamp))
    }

    /// Returns the name of an index for a reader whose disk has no space for `-shm`.
    ///
    /// Without this name, SQLite begins by truncating `-shm`. With it, the reader uses the `-shm` of an owner, if there
    /// is one, and otherwise keeps its own in memory until an owner opens the index. SQLite does both, and nothing is
    /// written.
    static func nameForFullDisk(_ path: String) -> String {
        URL(fileURLWithPath: path).absoluteString + "?readonly_shm=1"
    }

    /// Returns the name of an index without a log, for a reader that cannot write to its folder.
    ///
    /// A reader of a database in WAL mode needs a `-shm`, which SQLite cannot create there. With this name, SQLite
    /// treats the file as immutable, and needs no other file and no lock. It would not read a log.
    static func nameForReadOnlyFolder(_ path: String) -> String {
        URL(fileURLWithPath: path).absoluteString + "?immutable=1"
    }

    /// Returns the state of an index that its last owner closed, in a folder that cannot be written; nil for any other
    /// index.
    private static func stamp(ofClosed path: String) -> FileStamp? {
        let files = FileManager.default
        let folder = PosixFileSystem.folder(of: path)
        guard !files.isWritableFile(atPath: folder), !files.fileExists(atPath: path + "-wal") else { return nil }
        return FileStamp(path: path)
    }

    /// Whether it was opened as immutable, because its folder cannot be written.
    package var isReadAsClosed: Bool { closedFile != nil }

    /// Requires that an index that was opened as immutable has not changed: its file system may be writable elsewhere,
    /// and SQLite does not check.
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
        // A read during a change may return anything, including an error.
        try requireUnchanged()
        return try result.get()
    }

    func write<Result>(_ body: (Database) throws -> Result) throws -> Result { try database.write(body) }

    /// Writes together with other threads, with one sync: see ``IndexDatabase/writeTogether(_:)``.
    func writeTogether<Result: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Result
    ) throws -> Result { try database.writeTogether(body) }

    /// Makes durable what was written without a sync.
    package func synchronize() throws { try write { db in try VaultRow.touch(db) } }

    /// Writes rows that nothing depends on yet: see ``IndexDatabase/writeWithoutSync(_:)``.
    func writeWithoutSync<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try database.writeWithoutSync(body)
    }

    // MARK: The vault's row

    /// Records the keyring's revision, so that an older keyring no longer opens the vault.
    package func recordKeyringRevision() throws {
        try write { db in try VaultRow.record(revision: keyring.revision, db) }
    }

    /// Requires that the index still has the schema that this program creates.
    ///
    /// - Throws: ``VaultError`` with code `integrity`.
    package func requireOwnSchema() throws {
        try read { db in try SchemaCheck.require(IndexSchema.first, optional: IndexSchema.later, db) }
    }

    /// Switches to another locator, which the index already names durably.
    func use(locator: Int) { locatorInUse.store(locator, ordering: .releasing) }

    /// Returns whether the owner has changed keys since this process read the keyring.
    ///
    /// If so, data that does not open may still be sound.
    package func isNewerThanKeyring() throws -> Bool {
        try read { db in (try VaultRow.fetch(db)?.keyringRevision ?? 0) > keyring.revision }
    }

    package func settings() throws -> VaultSettings {
        try read { db in try self.settings(db) }
    }

    func settings(_ db: Database) throws -> VaultSettings { try openedSettings(db, withNetwork: true).settings }

    /// Opens the settings, and returns the locator that the row names.
    ///
    /// It may differ from ``locator``: the owner may have changed it since this index was opened, and ``locator``
    /// follows a change only after its transaction.
    ///
    /// - Parameter withNetwork: whether to open the network settings, too.
    func openedSettings(
        _ db: Database, withNetwork: Bool = false
    ) throws -> (settings: VaultSettings, locator: Int) {
        guard let row = try VaultRow.fetch(db), let locator = row.locator, var settings = try row.openSettings(keyring)
        else {
            throw VaultError(
                .integrity, "the vault's settings failed authentication; rebuild the index", hint: .rebuildIndex)
        }
        if withNetwork { try addNetwork(to: &settings, db) }
        return (settings, locator)
    }

    /// Changes settings; those that `change` leaves alone stay unchanged.
    package func changeSettings(_ change: (inout VaultSettings) throws -> Void) throws {
        try write { db in try self.changeSettings(db, change) }
    }

    func changeSettings(_ db: Database, _ change: (inout VaultSettings) throws -> Void) throws {
        var (settings, locator) = try openedSettings(db, withNetwork: true)
        try change(&settings)
        try write(settings, locator: locator, db)
    }

    /// Seals and writes settings, with the locator that the row is to name.
    func write(_ settings: VaultSettings, locator: Int, _ db: Database) throws {
        var settings = settings
        try settings.bindNetwork()
        try VaultRow.update(settings: VaultRow.seal(settings, keyring), locator: locator, db)
        try write(settings.network, db)
    }

    /// Raises the count of fetched bytes, in the transaction that stores these bytes.
    func countFetched(_ total: Int64, _ db: Database) throws {
        var (settings, locator) = try openedSettings(db)
        guard total > settings.bytesFetched else { return }
        settings.bytesFetched = total
        try write(settings, locator: locator, db)
    }

    /// Records the number of bytes fetched since the vault was created.
    package func countFetched(_ total: Int64) throws {
        try write { db in try self.countFetched(total, db) }
    }
}
