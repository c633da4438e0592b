#!/usr/bin/env python3
"""Opens a real vault from the format document alone and reports what it holds.

    read_vault.py VAULT KEYRING (--key-file F | --passphrase-file F | --key-command C | --credential F)
                  [--list] [--extract NAME OUT]

Prints one JSON object: `vault`, `grants` (tokens, named links and sessions), `resources` (with the held ranges and the
SHA-256 of each one's plaintext and of its cover), `downloads` (the queue in its order, with the names of request fields
but not their values), `subscriptions` (with the ids of their titles), `viewers`, `shares`, `positions`, `records` (each
with the generation that it is sealed under, or null if it has the form of versions up to 5), `damage` (each deviation of
the vault from the format, one sentence each) and `notices` (missing segment folders, files without a row, modes). With
--extract, NAME (a URL, or `content-id:` and an id) is written to OUT, with its gaps as holes. Every block is opened in
either case. Nothing in the vault is changed; a service may be running.

Exit codes: 0 sound, 1 cannot be read, 2 usage, 3 wrong key, 4 damage, 6 the resource is missing or incomplete.
"""

import argparse
import base64
import hashlib
import json
import os
import subprocess
import sys

from vaultformat import cache_key, database, derivation, keyring, unlock
from vaultformat.contents import Contents
from vaultformat.errors import FormatError, WrongKey
from vaultformat.verification import unknown_files, verify


def unlock_key(options):
    if options.key_command:
        return unlock.command_output(subprocess.run(["/bin/sh", "-c", options.key_command], stdout=subprocess.PIPE,
                                                    check=True).stdout)
    path = options.key_file or options.credential or options.passphrase_file
    with open(path, "rb") as file:
        data = file.read()
    return unlock.Passphrase.from_file(data) if options.passphrase_file else unlock.key_file(data)


def open_vault(options):
    """Returns the contents of the index and the faults of both catalog backups."""
    with open(options.keyring, "rb") as file:
        members = keyring.read(file.read())
    keys = keyring.unlock_keys(members, unlock_key(options))
    rows = database.read_index(os.path.join(options.vault, "index.sqlite"))
    for row in rows.vault:
        keyring.check_belongs(keys, row["id"], row["keyringRevision"])
    return Contents(rows, keys), catalog_faults(options.vault, keys)


def catalog_faults(vault, keys):
    faults = []
    for name in ("catalog.backup", "catalog.backup.1"):
        path = os.path.join(vault, name)
        if not os.path.exists(path):
            continue
        try:
            faults += [f"{name}: {sentence}" for sentence in Contents(database.read_catalog(path), keys).faults]
        except FormatError as error:
            faults.append(f"{name}: {error}")
    return faults


def row_changed(vault, before):
    """Whether the row of a segment differs from the snapshot by now."""
    now = database.segment_row(os.path.join(vault, "index.sqlite"), before.segment.id)
    return now is None or (now["length"], now["state"] == "closed") != (before.segment.length, before.closed)


def summary(resource, contents, options, damage, write=None):
    """Returns the report on one resource; opens every block of all its representations."""
    serving, all_held = None, []
    for item in resource.representations:
        chosen = item.id.hex() == resource.metadata.get("serving")
        held = verify(options.vault, item, damage.append, write if chosen else None,
                      lambda stored: row_changed(options.vault, stored))
        entry = {"id": item.id.hex(), "state": item.state, "sequence": item.info.get("sequence"),
                 "size": item.info.get("length"), "held": held.ranges, "sha256": held.digests, "bytes": held.bytes,
                 "type": item.info.get("type"), "etag": item.info.get("etag"),
                 "lastModified": item.info.get("lastModified"), "segments": len(item.segments)}
        all_held.append(entry)
        serving = entry if chosen else serving
    shown = serving or {}
    return {
        "id": resource.id.hex(), "titleID": resource.title_id, "url": resource.metadata.get("url"), "cacheKey": resource.metadata.get("cacheKey"),
        "title": resource.metadata.get("title"), "size": shown.get("size"), "held": shown.get("held", []),
        "bytes": shown.get("bytes", 0), "sha256": shown.get("sha256", []), "complete": is_complete(shown),
        "type": shown.get("type"), "etag": shown.get("etag"), "class": resource.row["class"],
        "generation": resource.generation, "representations": all_held,
        "cover": None if resource.cover is None else hashlib.sha256(resource.cover).hexdigest()}


