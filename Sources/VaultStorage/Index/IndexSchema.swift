import Foundation
import GRDB
import VaultModel

/// The index's tables, as the vault format defines them.
enum IndexSchema {
    static let applicationID = 0x4D56_4C54
    /// The supported format versions. Version 2 added packs, version 3 grants and the download queue, version 4 the
    /// network row and subscriptions, and version 5 covers and viewers. Version 6 seals records under generations.
    static let versions = 1...6

    /// The tables whose rows `catalog.backup` keeps, in an order that satisfies the foreign keys.
    static let catalogTables = ["vault", "generation", "resource", "resourceKey", "representation"]

    static let vault = """
        CREATE TABLE vault (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16), keyringRevision INTEGER NOT NULL, \
        locator INTEGER NOT NULL, settings BLOB NOT NULL) WITHOUT ROWID
        """
    static let generation = """
        CREATE TABLE generation (number INTEGER PRIMARY KEY NOT NULL, \
        state TEXT NOT NULL CHECK (state IN ('active', 'retiring')))
        """
    static let resource = """
        CREATE TABLE resource (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 32), key INTEGER NOT NULL, \
        metadata BLOB NOT NULL, class TEXT NOT NULL CHECK (class IN ('pinned', 'download', 'cache')), \
        accessed INTEGER NOT NULL) WITHOUT ROWID
        """
    static let resourceKey = """
        CREATE TABLE resourceKey (resource BLOB NOT NULL REFERENCES resource(id) ON UPDATE CASCADE ON DELETE CASCADE, \
        number INTEGER NOT NULL CHECK (number >= 1), generation INTEGER NOT NULL REFERENCES generation(number), \
        wrapped BLOB NOT NULL CHECK (length(wrapped) = 60), PRIMARY KEY (resource, number)) WITHOUT ROWID
        """
    static let resourceKeyByGeneration = "CREATE INDEX resourceKeyByGeneration ON resourceKey (generation)"
    static let representation = """
        CREATE TABLE representation (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16), \
        resource BLOB NOT NULL REFERENCES resource(id) ON UPDATE CASCADE, \
        state TEXT NOT NULL CHECK (state IN ('filling', 'serving', 'superseded')), info BLOB NOT NULL) WITHOUT ROWID
        """
    static let representationByResource = "CREATE INDEX representationByResource ON representation (resource)"
    static let segment = """
        CREATE TABLE segment (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16), \
        representation BLOB NOT NULL REFERENCES representation(id), key INTEGER NOT NULL, \
        blockSize INTEGER NOT NULL, start INTEGER NOT NULL CHECK (start >= 0), \
        length INTEGER NOT NULL CHECK (length BETWEEN 0 AND 8388608), \
        state TEXT NOT NULL CHECK (state IN ('open', 'closed')), accessed INTEGER NOT NULL) WITHOUT ROWID
        """
    static let segmentByPlace = "CREATE INDEX segmentByPlace ON segment (representation, start)"
    static let badBlock = """
        CREATE TABLE badBlock (segment BLOB NOT NULL REFERENCES segment(id) ON DELETE CASCADE, \
        block INTEGER NOT NULL, PRIMARY KEY (segment, block)) WITHOUT ROWID
        """
    static let doomed = "CREATE TABLE doomed (segment BLOB PRIMARY KEY NOT NULL) WITHOUT ROWID"

    static let owed = "CREATE TABLE owed (what TEXT PRIMARY KEY NOT NULL, number INTEGER NOT NULL) WITHOUT ROWID"

    static let erased = "CREATE TABLE erased (record TEXT NOT NULL, id BLOB NOT NULL)"

    static let part = """
        CREATE TABLE part (title BLOB NOT NULL REFERENCES resource(id) ON UPDATE CASCADE ON DELETE CASCADE, \
        resource BLOB NOT NULL REFERENCES resource(id) ON UPDATE CASCADE ON DELETE CASCADE, \
        PRIMARY KEY (title, resource)) WITHOUT ROWID
        """
    static let partByResource = "CREATE INDEX partByResource ON part (resource)"
    static let packedPart = """
        CREATE TABLE packedPart (id BLOB NOT NULL CHECK (length(id) = 32), \
        pack BLOB NOT NULL REFERENCES resource(id) ON UPDATE CASCADE ON DELETE CASCADE, entry BLOB NOT NULL, \
        PRIMARY KEY (id, pack)) WITHOUT ROWID
        """
    static let packedPartByPack = "CREATE INDEX packedPartByPack ON packedPart (pack)"

