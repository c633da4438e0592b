"""A vault that has every kind of record, and what the independent reader finds in it."""

import base64
import json
import os
import struct
import sys
import types
import zlib

from . import control
from .case import ROOT
from .control import KEYLESS
from .viewer_session import ViewerSession

sys.path.insert(0, os.path.join(ROOT, "Tests", "IndependentReader"))

import read_vault  # noqa: E402
from vaultformat import database, errors, keyring, token, unlock  # noqa: E402
from vaultformat.contents import Contents  # noqa: E402

HOST, PIN, VIEWER = "media.example", "24681357", "Anna"
PARTS, PART_BYTES, SMALL = 12, 20_000, 6_000
GRANTS = {"token", "links", "session"}
KINDS = GRANTS | {"title", "part", "cover", "settings", "network", "download", "subscription", "viewer", "share",
                  "position"}
CATALOGS = ("catalog.backup", "catalog.backup.1")
# Members that change when something is used, and those that count changes.
_PASSING = {"used", "bytesFetched", "verified", "networkRevision", "networkID", "revision", "id", "tries", "lastRun",
            "nextRun", "failures", "attempts", "notBefore", "reseal", "resealRun", "removals", "shreds"}
_OF_A_TITLE = ("url", "title", "size", "bytes", "complete", "sha256", "cover", "class")


def picture(shade):
    """Returns a small PNG of one colour."""
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    rows = zlib.compress((b"\0" + bytes([shade]) * 48) * 16)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)) + chunk(
        b"IDAT", rows) + chunk(b"IEND", b"")


