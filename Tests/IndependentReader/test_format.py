"""The test vectors of the format, and inputs that the reader must refuse."""

import base64
import json
import os
import re
import unicodedata
import unittest

import golden_plan
import make_golden_vault as golden
from vaultformat import cache_key, canonical_json, derivation, keyring, records, sealed, sodium, token, unlock
from vaultformat.contents import Resource
from vaultformat.errors import (DamagedKeyring, FormatError, NotAKeyring, OlderKeyring, OtherVaultsKeyring,
                                TamperedKeyring, Unopenable, WrongKey)
from vaultformat.segment import BLOCKS_AT, ForeignHeader, Segment, from_file, make_file, open_block, segment_key

KEY = bytes(range(32))
ARTICLE = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "Sources", "MediaVault", "MediaVault.docc",
                       "Format.md")


def plaintext_of(key, segment, data):
    """Opens a whole segment file as a reader must."""
    opened = segment_key(key, segment, data[:BLOCKS_AT])
    if len(data) != segment.file_size:
        raise FormatError("The file has another size.")
    return b"".join(open_block(opened, segment, block, data[slice(*segment.file_range(block))])
                    for block in range(segment.block_count))


class Vectors(unittest.TestCase):
    """Tests the vectors in the last section of the format document, and those of RFC 8439."""

    def test_derivation(self):
        self.assertEqual(derivation.metadata_key(KEY).hex(),
                         "9a3460bbbca8a91feb0f81b5a89c496bd885de0990a06958ad25e99b244d5be0")
        self.assertEqual(derivation.resource_id(KEY, b"http://a.example/x").hex(),
                         "727397a9d0495cccbdee8c8d034bd88e4edbf18c05bb518db7a1f6f9767c411b")

    def test_title_id(self):
        self.assertEqual(derivation.title_id(b"fooba" + b"r" * 27), "mzxw6ytb")  # RFC 4648 §10
        for kept, shown in (("k3v7q2ma", "k3v7q2ma"), ("K3V7Q2MA", "mzxw6ytb"), (None, "mzxw6ytb"), (7, "mzxw6ytb")):
            self.assertEqual(Resource(b"fooba" + b"r" * 27, {}, {"id": kept}, {}, 1).title_id, shown)

    def test_token(self):
        grant = b"\x11" * 16
        self.assertEqual(token.text(KEY, 1, grant, "read"),
                         "mvt_EREREREREREREREREREREU1XDNxOZ-lc8O9KxEUvz0XM6Bab4i_v2rgf6Z8O-ugZ")
        self.assertEqual(token.text(KEY, 1, grant, "metrics", 2_000_000_000),
                         "mvt_EREREREREREREREREREREarvqpi5EO1r3fSDeBCZQ5DHtaFHagi54UyqUFk0OHCl")
        self.assertEqual(token.era(KEY, 1).hex(), "0a553b6c91c7e2e003c692d14ea650c2")

    def test_record(self):
        self.assertEqual(derivation.record_key(KEY).hex(),
                         "893373afba1ae19b4cb8ff7597a751b07e070655c98d3479600471047123f1b2")
        nonce, vault, resource = bytes(range(12)), bytes(range(16)), derivation.resource_id(KEY, b"http://a.example/x")
        rows = {"vault": vault, "network": vault, "position": vault, "share": resource}
        with open(ARTICLE, encoding="utf-8") as file:
            vectors = re.findall(r"^([a-zA-Z]+)\.(settings|record) (\{.*\})\n  ([0-9a-f]{32})$", file.read(), re.MULTILINE)
        self.assertEqual({table: column for table, column, _, _ in vectors}, records.KINDS)
        for table, _, text, tag in vectors:
            members, row = canonical_json.parse(text.encode()), rows.get(table, b"\x11" * 16)
            self.assertEqual(canonical_json.encode(members).decode(), text)
            value = records.seal_under(KEY, 3, table, row, members, nonce)
            self.assertEqual((len(value), value[:16], value[-16:].hex()), (288, b"\x03\0\0\0" + nonce, tag), table)

    def test_record_of_the_former_form(self):
        value = records.seal_former(KEY, "vault", bytes(range(16)), {"bytesFetched": 0}, bytes(range(12)))
        self.assertEqual((len(value), value[-16:].hex()), (284, "6fd691c6cb3e46730c5fcf6969b6bab7"))

    def test_segment(self):
        segment = Segment(b"\x22" * 16, b"\x11" * 16, 32768, 1_234_567, 3)
        self.assertEqual(segment.header.hex(), "4d56534547000001008000000000000011111111111111111111111111111111"
                                               "2222222222222222222222222222222287d6120000000000")
        key = derivation.segment_key(KEY, segment.header)
        self.assertEqual(key.hex(), "5769a7b367e54d534c96c61ed0c84a13e5a5b613478b4b680608c7fdc440037b")
        data = make_file(KEY, segment, b"abc")
        self.assertEqual(data[56:88].hex(), "bc7fb1e29197c7cefa52efd49d49df000e437f5c8d44b210ec08e0699f6f8a55")
        self.assertEqual(data[88:].hex(), "f0128723f25232520f8f83f649b1cde99723ed")

    def test_seal_of_rfc_8439(self):
        text = (b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
                b"sunscreen would be it.")
        out = sodium.seal(bytes(range(0x80, 0xA0)), bytes.fromhex("070000004041424344454647"), text,
                          bytes.fromhex("50515253c0c1c2c3c4c5c6c7"))
        self.assertEqual(out[-16:].hex(), "1ae10b594f09e26a7e902ecbd0600691")