    static let accessGrant = """
        CREATE TABLE accessGrant (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16), record BLOB NOT NULL) \
        WITHOUT ROWID
        """
    static let download = """
        CREATE TABLE download (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16), record BLOB NOT NULL) \
        WITHOUT ROWID
        """
    static let network = """
        CREATE TABLE network (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16), record BLOB NOT NULL) \
        WITHOUT ROWID
        """
    static let subscription = """
        CREATE TABLE subscription (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16), record BLOB NOT NULL) \
        WITHOUT ROWID
        """
    static let viewer = """
        CREATE TABLE viewer (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16), record BLOB NOT NULL) \
        WITHOUT ROWID
        """
    static let share = """
        CREATE TABLE share (id BLOB PRIMARY KEY NOT NULL REFERENCES resource(id) ON UPDATE CASCADE ON DELETE CASCADE, \
        record BLOB NOT NULL) WITHOUT ROWID
        """
    static let position = """
        CREATE TABLE position (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16), record BLOB NOT NULL) \
        WITHOUT ROWID
        """

    static let cover = """
        CREATE TABLE cover (resource BLOB NOT NULL REFERENCES resource(id) ON UPDATE CASCADE ON DELETE CASCADE, \
        picture BLOB NOT NULL)
        """
    static let coverByResource = "CREATE INDEX coverByResource ON cover (resource)"

    static let all = [
        vault, generation, resource, resourceKey, resourceKeyByGeneration, representation, representationByResource,
        segment, segmentByPlace, badBlock, doomed, owed, part, partByResource, packedPart, packedPartByPack,
        accessGrant, download, network, subscription, cover, coverByResource, viewer, share, position, erased,
    ]

    /// The tables and indices that an older vault may lack. An owner adds them when it opens the vault, but readers do
    /// without them.
    static let later = [
        owed, part, partByResource, packedPart, packedPartByPack, accessGrant, download, network, subscription,
        cover, coverByResource, viewer, share, position, erased,
    ]

    /// The tables and indices that every vault has.
    static let first = all.filter { !later.contains($0) }

    /// The names of the tables.
    static let tableNames = Set(
        all.filter { $0.hasPrefix("CREATE TABLE ") }.map { String($0.split(separator: " ")[2]) })

    /// Returns a statement that creates a table or an index unless it exists.
    static func ifAbsent(_ statement: String) -> String {
        let words = statement.split(separator: " ", maxSplits: 2)
        return "\(words[0]) \(words[1]) IF NOT EXISTS \(words[2])"
    }

    /// Returns whether a database has a table or an index that an older vault may lack.
    static func has(_ statement: String, _ db: Database) throws -> Bool {
        let name = String(statement.split(separator: " ")[2])
        let statement = try db.cachedStatement(sql: "SELECT 1 FROM sqlite_master WHERE name = ?")
        return try Bool.fetchOne(statement, arguments: [name]) ?? false
    }

    /// Returns whether a database, attached or not, has a table that an older vault may lack.
    static func hasTable(_ name: String, of schema: String = "main", _ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "SELECT 1 FROM \(schema).sqlite_master WHERE type = 'table' AND name = '\(name)'")
        return try Bool.fetchOne(statement) ?? false
    }

    static let catalog = [
        vault, generation, resource, resourceKey, resourceKeyByGeneration, representation, representationByResource,
    ]

    /// The tables and indices that the backup of an older vault may lack.
    static let laterCatalog = [
        packedPart, packedPartByPack, accessGrant, download, network, subscription, cover, coverByResource, viewer,
        share, position,
    ]

    /// The tables and indices of one kind of file: those that every vault has, and those that an older vault may lack.
    struct Contents: Sendable {
        let required: [String]
        let optional: [String]

        /// All statements, required and optional.
        var statements: [String] { required + optional }

        static let ofIndex = Contents(required: first, optional: later)
        static let ofCatalog = Contents(required: catalog, optional: laterCatalog)
    }
}