def is_complete(entry):
    size = entry.get("size")
    return size is not None and entry["held"] == ([[0, size]] if size else [])


def named(contents, name):
    """Returns the resource with that content id or URL. Tries its hashed cache key first, then the only principal it
    was stored for, then the URL in its metadata."""
    settings = contents.settings or {}
    key = name.encode("utf-8") if name.startswith("content-id:") else cache_key.of_url(name, settings)
    by_id = {resource.id: resource for resource in contents.resources}
    if plain := by_id.get(derivation.resource_id(contents.locator, key)):
        return plain
    principals = [base64.b64decode(text) for text in settings.get("principals") or []]
    found = [by_id[id] for principal in principals
             if (id := derivation.resource_id(contents.locator, key + b"\0" + principal)) in by_id]
    if found:
        return found[0] if len(found) == 1 and len(principals) <= cache_key.MOST_PRINCIPALS else None
    return next((item for item in contents.resources if item.metadata.get("url") == name), None)


def extract(resource, contents, options, damage):
    """Writes the held bytes of `resource` to the named file; returns the report on it."""
    with open(options.extract[1], "wb") as out:
        def write(offset, data):
            out.seek(offset)
            out.write(data)
        printed = summary(resource, contents, options, damage, write)
        out.truncate(max([end for _, end in printed["held"]], default=0))
    return printed


def report(contents, resources, damage, options):
    row = contents.rows.vault[0]
    known = {item["id"].hex() for item in contents.rows.segment} | {
        item["segment"].hex() for item in contents.rows.doomed}
    json.dump({
        "vault": {"id": row["id"].hex(), "keyringRevision": row["keyringRevision"], "locator": row["locator"],
                  "generations": contents.rows.generation, "settings": contents.settings},
        "grants": [{"id": id.hex(), **record} for id, record in contents.grants.items()],
        "resources": resources, "downloads": [
            {name: item.get(name) for name in ("title", "url", "contentID", "name", "state", "added", "attempts")}
            | {"fields": [name for name, _ in item.get("fields") or []]} for item in contents.downloads],
        "subscriptions": [
            {name: item.get(name) for name in ("url", "list", "name", "newest", "interval", "added", "wanted", "brought")}
            for item in contents.subscriptions],
        "viewers": [{"id": id.hex(), "name": item.get("name"), "pin": "pin" in item, "all": item.get("all")}
                    for id, item in contents.viewers.items()],
        "shares": [{"title": item.get("title"), "viewers": item.get("viewers")} for item in contents.shares.values()],
        "positions": {id.hex(): item.get("positions") for id, item in contents.positions.items()},
        "records": [{"table": table, "id": id.hex(), "generation": generation}
                    for (table, id), generation in contents.record_generations.items()],
        "damage": damage, "notices": list(unknown_files(options.vault, known))},
        sys.stdout, indent=2)
    print()


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description="Reads a MediaVault vault from its format document alone.")
    parser.add_argument("vault")
    parser.add_argument("keyring")
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--key-file")
    way.add_argument("--passphrase-file")
    way.add_argument("--key-command")
    way.add_argument("--credential")
    parser.add_argument("--list", action="store_true", help="print what is held (the default)")
    parser.add_argument("--extract", nargs=2, metavar=("NAME", "OUT"))
    return parser.parse_args(arguments)


def main(arguments):
    options = parse_arguments(arguments)
    contents, damage = open_vault(options)
    damage = contents.faults + damage
    resources, whole = [], True
    if options.extract:
        resource = named(contents, options.extract[0])
        if resource is None:
            print("The vault does not hold that resource.", file=sys.stderr)
            return 6
        resources = [extract(resource, contents, options, damage)]
        whole = resources[0]["complete"]
    if options.list or not options.extract:
        resources = [summary(item, contents, options, damage) for item in contents.resources]
    report(contents, resources, damage, options)
    return 4 if damage else 0 if whole else 6


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except WrongKey as error:
        print(error, file=sys.stderr)
        sys.exit(3)
    except (FormatError, OSError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
