/// The index's tables, as the format lays them down.
enum IndexSchema {
    static let applicationID = 0x4D56_4C54
    static let version = 1

    /// The tables whose rows `catalog.backup` keeps, in an order that references allow.
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

    static let all = [
        vault, generation, resource, resourceKey, resourceKeyByGeneration, representation, representationByResource,
        segment, segmentByPlace, badBlock, doomed, owed,
    ]

    /// What an older vault lacks, and gets when an owner opens it; readers do without it.
    static let later = [owed]

    /// What every vault has.
    static let first = all.filter { !later.contains($0) }

    /// The tables by name.
    static let tableNames = Set(all.filter { $0.hasPrefix("CREATE TABLE ") }.map { String($0.split(separator: " ")[2]) })

    /// A statement that does nothing where the table is there.
    static func ifAbsent(_ statement: String) -> String {
        "CREATE TABLE IF NOT EXISTS " + statement.dropFirst("CREATE TABLE ".count)
    }

    static let catalog = [
        vault, generation, resource, resourceKey, resourceKeyByGeneration, representation, representationByResource,
    ]
}
