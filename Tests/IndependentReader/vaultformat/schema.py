"""The tables of index.sqlite and catalog.backup, as the format document defines them."""

APPLICATION_ID = 0x4D564C54
USER_VERSION = 1
# A vault of version 2 has the tables of LATER, one of version 3 those of NEWEST, too.
LATER_VERSION = 2
NEWEST_VERSION = 3
# One of version 4 has those of the network and of subscriptions, too.
NETWORK_VERSION = 4
# One of version 5 has those of covers and viewers, too.
COVER_VERSION = 5
# One of version 6 has the table of what was deleted, too, and its records are sealed under generations.
RECORD_VERSION = 6

VAULT = """CREATE TABLE vault (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16), keyringRevision INTEGER NOT NULL, \
locator INTEGER NOT NULL, settings BLOB NOT NULL) WITHOUT ROWID"""

GENERATION = """CREATE TABLE generation (number INTEGER PRIMARY KEY NOT NULL, \
state TEXT NOT NULL CHECK (state IN ('active', 'retiring')))"""

RESOURCE = """CREATE TABLE resource (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 32), key INTEGER NOT NULL, \
metadata BLOB NOT NULL,
  class TEXT NOT NULL CHECK (class IN ('pinned', 'download', 'cache')), accessed INTEGER NOT NULL) WITHOUT ROWID"""

RESOURCE_KEY = """CREATE TABLE resourceKey (resource BLOB NOT NULL REFERENCES resource(id) ON UPDATE CASCADE \
ON DELETE CASCADE, number INTEGER NOT NULL CHECK (number >= 1),
  generation INTEGER NOT NULL REFERENCES generation(number), wrapped BLOB NOT NULL CHECK (length(wrapped) = 60), \
PRIMARY KEY (resource, number)) WITHOUT ROWID"""

RESOURCE_KEY_BY_GENERATION = "CREATE INDEX resourceKeyByGeneration ON resourceKey (generation)"

REPRESENTATION = """CREATE TABLE representation (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16), \
resource BLOB NOT NULL REFERENCES resource(id) ON UPDATE CASCADE,
  state TEXT NOT NULL CHECK (state IN ('filling', 'serving', 'superseded')), info BLOB NOT NULL) WITHOUT ROWID"""

REPRESENTATION_BY_RESOURCE = "CREATE INDEX representationByResource ON representation (resource)"

SEGMENT = """CREATE TABLE segment (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16), \
representation BLOB NOT NULL REFERENCES representation(id), key INTEGER NOT NULL,
  blockSize INTEGER NOT NULL, start INTEGER NOT NULL CHECK (start >= 0), \
length INTEGER NOT NULL CHECK (length BETWEEN 0 AND 8388608),
  state TEXT NOT NULL CHECK (state IN ('open', 'closed')), accessed INTEGER NOT NULL) WITHOUT ROWID"""

SEGMENT_BY_PLACE = "CREATE INDEX segmentByPlace ON segment (representation, start)"

BAD_BLOCK = """CREATE TABLE badBlock (segment BLOB NOT NULL REFERENCES segment(id) ON DELETE CASCADE, \
block INTEGER NOT NULL, PRIMARY KEY (segment, block)) WITHOUT ROWID"""

DOOMED = "CREATE TABLE doomed (segment BLOB PRIMARY KEY NOT NULL) WITHOUT ROWID"

OWED = "CREATE TABLE owed (what TEXT PRIMARY KEY NOT NULL, number INTEGER NOT NULL) WITHOUT ROWID"

PART = """CREATE TABLE part (title BLOB NOT NULL REFERENCES resource(id) ON UPDATE CASCADE ON DELETE CASCADE, \
resource BLOB NOT NULL REFERENCES resource(id) ON UPDATE CASCADE ON DELETE CASCADE, \
PRIMARY KEY (title, resource)) WITHOUT ROWID"""

PART_BY_RESOURCE = "CREATE INDEX partByResource ON part (resource)"

