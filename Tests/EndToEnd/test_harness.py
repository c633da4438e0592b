"""Checks of the harness itself, because no other check sees a failure that it hides."""

import unittest

from harness import client


class Together(unittest.TestCase):
    def test_raises(self):
        """If one of several concurrent actions fails, the check fails after the other actions have ended"""
        done = []

        def failing():
            raise AssertionError("the bytes differ")

        with self.assertRaisesRegex(AssertionError, "the bytes differ"):
            client.together([failing, lambda: done.append(1), lambda: done.append(2)])
        self.assertEqual(sorted(done), [1, 2])
        with self.assertRaises(BaseExceptionGroup) as raised:
            client.together([failing, failing, lambda: done.append(3)])
        self.assertEqual(len(raised.exception.exceptions), 2)
        self.assertIn(3, done)