class SealedValues(unittest.TestCase):
    def test_only_the_same_place_opens(self):
        value = sealed.seal_value(KEY, sealed.wrapped_associated(KEY, 1, 2), b"k" * 32)
        self.assertEqual(len(value), 60)
        self.assertEqual(sealed.open_value(KEY, sealed.wrapped_associated(KEY, 1, 2), value), b"k" * 32)
        for number, generation in ((2, 2), (1, 1), (2, 1)):
            with self.assertRaises(Unopenable):
                sealed.open_value(KEY, sealed.wrapped_associated(KEY, number, generation), value)

    def test_padding_is_to_256(self):
        for text, size in ((0, 256), (246, 256), (248, 256), (249, 512)):
            value = {"a": "x" * text}
            self.assertEqual(len(sealed.padded(value)), size, text)
            self.assertEqual(sealed.unpadded(sealed.padded(value)), value)
        for wrong in (b"", b"{}", b"[]" + b" " * 254, b"{}" + b" " * 255):
            with self.assertRaises(FormatError):
                sealed.unpadded(wrong)


class CanonicalJSON(unittest.TestCase):
    def test_canonical_form(self):
        for text, canonical in (
                ('{ "b" : 1 , "a" : [ true , null ] }', '{"a":[true,null],"b":1}'),
                ('{"\\u20ac":1,"\\r":2,"\\ud83d\\ude00":3,"\\ufb33":4}',
                 '{"\\r":2,"\u20ac":1,"\U0001f600":3,"\ufb33":4}'),
                ('"\\u0000\\u001F\\u007f\\/\\u00e9"', '"\\u0000\\u001f\x7f/é"'), ("9007199254740991",) * 2):
            self.assertEqual(canonical_json.encode(canonical_json.parse(text.encode())).decode(), canonical)

    def test_refused(self):
        for text in (b'{"a":1,"a":1}', b'{"a":1,"\\u0061":2}', b"1.0", b"1e2", b"-1", b"-0", b"9007199254740992",
                     b"NaN",
                     b'"\\ud800"', b'"\xff"', b"\xef\xbb\xbf{}", b"{} x", b"01", b"", b"[" * 100_000):
            with self.assertRaises(FormatError, msg=text[:20]):
                canonical_json.parse(text)


