"""The meaning of the rows after opening their sealed columns: resources, representations, segments."""

import base64
import binascii
import re
from dataclasses import dataclass, field

from . import cache_key, derivation, records, sealed
from .errors import FormatError, Unopenable
from .segment import Segment, is_block_size

HOUR = 3600
MOST_PACKED = 8388608
MOST_SETTINGS, MOST_NETWORK = 64 << 20, 4 << 20


@dataclass
class StoredSegment:
    segment: Segment
    resource_key: bytes
    closed: bool
    bad_blocks: frozenset


@dataclass
class Representation:
    id: bytes
    state: str
    info: dict
    segments: list = field(default_factory=list)
    # The bytes of a pack that it is; None if it has segments of its own.
    window: tuple = None


@dataclass
class Resource:
    id: bytes
    row: dict
    metadata: dict
    keys: dict
    generation: int
    representations: list = field(default_factory=list)
    # The picture that was given for it; None if none was.
    cover: bytes = None

    @property
    def title_id(self):
        """The id by which people name it: the one that it keeps, else the beginning of its own; none in a pack."""
        if any(item.window for item in self.representations):
            return None
        kept = self.metadata.get("id")
        return kept if is_title_id(kept) else derivation.title_id(self.id)


def is_title_id(text):
    return isinstance(text, str) and re.fullmatch("[a-z2-7]{8}", text) is not None


def is_id(text):
    return isinstance(text, str) and re.fullmatch("[0-9a-f]{32}", text) is not None


def is_tag(text):
    return isinstance(text, str) and re.fullmatch("[0-9a-f]{16}", text) is not None