PACKED_PART = """CREATE TABLE packedPart (id BLOB NOT NULL CHECK (length(id) = 32), \
pack BLOB NOT NULL REFERENCES resource(id) ON UPDATE CASCADE ON DELETE CASCADE, entry BLOB NOT NULL, \
PRIMARY KEY (id, pack)) WITHOUT ROWID"""

PACKED_PART_BY_PACK = "CREATE INDEX packedPartByPack ON packedPart (pack)"

ACCESS_GRANT = """CREATE TABLE accessGrant (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16), \
record BLOB NOT NULL) WITHOUT ROWID"""
DOWNLOAD = """CREATE TABLE download (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16), record BLOB NOT NULL) \
WITHOUT ROWID"""
NETWORK = """CREATE TABLE network (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16), record BLOB NOT NULL) \
WITHOUT ROWID"""
SUBSCRIPTION = """CREATE TABLE subscription (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16), \
record BLOB NOT NULL) WITHOUT ROWID"""
VIEWER = """CREATE TABLE viewer (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16), record BLOB NOT NULL) \
WITHOUT ROWID"""
SHARE = """CREATE TABLE share (id BLOB PRIMARY KEY NOT NULL REFERENCES resource(id) ON UPDATE CASCADE \
ON DELETE CASCADE, record BLOB NOT NULL) WITHOUT ROWID"""
POSITION = """CREATE TABLE position (id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16), record BLOB NOT NULL) \
WITHOUT ROWID"""

COVER = """CREATE TABLE cover (resource BLOB NOT NULL REFERENCES resource(id) ON UPDATE CASCADE ON DELETE CASCADE, \
picture BLOB NOT NULL)"""
COVER_BY_RESOURCE = "CREATE INDEX coverByResource ON cover (resource)"

ERASED = "CREATE TABLE erased (record TEXT NOT NULL, id BLOB NOT NULL)"

CATALOG = [VAULT, GENERATION, RESOURCE, RESOURCE_KEY, RESOURCE_KEY_BY_GENERATION, REPRESENTATION,
           REPRESENTATION_BY_RESOURCE]
INDEX = CATALOG + [SEGMENT, SEGMENT_BY_PLACE, BAD_BLOCK, DOOMED]
# What the first vaults lack; an owner adds it.
LATER_CATALOG = [PACKED_PART, PACKED_PART_BY_PACK]
LATER = [OWED, PART, PART_BY_RESOURCE] + LATER_CATALOG
NEWEST = [ACCESS_GRANT, DOWNLOAD]
NETWORKED = [NETWORK, SUBSCRIPTION]
COVERED = [COVER, COVER_BY_RESOURCE, VIEWER, SHARE, POSITION]
# The catalog does not have it.
RECORDED = [ERASED]


def complete(statements, version):
    """Returns what an index or a catalog of a version consists of: `INDEX` or `CATALOG`, and what was added since."""
    is_index = INDEX[-1] in statements
    added = []
    for first, more in ((LATER_VERSION, LATER if is_index else LATER_CATALOG), (NEWEST_VERSION, NEWEST),
                        (NETWORK_VERSION, NETWORKED), (COVER_VERSION, COVERED),
                        (RECORD_VERSION, RECORDED if is_index else [])):
        added += more if version >= first else []
    return statements + added


def _normal(sql):
    return " ".join(sql.split())


def faults(connection, statements):
    """Returns one sentence for each deviation of the database from `statements`."""
    found = {name: _normal(sql) for name, sql in connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")}
    application, = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        yield f"application_id is {application}, not {APPLICATION_ID}."
    version, = connection.execute("PRAGMA user_version").fetchone()
    if version not in range(USER_VERSION, RECORD_VERSION + 1):
        yield f"user_version is {version}."
    for statement in map(_normal, complete(statements, version)):
        name = statement.split()[2]
        if found.pop(name, None) != statement:
            yield f"The schema's {name} is missing or not as the format says."
    if INDEX[-1] in statements:
        found = {name: sql for name, sql in found.items() if sql != _normal(OWED)}
    for name in found:
        yield f"The schema has {name}, which the format does not know."