class Keyring(unittest.TestCase):
    def setUp(self):
        self.data = golden.make_keyring()
        self.members = json.loads(self.data)

    def changed(self, summed=True, **members):
        value = self.members | members
        if summed:
            value["checksum"] = keyring.checksum(value)
        return json.dumps(value).encode()

    def test_both_slots_open(self):
        phrase = unlock.Passphrase.from_file(golden_plan.PASSPHRASE_AS_TYPED.encode())
        for way in (golden.FIRST.key_file, phrase):
            keys = keyring.unlock_keys(keyring.read(self.data), way)
            self.assertEqual((keys.locators[1], keys.generations), (golden.FIRST.locator, golden.FIRST.generations))
            self.assertEqual((keys.token, keys.receipt), (golden.FIRST.token, golden.FIRST.receipt))

    def test_one_form_of_a_passphrase(self):
        typed = golden_plan.PASSPHRASE_AS_TYPED
        self.assertEqual(len({unlock.Passphrase.from_file(unicodedata.normalize(form, typed).encode() + end).text
                              for form in ("NFC", "NFD") for end in (b"", b"\n", b"\r\n")}), 1)
        self.assertNotEqual(unlock.Passphrase.from_file(b"a\n\n").text, unlock.Passphrase.from_file(b"a\n").text)

    def test_unknown_members_are_covered(self):
        self.assertEqual(self.data, keyring.finished(self.members, golden.FIRST.root))
        more = self.members | {"later": {"b": [1, None], "a": "é/"}}
        keyring.unlock_keys(keyring.read(keyring.finished(more, golden.FIRST.root)), golden.FIRST.key_file)
        with self.assertRaises(TamperedKeyring):
            keyring.unlock_keys(keyring.read(self.changed(later=1)), golden.FIRST.key_file)

    def test_errors_in_order(self):
        for data in (b"", b"[]", b"{}", self.data[:-1], self.changed(format="mediavault-keyring/2")):
            with self.assertRaises(NotAKeyring):
                keyring.read(data)
        slot = self.members["slots"][1]
        for data in (self.changed(False, revision=5),
                     *(self.changed(slots=[slot | change]) for change in (
                         {"opsLimit": 0}, {"opsLimit": 65}, {"memLimit": (8 << 20) - 1}, {"memLimit": (4 << 30) + 1},
                         {"salt": "AA=="}, {"method": "guess"}, {"number": 0})),
                     self.changed(slots=[slot, slot]), self.changed(current=3), self.changed(vaultID="00")):
            with self.assertRaises(DamagedKeyring):
                keyring.read(data)
        with self.assertRaises(WrongKey):
            keyring.unlock_keys(self.members, bytes(32))
        keys = keyring.unlock_keys(self.members, golden.FIRST.key_file)
        with self.assertRaises(OtherVaultsKeyring):
            keyring.check_belongs(keys, bytes(16), 1)
        with self.assertRaises(OlderKeyring):
            keyring.check_belongs(keys, golden.FIRST.vault_id, 5)
        keyring.check_belongs(keys, golden.FIRST.vault_id, 4)

    def test_folded_generations(self):
        numbers = [row["number"] for row in self.members["generations"]]
        after = max(numbers) + 1

        def ranges(*pairs):
            rows = [{"first": first, "last": last, "backups": 0} for first, last in pairs]
            return keyring.finished(self.members | {"retired": rows}, golden.FIRST.root)

        for data in (ranges(), ranges((after, after)), ranges((after + 2, 2**32 - 1), (after, after + 1))):
            keys = keyring.unlock_keys(keyring.read(data), golden.FIRST.key_file)
            self.assertEqual(keys.generations, golden.FIRST.generations)
        for data in (ranges((after + 1, after)), ranges((0, 0)), ranges((after, 2**32)),
                     ranges((after, after + 2), (after + 2, after + 3)), ranges((1, after)),
                     self.changed(retired={}), self.changed(retired=[{"first": after, "last": after}])):
            with self.assertRaises(DamagedKeyring):
                keyring.read(data)

    def test_size_and_work_have_bounds(self):
        with self.assertRaises(DamagedKeyring):
            keyring.read(self.data + b" " * (4 << 20))
        keyring.read(self.data + b" " * (3 << 20))
        slot = next(slot for slot in self.members["slots"] if slot["method"] == "passphrase")
        slots = [slot | {"number": number, "opsLimit": 4, "memLimit": 1 << 30} for number in range(1, 17)]
        keyring.read(self.changed(slots=slots))
        with self.assertRaises(DamagedKeyring):
            keyring.read(self.changed(slots=slots[:15] + [slots[15] | {"opsLimit": 5}]))

    def test_exchanged_keys_are_tampering(self):
        first, second, third = self.members["generations"]
        swapped = [first | {"key": second["key"]}, second | {"key": first["key"]}, third]
        with self.assertRaises(TamperedKeyring):
            keyring.unlock_keys(keyring.read(self.changed(generations=swapped)), golden.FIRST.key_file)
        with self.assertRaises(TamperedKeyring):
            keyring.unlock_keys(
                json.loads(keyring.finished(self.members | {"generations": swapped}, golden.FIRST.root)),
                golden.FIRST.key_file)

    def test_key_files_and_commands(self):
        for text in (KEY, KEY.hex().encode(), KEY.hex().encode() + b"\n", base64.b64encode(KEY) + b"\n"):
            self.assertEqual(unlock.command_output(text), KEY)
        for text in (KEY + b"\n", KEY[1:], b"", KEY.hex().encode() + b"\n\n", b"z" * 64):
            with self.assertRaises(FormatError):
                unlock.command_output(text)
        with self.assertRaises(FormatError):
            unlock.key_file(KEY + b"\n")