extension Identifier {
    /// The bytes as a column stores them.
    var data: Data { Data(bytes) }

    /// Creates an identifier from a column's bytes; nil if their count is wrong, which the schema forbids.
    init?(_ data: Data) { self.init(bytes: data.array) }
}

extension [UInt8] {
    /// The bytes as a column stores them.
    var data: Data { Data(self) }
}

extension Data {
    /// A column's bytes, copied all at once rather than one by one, as `Array(self)` would copy them.
    var array: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }
}

/// Runs index work and translates SQLite's errors into the vault's.
enum IndexError {
    static func translating<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw vaultError(error)
        } catch is RowDecodingError {
            throw damaged
        }
    }

    /// Runs work on rows. Returns nil if a row is damaged. A disk failure or a lack of memory does not count as damage.
    static func nilIfDamaged<Result>(_ body: () throws -> Result?) throws -> Result? {
        do {
            return try translating(body)
        } catch let error as VaultError where error.code == .integrity {
            return nil
        }
    }

    /// The error for a row that holds a value that this version never writes.
    static var damaged: VaultError {
        VaultError(
            .integrity,
            "a row of the index is damaged; remove the resource, or rebuild the index", hint: .rebuildIndex)
    }

    /// Returns the error for an index whose records are sealed under a generation that has been destroyed.
    ///
    /// - Parameter generation: the destroyed generation; nil for an index of a format version that sealed no records
    ///   under generations.
    static func olderCopy(_ generation: Int?) -> VaultError {
        VaultError(
            .foreignKeyring,
            "this copy of the vault is older than its keys: \(generation.map { "generation \($0)" } ?? "the key"), "
                + "which sealed its records, was destroyed since; use the keyring of the copy's time, or a newer copy. "
                + "Nothing was changed")
    }

    private static func vaultError(_ error: DatabaseError) -> VaultError {
        switch cause(of: error) {
        case .SQLITE_FULL:
            VaultError(.diskFull, "the index cannot grow: no space left on the disk; free some space and try again")
        case .SQLITE_CORRUPT, .SQLITE_NOTADB:
            VaultError(.integrity, "the index is damaged; rebuild it", hint: .rebuildIndex)
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            VaultError(.owned, "another program is using the index; try again when it is done")
        case .SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM:
            VaultError(
                .storage,
                "the index cannot be opened or written; check the owner and mode of the vault's folder, and that its "
                    + "file system is not read-only", hint: .writablePath)
        case .SQLITE_NOMEM:
            VaultError(
                .storage,
                "memory ran out at work on the index; let this process use more memory, or end others, and try again")
        default:
            // The message has SQLite's number and name of the result code, without bound values or statements.
            VaultError(.storage, "SQLite error in the index: \(error.resultCode)")
        }
    }

    /// Returns the cause of an error. Errors in the log's index file, `-shm`, have result codes of their own.
    private static func cause(of error: DatabaseError) -> ResultCode {
        switch error.extendedResultCode {
        case .SQLITE_IOERR_SHMSIZE: .SQLITE_FULL
        case .SQLITE_IOERR_NOMEM: .SQLITE_NOMEM
        // A reader that does not write `-shm` gets these while a new owner recreates it.
        case .SQLITE_READONLY_RECOVERY, .SQLITE_READONLY_CANTLOCK, .SQLITE_READONLY_CANTINIT: .SQLITE_BUSY
        default: error.resultCode
        }
    }
}

/// The values that the index's plain columns may hold.
///
/// No tag protects these columns. A number is checked against its bounds when it is read, and a row with an invalid
/// value counts as damaged.
enum PlainColumn {
    /// The valid numbers of keys and generations: from 1 to the maximum of the u32 that holds them in associated data.
    static let numbers = 1...Int(UInt32.max)
    /// The revisions that a keyring file can hold.
    static let revisions = 0...ContentInformation.maxBytes
    /// The valid hours, in seconds since 1970. They extend to the end of the year 9999.
    static let hours: ClosedRange<Int64> = 0...253_402_297_200