def secret_file(vault, name, content):
    """Writes a file that only its owner reads; returns its path."""
    path = os.path.join(vault.base, name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(content)
    return path


def fill(vault, origin, many):
    """Puts a record of every kind into a new vault, `many` small titles, and one whose parts lie in a pack."""
    vault.serve()
    small = [origin.add(f"small-{number}.mp4", size=SMALL + number, seed=number) for number in range(many)]
    lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:4"]
    for number in range(PARTS):
        origin.add(f"show/{number}.ts", size=PART_BYTES, seed=1000 + number, type="video/mp2t")
        lines += ["#EXTINF:4,", f"{number}.ts"]
    show = origin.add("show/list.m3u8", content="\n".join([*lines, "#EXT-X-ENDLIST", ""]).encode("ascii"),
                      type="application/vnd.apple.mpegurl")
    vault.result("fetch", "--list", "-", input="\n".join([*small, show]).encode("ascii"), timeout=600, **KEYLESS)
    vault.result("config", "set", "header-for", HOST, "Authorization: Bearer of-the-vault", **KEYLESS)
    vault.result("config", "set", "max-size", "1GiB", **KEYLESS)
    vault.result("viewers", "add", VIEWER, "--pin-file", secret_file(vault, "pin", PIN), **KEYLESS)
    vault.result("viewers", "add", "Berta", "--all", **KEYLESS)
    vault.result("share", small[0], small[1], show, "--with", VIEWER, **KEYLESS)
    cover = os.path.join(vault.base, "cover.png")
    with open(cover, "wb") as file:
        file.write(picture(100))
    vault.result("cover", small[0], cover, **KEYLESS)
    for number in (0, 1):
        vault.result("rename", small[number], f"Name of {number}", **KEYLESS)
    feed = origin.add("feed.xml", type="application/rss+xml", content=(
        "<?xml version='1.0'?><rss version='2.0'><channel><title>The show</title><item><title>Part</title>"
        f"<guid>g-1</guid><enclosure url='{small[2]}' type='video/mp4'/></item></channel></rss>").encode("ascii"))
    vault.result("sync", "add", feed, "--every", "7d", **KEYLESS)
    vault.result("sync", "run", **KEYLESS)
    for number in range(2):
        queued = origin.add(f"queued-{number}.mp4", size=SMALL, hold_at=-1, seed=500 + number)
        vault.result("fetch", "--detach", queued, **KEYLESS)
        vault.result("downloads", "pause", queued, **KEYLESS)
    status, _ = control.ask(vault, "PUT", f"resources/{vault.info(small[0])['id']}/position",
                            {"seconds": 12.5, "duration": 4321})
    if status != 200:
        raise AssertionError(f"a position is answered with {status}")
    admit(vault, small[1])
    vault.stop()
    found, records = listed(vault)
    if found or {kind for kind, _ in records} != KINDS:
        raise AssertionError(f"the vault is damaged, or does not have every kind of record: {found} {records}")


def admit(vault, url):
    """Creates what a revocation ends: a token, a named link and a viewer's session. The service runs."""
    vault.result("token", "create", "--scope", "read", "--name", "dash", **KEYLESS)
    vault.result("url", url, "--name", "television", **KEYLESS)
    return ViewerSession(vault, VIEWER, PIN)


def faults(vault):
    """Returns what the independent reader finds wrong, also in both copies of the catalog, and the contents."""
    options = types.SimpleNamespace(vault=vault.folder, keyring=vault.keyring, key_file=vault.key, credential=None,
                                    passphrase_file=None, key_command=None, extract=None)
    contents, found = read_vault.open_vault(options)
    found = contents.faults + found
    resources = [read_vault.summary(item, contents, options, found) for item in contents.resources]
    return found + catalog_faults(vault, CATALOGS[1]), contents, resources


def _keyring(vault):
    """Returns the members of the keyring, and its keys."""
    with open(vault.keyring, "rb") as file, open(vault.key, "rb") as key:
        members = keyring.read(file.read())
        return members, keyring.unlock_keys(members, unlock.key_file(key.read()))


def catalog_faults(vault, name):
    """Returns what is wrong with a copy of the catalog; nothing if there is none."""
    path = os.path.join(vault.folder, name)
    if not os.path.exists(path):
        return []
    try:
        return [f"{name}: {sentence}" for sentence in Contents(database.read_catalog(path), _keyring(vault)[1]).faults]
    except errors.FormatError as error:
        return [f"{name}: {error}"]


def _lasting(record):
    return json.dumps({name: value for name, value in record.items() if name not in _PASSING}, sort_keys=True)


def listed(vault):
    """Returns what is wrong with a vault, and all that it has, by kind and name: what lasts of each record."""
    found, contents, resources = faults(vault)
    era = base64.b64encode(token.era(contents.keys.token, _keyring(vault)[0]["tokenEpoch"])).decode("ascii")
    names = {resource.id.hex(): resource.metadata.get("name") for resource in contents.resources}
    titles = {("title", item["titleID"]) if item["titleID"] else ("part", item["url"]): json.dumps(
        [names[item["id"]], *(item[name] for name in _OF_A_TITLE)]) for item in resources}
    network = contents.network if contents.settings else {}  # the reader looks for none without settings
    records = {("settings", ""): _lasting(contents.settings or {}), ("network", ""): _lasting(network)}
    records |= {("viewer", id.hex()): _lasting(record) for id, record in contents.viewers.items()}
    records |= {(record["kind"], id.hex()): _lasting(record) for id, record in contents.grants.items()
                if record["era"] == era}  # one of another era is void
    records |= {("cover", item["titleID"]): item["cover"] for item in resources if item["cover"]}
    for id, record in contents.positions.items():
        records |= {("position", f"{item['title']} of {id.hex()}"): _lasting(item) for item in record["positions"]}
    records |= {("share", item["title"]): _lasting(item) for item in contents.shares.values()}
    # A title that is not stored has another id with another locator.
    records |= {("download", item["url"]): _lasting({**item, "title": None}) for item in contents.downloads}
    records |= {("subscription", item["url"]): _lasting(item) for item in contents.subscriptions}
    return found, titles | records