class SegmentFile(unittest.TestCase):
    def segment(self, length, start=0, name=1):
        return Segment(bytes([name]) * 16, b"\x77" * 16, 4096, start, length)

    def test_round_trip_at_the_edges_of_blocks(self):
        for length in (1, 15, 16, 4095, 4096, 4097, 8191, 8192, 8193):
            segment, text = self.segment(length, 2**62), golden.plaintext("edge", 5, length)
            data = make_file(KEY, segment, text)
            self.assertEqual(plaintext_of(KEY, segment, data), text)
            self.assertEqual(from_file(data[:88], len(data)), segment)

    def test_every_flipped_bit_is_refused(self):
        segment = self.segment(3)
        data = make_file(KEY, segment, b"abc")
        for bit in range(len(data) * 8):
            flipped = bytearray(data)
            flipped[bit // 8] ^= 1 << bit % 8
            with self.assertRaises(FormatError, msg=bit):
                plaintext_of(KEY, segment, bytes(flipped))

    def test_sizes_that_no_segment_has(self):
        head = make_file(KEY, self.segment(1), b"x")[:88]
        for size in (88 + 1, 88 + 16, 88 + 4112 + 16, 87, 88 + 9_000_000):
            with self.assertRaises(ForeignHeader, msg=size):
                from_file(head, size)

    def test_exchanged_files_blocks_and_keys_are_refused(self):
        one, two = self.segment(8192), self.segment(8192, name=2)
        data = make_file(KEY, one, bytes(8192))
        with self.assertRaises(ForeignHeader):
            plaintext_of(KEY, two, data)
        with self.assertRaises(FormatError):
            plaintext_of(KEY, two, two.header + data[56:])
        with self.assertRaises(FormatError):
            plaintext_of(KEY[::-1], one, data)
        with self.assertRaises(Unopenable):
            plaintext_of(KEY, one, data[:88] + data[88 + 4112:] + data[88:88 + 4112])


class CacheKeys(unittest.TestCase):
    def test_canonical_urls(self):
        for url, canonical in (
                ("HTTP://User:pw@Media.Example:80#top", "http://media.example/"),
                ("https://a.example:443/?", "https://a.example/"),
                ("http://a.example:8080/x", "http://a.example:8080/x"),
                ("http://a.example/a/./b/../c", "http://a.example/a/c"),
                ("http://a.example/../..", "http://a.example/"),
                ("http://a.example/a/%2e%2E/b/.", "http://a.example/b/"),
                ("http://a.example//x//", "http://a.example//x//"),
                ("http://a.example/%7euser%2fx%C3%a9", "http://a.example/~user%2Fx%C3%A9"),
                ("http://a.example/x?b=%7e&a=1&b=2", "http://a.example/x?b=%7e&a=1&b=2"),
                ("http://exämple.example/é", "http://xn--exmple-cua.example/%C3%A9"),
                ("http://[::1]:80/x", "http://[::1]/x")):
            self.assertEqual(cache_key.canonical_url(url), canonical)
            self.assertEqual(cache_key.canonical_url(canonical), canonical)

    def test_ignored_query_items(self):
        self.assertEqual(cache_key.canonical_url("http://a.example/x?token=1&part=2&token", {"token"}),
                         "http://a.example/x?part=2")
        self.assertEqual(cache_key.canonical_url("http://a.example/x?token=1", {"token"}), "http://a.example/x")
        self.assertEqual(cache_key.canonical_url("http://a.example/x?%74oken=1&to%zzken=2", {"token"}),
                         "http://a.example/x?to%zzken=2")

    def test_key_policy(self):
        settings = {
            "ignoreQuery": [{"names": ["exp ires", "token", "é"]}, {"host": "cdn.example", "names": ["sig"]}],
            "mapHost": [{"from": "cdn2.example", "to": "cdn.example"}, {"from": "cdn3.example", "to": "cdn2.example"},
                        {"from": "edge.example:8443", "to": "origin.example:9000"},
                        {"from": "old.example", "to": "secure.example:443"}]}
        for url, name in (
                ("http://a.example/x?b=2&token=1&a=%7e", "http://a.example/x?b=2&a=%7e"),
                ("http://a.example/x?%C3%A9=1&exp%20ires", "http://a.example/x"),
                ("http://a.example/x?sig=1", "http://a.example/x?sig=1"),
                ("http://cdn3.example/x?sig=1&y", "http://cdn.example/x?y"),
                ("http://cdn2.example:8080/x", "http://cdn2.example:8080/x"),
                ("https://edge.example:8443/x", "https://origin.example:9000/x"),
                ("https://old.example/x", "https://secure.example/x"),
                ("http://old.example/x", "http://secure.example:443/x")):
            self.assertEqual(cache_key.named_url(url, settings), name)
            self.assertEqual(cache_key.named_url(name, settings), name)


if __name__ == "__main__":
    unittest.main()
