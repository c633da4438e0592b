"""The audit log: complete, changed at every byte, truncated, and reordered."""

import base64
import unittest

from vaultformat import audit, canonical_json, sodium

SEED = bytes(range(32))


def line(sequence, previous, seed=SEED, act="shred", former=None):
    members = {
        "act": act, "generation": 1, "key": sodium.sign(b"", seed)[1].hex(), "outcome": "destroyed",
        "previous": previous.hex(), "sequence": sequence, "subject": "ab" * 32, "time": 1_700_000_000,
        "vault": "11" * 16}
    if former is not None:
        members["former"] = sodium.sign(b"", former)[1].hex()
        signature = sodium.sign(canonical_json.encode(members), former)[0]
        members["formerSignature"] = base64.b64encode(signature).decode("ascii")
    signature = sodium.sign(canonical_json.encode(members), seed)[0]
    return canonical_json.encode({**members, "signature": base64.b64encode(signature).decode("ascii")})


def log(lines):
    return b"".join(item + b"\n" for item in lines)


class Log(unittest.TestCase):
    def setUp(self):
        self.lines, previous = [], audit.NO_LINE
        for sequence in range(1, 4):
            self.lines.append(line(sequence, previous))
            previous = audit.line_hash(self.lines[-1])

    def faults(self, lines, last=3):
        return audit.check(log(lines), last)[1]

    def test_a_whole_log_is_sound(self):
        for last in (3, 2, None):
            receipts, faults = audit.check(log(self.lines) + b'{"act', last)
            self.assertEqual((len(receipts), faults), (3, []))

    def test_no_byte_can_be_another(self):
        for position in range(len(self.lines[1])):
            changed = bytearray(self.lines[1])
            changed[position] ^= 1
            self.assertTrue(self.faults([self.lines[0], bytes(changed), self.lines[2]], None), position)

    def test_missing_exchanged_and_foreign_lines(self):
        one, two, three = self.lines
        foreign = line(2, audit.line_hash(one), seed=bytes(32))
        for lines in ([one, three], [two, one, three], [one, two, two, three], [one, foreign, three]):
            self.assertTrue(self.faults(lines, None))

    def test_another_key_follows_by_a_line_that_both_sign(self):
        other = bytes(32)

        def chain(*seeds):
            lines, previous = [], audit.NO_LINE
            for sequence, (seed, former) in enumerate(seeds, 1):
                lines.append(line(sequence, previous, seed, former=former))
                previous = audit.line_hash(lines[-1])
            return self.faults(lines, None)

        own, new, both = (SEED, None), (other, None), (other, SEED)
        for seeds in ((own, both, new), (both, new), (own, both), (own, both, own, both, new)):
            self.assertEqual(chain(*seeds), [])
        for seeds in ((own, new), (own, both, new, own), (own, (other, bytes([7]) * 32), new)):
            self.assertTrue(chain(*seeds))

    def test_a_cut_tail_is_seen_with_the_keyring_alone(self):
        self.assertTrue(self.faults(self.lines[:2]))
        self.assertFalse(self.faults(self.lines[:2], None))


if __name__ == "__main__":
    unittest.main()
