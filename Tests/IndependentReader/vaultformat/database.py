"""Reads the rows of index.sqlite or catalog.backup: one consistent snapshot, nothing written."""

import os
import sqlite3
from dataclasses import dataclass
from urllib.parse import quote

from . import schema
from .errors import FormatError


@dataclass(frozen=True)
class Rows:
    """All rows of one moment, each a dict by column name, and what is wrong with the database itself."""

    vault: list
    generation: list
    resource: list
    resourceKey: list
    representation: list
    segment: list
    badBlock: list
    doomed: list
    packedPart: list
    accessGrant: list
    download: list
    network: list
    subscription: list
    cover: list
    viewer: list
    share: list
    position: list
    erased: list
    faults: list


def connect(path):
    """Returns a read-only connection. Without a log beside it, the file is complete, and reading it leaves no -shm
    behind."""
    if not os.path.isfile(path):
        raise FormatError(f"There is no {os.path.basename(path)} in the vault folder.")
    mode = "mode=ro" if os.path.exists(path + "-wal") else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"file:{quote(os.path.abspath(path))}?{mode}", uri=True, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection


def _rows(connection, name):
    return [dict(row) for row in connection.execute(f"SELECT * FROM {name}")]


def _read(connection, statements, tables):
    connection.execute("BEGIN")
    faults = list(schema.faults(connection, statements))
    faults += [f"SQLite finds: {line}." for line, in connection.execute("PRAGMA quick_check") if line != "ok"]
    faults += [f"A row of {row[0]} refers to a row of {row[2]} that is not there."
               for row in connection.execute("PRAGMA foreign_key_check")]
    tables += tuple(name for name, in connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN "
        "('packedPart', 'accessGrant', 'download', 'network', 'subscription', 'cover', "
        "'viewer', 'share', 'position', 'erased')"))
    rows = Rows(**{name: _rows(connection, name) if name in tables else [] for name in Rows.__annotations__
                   if name != "faults"}, faults=faults)
    connection.execute("COMMIT")
    return rows


_CATALOG = ("vault", "generation", "resource", "resourceKey", "representation")


def _read_file(path, statements, tables):
    try:
        connection = connect(path)
        try:
            return _read(connection, statements, tables)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise FormatError(f"SQLite cannot read {os.path.basename(path)}: {error}.") from error


def read_index(path):
    rows = _read_file(path, schema.INDEX, _CATALOG + ("segment", "badBlock", "doomed"))
    with open(path, "rb") as file:
        if file.read(20)[18:] != b"\x02\x02":  # SQLite's read and write version: 2 is WAL
            rows.faults.append("The index is not in WAL mode.")
    return rows


def read_catalog(path):
    return _read_file(path, schema.CATALOG, _CATALOG)


def segment_row(path, segment):
    """Returns the current row of one segment, or None: for a file that changed after the snapshot was taken."""
    connection = connect(path)
    try:
        row = connection.execute("SELECT * FROM segment WHERE id = ?", (segment,)).fetchone()
        return dict(row) if row else None
    finally:
        connection.close()