class Contents:
    """The resources of one snapshot; `faults` has one sentence for each deviation found while opening it."""

    def __init__(self, rows, keys):
        self.rows, self.keys = rows, keys
        self.faults = list(rows.faults)
        self.settings = None
        self.resources, self.downloads, self.subscriptions = [], [], []
        # The generation of each record that opens, by table and id; None if it has the form of versions up to 5.
        self.record_generations = {}
        self._key_rows = {}
        for row in rows.resourceKey:
            self._key_rows.setdefault(row["resource"], []).append(row)
        self._read_vault()
        self._read_generations()
        for row in rows.resource:
            self._read_resource(row)
        self._read_segments()
        packs = {resource.id: resource for resource in self.resources}
        self.grants = {row["id"]: record for row in rows.accessGrant if (record := self._read_grant(row))}
        for row in rows.packedPart:
            self._read_packed_part(row, packs.get(row["pack"]))
        for row in rows.download:
            self._read_download(row)
        for row in rows.subscription:
            self._read_subscription(row)
        self.viewers = {row["id"]: record for row in rows.viewer if (record := self._read_viewer(row))}
        self.shares = {row["id"]: record for row in rows.share if (record := self._read_share(row))}
        self.positions = {row["id"]: record for row in rows.position if (record := self._read_positions(row))}
        self.downloads.sort(key=lambda item: item.get("position", 0))

    def _fault(self, sentence):
        self.faults.append(sentence)

    def _members(self, value, what, required, optional):
        """Checks the types of members; the optional ones may be absent or null."""
        for name, kind in required.items():
            if type(value.get(name)) is not kind:
                self._fault(f"The member {name} of {what} is missing or of the wrong type.")
        for name, kind in optional.items():
            if value.get(name) is not None and type(value[name]) is not kind:
                self._fault(f"The member {name} of {what} is of the wrong type.")

    def _read_vault(self):
        if len(self.rows.vault) != 1:
            raise FormatError(f"The index has {len(self.rows.vault)} vault rows, not one.")
        row = self.rows.vault[0]
        self.locator = self.keys.locators.get(row["locator"])
        if self.locator is None:
            raise FormatError(f"The keyring has no locator {row['locator']}, which the index names.")
        if len(row["settings"]) > MOST_SETTINGS:
            self._fault("The vault's settings are too large.")
            return
        try:
            self.settings = self._open("vault", row["id"], row["settings"])
        except FormatError as error:
            self._fault(f"The vault's settings do not open: {error}")
            return
        self._members(self.settings, "the vault's settings", {},
                      {"bytesFetched": int, "ignoreQuery": list, "mapHost": list, "allowHost": list,
                       "ignoreEtag": list, "immutable": list, "networkRevision": int, "networkID": str, "parallelDownloads": int,
                       "downloadsPerHost": int, "downloadHours": str, "downloadRate": int, "leastRate": int,
                       "languages": list,
                       "notifyCommand": list, "refreshCommand": list,
                       "principals": list, "mode": str, "verified": dict})
        self.network = self._read_network(row["id"])
        self._members(self.network, "the network settings", {},
                      {"revision": int, "id": str, "proxy": str, "proxyFor": list, "proxyFromEnvironment": bool,
                       "authorities": str, "userAgent": str, "addressFamily": str, "headers": list, "cookies": str,
                       "clientCertificates": list})

    def _read_network(self, vault):
        """Returns the settings of the network: those of their row, or what an older version has among the others."""
        revision = self.settings.get("networkRevision", 0)
        values = [row["record"] for row in self.rows.network if row["id"] == vault]
        if values and len(values[0]) > MOST_NETWORK:
            self._fault("The record of the network settings is too large.")
            return {}
        if not values:
            if revision:
                self._fault("The row of the network settings is missing.")
            return self.settings
        try:
            network = self._open("network", vault, values[0])
        except FormatError as error:
            self._fault(f"The network settings do not open: {error}")
            return {}
        if network.get("revision") != revision or network.get("id") != self.settings.get("networkID"):
            self._fault("The row of the network settings is not the one that the vault's settings count.")
        return network

    def _read_grant(self, row):
        """Returns the record of a token, of named links or of a session; None if it does not open."""
        record = self._open_record(row, "accessGrant", "grant")
        if record is None:
            return None
        what = f"the record of grant {row['id'].hex()}"
        self._members(record, what, {"kind": str, "created": int, "era": str},
                      {"name": str, "expires": int, "used": int})
        kinds = {"token": {"scope": str}, "links": {"url": str, "count": int}, "session": {"expires": int}}
        self._members(record, what, kinds.get(record.get("kind"), {}),
                      {"titles": list} if record.get("kind") == "links" else {})
        if record.get("kind") not in kinds:
            self._fault(f"The kind of {what} is unknown.")
        if record.get("kind") == "session":
            for member in ("viewer", "token"):
                if record.get(member) is not None and not is_id(record[member]):
                    self._fault(f"The member {member} of {what} is no id.")
        return record

    def _read_generations(self):
        for row in self.rows.generation:
            if row["number"] not in self.keys.generations:
                self._fault(f"The index names generation {row['number']}, whose key the keyring does not have.")

    def _resource_keys(self, resource):
        keys, generations, name = {}, {}, resource.hex()
        for row in self._key_rows.get(resource, ()):
            number, generation = row["number"], row["generation"]
            generations[number] = generation
            if generation not in self.keys.generations:
                self._fault(f"Key {number} of resource {name} is wrapped under generation {generation}, "
                            "which the keyring cannot open.")
                continue
            try:
                keys[number] = sealed.open_value(
                    derivation.wrapping_key(self.keys.generations[generation], resource),
                    sealed.wrapped_associated(resource, number, generation), row["wrapped"])
            except Unopenable:
                self._fault(f"Key {number} of resource {name} does not open under generation {generation}.")
        return keys, generations

    def _read_resource(self, row):
        id, name = row["id"], row["id"].hex()
        keys, generations = self._resource_keys(id)
        if row["key"] not in keys:
            self._fault(f"Resource {name} names its key {row['key']}, which is missing or does not open.")
            return
        metadata_key = derivation.metadata_key(keys[row["key"]])
        try:
            metadata = sealed.unpadded(
                sealed.open_value(metadata_key, sealed.metadata_associated(id), row["metadata"]))
        except FormatError as error:
            self._fault(f"The metadata of resource {name} do not open: {error}")
            return
        resource = Resource(id, row, metadata, keys, generations[row["key"]])
        self._check_metadata(resource, name)
        for other in self.rows.representation:
            if other["resource"] == id:
                self._read_representation(resource, other, metadata_key)
        resource.representations.sort(key=lambda item: item.info.get("sequence") or 0)
        self._check_serving(resource, name)
        self._read_cover(resource, name, metadata_key)
        self.resources.append(resource)

    def _read_cover(self, resource, name, metadata_key):
        """Opens the picture that was given for a resource: the metadata have its tag."""
        tag = resource.metadata.get("cover")
        rows = [row["picture"] for row in self.rows.cover if row["resource"] == resource.id]
        if len(rows) != (0 if tag is None else 1):
            self._fault(f"Resource {name} has {len(rows)} pictures.")
            return
        if tag is None:
            return
        if not is_tag(tag):
            self._fault(f"The metadata of resource {name} have a tag of a cover that is none.")
            return
        try:
            resource.cover = sealed.picture(sealed.open_value(
                metadata_key, sealed.picture_associated(resource.id, bytes.fromhex(tag)), rows[0]))
        except FormatError as error:
            self._fault(f"The cover of resource {name} does not open: {error}")

    def _check_metadata(self, resource, name):
        self._members(resource.metadata, f"the metadata of resource {name}",
                      {"url": str, "cacheKey": str, "created": int},
                      {"serving": str, "partOf": list, "fields": list, "fieldsOrigin": str, "mode": str, "id": str,
                       "duration": int, "cover": str, "coverFromFeed": bool, "pictured": str,
                       "tags": dict, "subtitles": dict, "collection": str, "collectionName": str})
        if resource.metadata.get("id") is not None and not is_title_id(resource.metadata["id"]):
            self._fault(f"Resource {name} keeps an id that is none.")
        try:
            key = base64.b64decode(resource.metadata.get("cacheKey") or "", validate=True)
        except (binascii.Error, TypeError, ValueError):
            key = b""
        if derivation.resource_id(self.locator, key) != resource.id:
            self._fault(f"The id of resource {name} is not that of its cache key under the locator in force.")
        elif sentence := cache_key.fault(key):
            self._fault(f"Resource {name}: {sentence}")
        if resource.row["accessed"] % HOUR:
            self._fault(f"The access time of resource {name} is not rounded to the hour.")

    def _read_representation(self, resource, row, metadata_key):
        name = row["id"].hex()
        try:
            info = sealed.unpadded(sealed.open_value(
                metadata_key, sealed.info_associated(resource.id, row["id"]), row["info"]))
        except FormatError as error:
            self._fault(f"The info of representation {name} does not open: {error}")
            return
        self._members(info, f"the info of representation {name}",
                      {"sequence": int, "ranges": bool, "retrieved": int},
                      {"length": int, "type": str, "etag": str, "lastModified": str, "source": str,
                       "checked": int, "lifetime": int, "strict": bool})
        self._check_freshness(info, name)
        resource.representations.append(Representation(row["id"], row["state"], info))

    def _check_freshness(self, info, name):
        members = [info.get(member) for member in ("checked", "lifetime", "strict")]
        if any(member is None for member in members):
            if any(member is not None for member in members):
                self._fault(f"The info of representation {name} has but some of checked, lifetime and strict.")
        elif members[0] < 0 or not 0 <= members[1] <= 2**31:
            self._fault(f"The freshness of representation {name} is out of bounds.")

    def _check_serving(self, resource, name):
        serving = resource.metadata.get("serving")
        by_state = [item.id.hex() for item in resource.representations if item.state == "serving"]
        if by_state != ([serving] if serving else []):
            self._fault(f"The representation that resource {name} serves is not the one whose state says so.")
        sequences = [item.info.get("sequence") for item in resource.representations]
        if len(set(sequences)) != len(sequences):
            self._fault(f"Two representations of resource {name} have one sequence number.")

    def _read_segments(self):
        owners = {item.id: (resource, item) for resource in self.resources for item in resource.representations}
        bad, doomed = {}, {row["segment"] for row in self.rows.doomed}
        for row in self.rows.badBlock:
            bad.setdefault(row["segment"], set()).add(row["block"])
        for row in self.rows.segment:
            if row["id"] in doomed:
                self._fault(f"Segment {row['id'].hex()} is doomed and still has a row.")
            if row["representation"] in owners:
                resource, representation = owners[row["representation"]]
                stored = self.stored(row, resource, representation, bad.get(row["id"], ()))
                if stored:
                    representation.segments.append(stored)
            else:
                self._fault(f"Segment {row['id'].hex()} belongs to a representation that does not open.")
        for _, representation in owners.values():
            representation.segments.sort(key=lambda stored: stored.segment.start)
            self._check_overlap(representation)

    def _read_packed_part(self, row, pack):
        """Opens the entry of a file in a pack, which then counts as a resource with a part of the pack's bytes."""
        name = row["id"].hex()
        if pack is None:
            self._fault(f"The pack of part {name} does not open.")
            return
        try:
            entry = sealed.unpadded(sealed.open_value(
                derivation.metadata_key(pack.keys[pack.row["key"]]),
                sealed.entry_associated(pack.id, row["id"]), row["entry"]))
        except FormatError as error:
            self._fault(f"The entry of part {name} does not open: {error}")
            return
        self._members(entry, f"the entry of part {name}", {"metadata": dict, "info": dict, "offset": int}, {})
        metadata, info, offset = entry["metadata"], entry["info"], entry["offset"]
        length = info.get("length")
        if not isinstance(length, int) or not 1 <= length <= MOST_PACKED or offset < 0:
            self._fault(f"Part {name} cannot lie in a pack.")
            return
        part = Resource(row["id"], pack.row, metadata, pack.keys, pack.generation)
        self._check_metadata(part, name)
        segments = [stored for item in pack.representations for stored in item.segments
                    if stored.segment.start < offset + length and offset < stored.segment.start + stored.segment.length]
        part.representations.append(Representation(
            bytes.fromhex(metadata["serving"]), "serving", info, segments, (offset, offset + length)))
        self.resources.append(part)

    def _read_download(self, row):
        """Opens an entry of the download queue."""
        name = row["id"].hex()
        record = self._open_record(row, "download")
        if record is None:
            return
        self._members(record, f"the record of download {name}",
                      {"url": str, "title": str, "state": str, "position": int, "added": int},
                      {"contentID": str, "fields": list, "fieldsOrigin": str, "derived": bool, "byID": bool,
                       "name": str, "video": str, "audio": str, "subtitles": str, "connections": int, "rate": int,
                       "mediaOnly": bool, "picture": dict, "attempts": int, "notBefore": int, "failure": dict})
        if record.get("state") not in ("waiting", "paused", "failed"):
            self._fault(f"The state of download {name} is none.")
        if not is_title_id(record.get("title")):
            self._fault(f"The title of download {name} has no id.")
        self.downloads.append(record)

    def _read_subscription(self, row):
        """Opens a subscription."""
        name = row["id"].hex()
        record = self._open_record(row, "subscription")
        if record is None:
            return
        self._members(record, f"the record of subscription {name}",
                      {"added": int, "wanted": list, "brought": list},
                      {"url": str, "list": str, "name": str, "statedName": str, "newest": int, "keepsGone": bool,
                       "contentIDs": bool, "anyType": bool, "video": str, "audio": str, "subtitles": str,
                       "interval": int, "lastRun": int, "nextRun": int, "failures": int, "failingSince": int,
                       "failure": dict})
        if ("url" in record) == ("list" in record):
            self._fault(f"Subscription {name} has not one source.")
        for member in ("wanted", "brought"):
            if not all(is_title_id(title) for title in record.get(member) or []):
                self._fault(f"Subscription {name} has something in {member} that is no id.")
        self.subscriptions.append(record)

    def _open_record(self, row, table, kind=None):
        """Opens a record; None if it does not open. `kind` is what a fault calls it."""
        try:
            return self._open(table, row["id"], row["record"])
        except FormatError as error:
            self._fault(f"The record of {kind or table} {row['id'].hex()} does not open: {error}")
            return None

    def _open(self, table, row, value):
        """Opens a record, and checks that the index has a row of its generation."""
        members = records.open_record(self.keys, self.locator, table, row, value)
        number = self.record_generations[table, row] = records.generation(value)
        if number is not None and all(number != other["number"] for other in self.rows.generation):
            self._fault(f"A record of {table} names generation {number}, which the index does not have.")
        return members

    def _read_viewer(self, row):
        """Opens a viewer."""
        record, name = self._open_record(row, "viewer"), row["id"].hex()
        if record is not None:
            self._members(record, f"the record of viewer {name}", {"name": str, "created": int, "all": bool},
                          {"pin": dict, "tries": dict, "failures": dict, "collections": list, "languages": list})
            if record.get("pin"):
                self._members(record["pin"], f"the PIN of viewer {name}",
                              {"salt": str, "passes": int, "memory": int, "hash": str}, {})
        return record

    def _read_share(self, row):
        """Opens the share of a title."""
        record, name = self._open_record(row, "share"), row["id"].hex()
        if record is not None:
            self._members(record, f"the record of share {name}", {"title": str, "viewers": list}, {})
            if not is_title_id(record.get("title")):
                self._fault(f"The title of share {name} has no id.")
        return record

    def _read_positions(self, row):
        """Opens the positions of a viewer, or of the owner."""
        record, name = self._open_record(row, "position"), row["id"].hex()
        if record is not None:
            self._members(record, f"the record of position {name}", {"positions": list}, {})
            for item in record.get("positions") or []:
                self._members(item, f"a position of {name}", {"title": str, "position": int, "changed": int},
                              {"duration": int})
        return record

    def stored(self, row, resource, representation, bad_blocks):
        """Returns the segment of `row`; if the row is invalid, reports a fault and returns None."""
        segment = Segment(row["id"], row["representation"], row["blockSize"], row["start"], row["length"])
        sentence = row_fault(segment, row, resource, representation, bad_blocks)
        if sentence:
            self._fault(f"Segment {segment.id.hex()}: {sentence}")
            return None
        if row["accessed"] % HOUR:
            self._fault(f"The access time of segment {segment.id.hex()} is not rounded to the hour.")
        return StoredSegment(segment, resource.keys[row["key"]], row["state"] == "closed", frozenset(bad_blocks))

    def _check_overlap(self, representation):
        """Checks that good bytes do not overlap; bytes that were fetched again overlap only the bad block they
        replace."""
        end = 0
        for first, last, name in sorted(run for stored in representation.segments for run in good_runs(stored)):
            if first < end:
                self._fault(f"Segment {name} overlaps another of its representation.")
            end = max(end, last)


def good_runs(stored):
    """Yields the ranges of a segment's blocks that are not recorded as bad, each with the segment's name."""
    segment = stored.segment
    for block in range(segment.block_count):
        if block not in stored.bad_blocks:
            first = segment.start + block * segment.block_size
            yield first, min(first + segment.block_size, segment.start + segment.length), segment.id.hex()


def row_fault(segment, row, resource, representation, bad_blocks):
    """Returns what is inconsistent in a segment's row, or between it and the rows that it refers to; None if nothing
    is."""
    size = representation.info.get("length")
    if not is_block_size(segment.block_size):
        return f"{segment.block_size} is no block size."
    if row["key"] not in resource.keys:
        return f"its resource key {row['key']} is missing or does not open."
    if row["state"] == "closed" and segment.length == 0:
        return "it is closed and empty."
    if row["state"] == "open" and segment.length % segment.block_size:
        return "it is open and its length is not of whole blocks."
    if segment.start + segment.length >= 2**63 or size is not None and segment.start + segment.length > size:
        return "it reaches past the end of its representation."
    if any(not 0 <= block < segment.block_count for block in bad_blocks):
        return "a bad block is recorded that it does not have."
    return None