    /// Returns the hour in which a moment lies, as a column stores it.
    ///
    /// The moment is clamped, so that a clock that is far off creates no invalid row.
    static func hour(of moment: Int64) -> Int64 {
        let seconds = min(max(moment, hours.lowerBound), hours.upperBound)
        return seconds - seconds % 3600
    }

    // The following are the same checks in SQL, for sums and selections.

    /// Returns the SQL condition that a column holds an integer within a range.
    ///
    /// The unary `+` keeps SQLite from using an SQL index. Nearly all rows meet the condition, so with an index, SQLite
    /// would read all of them for each page of a few rows.
    static func isWithin<Bound>(_ range: ClosedRange<Bound>, _ column: String) -> String {
        "(typeof(\(column)) = 'integer' AND +\(column) BETWEEN \(range.lowerBound) AND \(range.upperBound))"
    }

    /// The SQL condition that a row of `segment` holds valid values.
    static let isSegment = """
        (\(isWithin(0...ContentInformation.maxBytes, "segment.start"))
            AND \(isWithin(0...SegmentDescription.maxBytes, "segment.length"))
            AND segment.start + segment.length <= \(ContentInformation.maxBytes)
            AND segment.blockSize IN (\(SegmentDescription.blockSizes.map { "\($0)" }.joined(separator: ", ")))
            AND \(isWithin(numbers, "segment.key")) AND segment.state IN ('open', 'closed'))
        """

    /// The SQL condition that a row of `resourceKey` holds valid values.
    static let isResourceKey = """
        (typeof(resourceKey.resource) = 'blob' AND length(resourceKey.resource) = 32
            AND typeof(resourceKey.wrapped) = 'blob' AND \(isWithin(numbers, "resourceKey.number"))
            AND \(isWithin(numbers, "resourceKey.generation")))
        """

    /// The SQL condition that a row of `resource` has a valid last-access time, so that the resource can be evicted.
    static let hasHour = isWithin(hours, "resource.accessed")

    // The following concern sealed values, which may be of any size in a damaged row.

    /// Returns the SQL expression that selects a sealed value under its column's name.
    ///
    /// It yields null for a value larger than any that a writer writes, so that SQLite does not read that value.
    static func bounded(_ column: String, _ maxBytes: Int) -> String {
        "CASE WHEN \(isSealed(column, upTo: maxBytes)) THEN \(column) END AS \(column)"
    }

    /// Returns the SQL condition that two rows hold the same sealed value. SQLite reads neither value if their lengths
    /// differ.
    static func isSame(_ column: String, _ first: String = "now", _ second: String = "was") -> String {
        "CASE WHEN typeof(\(first).\(column)) = 'blob' AND length(\(first).\(column)) = length(\(second).\(column)) "
            + "THEN \(first).\(column) = \(second).\(column) ELSE FALSE END"
    }

    /// Returns the SQL condition that a column holds a valid id.
    static func isID(_ column: String, byteCount: Int = ResourceKind.byteCount) -> String {
        "(typeof(\(column)) = 'blob' AND length(\(column)) = \(byteCount))"
    }

    /// Returns the SQL condition that a column holds a valid sealed value.
    static func isSealed(_ column: String, upTo maxBytes: Int) -> String {
        "(typeof(\(column)) = 'blob' AND length(\(column)) <= \(maxBytes))"
    }
}

extension Row {
    /// Returns the value of a column.
    ///
    /// GRDB's own subscript ends the process if the value has another type, and SQLite lets a damaged row hold any
    /// type.
    ///
    /// - Throws: `RowDecodingError` if the value has another type.
    func column<Value: DatabaseValueConvertible>(_ name: String) throws -> Value { try decode(forColumn: name) }

    /// Returns the value of a column that holds a number within a range.
    ///
    /// - Throws: `RowDecodingError` if the value has another type; ``VaultError`` with code `integrity` if the number
    ///   is out of range.
    func column<Value: DatabaseValueConvertible>(_ name: String, in range: ClosedRange<Value>) throws -> Value {
        let value: Value = try column(name)
        guard range.contains(value) else { throw IndexError.damaged }
        return value
    }
}
