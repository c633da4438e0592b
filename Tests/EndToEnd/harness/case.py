"""A check is one test method; its docstring is the sentence that names it."""

import os
import shutil
import tempfile
import unittest

from . import client
from .media import Media
from .nginx_origin import NginxOrigin
from .scripted_origin import ScriptedOrigin
from .vault import Vault
from .waiting import eventually

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, os.pardir))
SEED = int(os.environ.get("MEDIAVAULT_SEED", "20261121"))
KILLS = int(os.environ.get("MEDIAVAULT_KILLS", "10"))  # during each key operation
NIGHT = os.environ.get("MEDIAVAULT_NIGHT", "").split()  # the rows of Tests/Runner/night.txt that this run does


class Settings:
    """The options of the runner."""

    binary = os.path.join(ROOT, ".build", "release", "mediavault")
    scratch = os.path.join(ROOT, ".build", "end-to-end")
    media = os.path.join(ROOT, ".build", "media")
    browser_python = os.path.join(ROOT, ".build", "playwright", "bin", "python")
    schemathesis = os.path.join(ROOT, ".build", "schemathesis", "bin", "schemathesis")
    figures = []


def each(*values):
    """Turns a method into one check for each value; `{}` in its sentence stands for the value."""
    def mark(method):
        method.each = values
        return method
    return mark


def at_night(row):
    """Marks a check that runs only if a run does this row of the nightly table; by day there is no such check."""
    return lambda method: method if row in NIGHT else None


class VaultCase(unittest.TestCase):
    """The base of all checks: gives each class a scratch folder, media, and means to create origins and vaults."""

    def __init_subclass__(cls, **arguments):
        super().__init_subclass__(**arguments)
        for name, method in list(vars(cls).items()):
            for value in getattr(method, "each", ()):
                setattr(cls, f"{name}_{''.join(c if c.isalnum() else '_' for c in str(value))}", _bound(method, value))
            if hasattr(method, "each"):
                delattr(cls, name)

    @classmethod
    def setUpClass(cls):
        if not os.access(Settings.binary, os.X_OK):
            raise FileNotFoundError(f"{Settings.binary} is not there: build it, or name another with --binary")
        os.makedirs(Settings.scratch, exist_ok=True)
        cls.scratch = tempfile.mkdtemp(prefix=cls.__name__ + "-", dir=Settings.scratch)
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        cls.media = Media(Settings.media)
        cls._places = 0
        cls.prepare()

    @classmethod
    def prepare(cls):
        """Sets up what the class needs before its first check."""

    @classmethod
    def new_origin(cls):
        cls._places += 1
        origin = NginxOrigin(os.path.join(cls.scratch, f"origin-{cls._places}"), cls.media)
        cls.addClassCleanup(origin.stop)
        return origin

    @classmethod
    def new_scripted_origin(cls):
        origin = ScriptedOrigin()
        cls.addClassCleanup(origin.stop)
        return origin

    @classmethod
    def new_vault(cls):
        cls._places += 1
        vault = Vault(Settings.binary, os.path.join(cls.scratch, f"vault-{cls._places}")).init()
        cls.addClassCleanup(vault.stop)
        return vault

    @classmethod
    def served_vault(cls, *options):
        vault = cls.new_vault()
        vault.serve(*options)
        return vault

    @staticmethod
    def figure(name, value, bound, unit=""):
        """Records a figure with its bound, to be printed."""
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        Settings.figures.append(f"figure: {name} = {shown}{unit} ({bound})")

    def assert_eventually(self, produce, expected, message=None, within=60.0):
        self.assertEqual(eventually(produce, lambda value: value == expected, within), expected, message)

    def assert_whole(self, address, name):
        """Checks that the address serves the whole media file, byte for byte."""
        status, length, digest = client.digest(address)
        self.assertEqual((status, length, digest), (200, self.media.size(name), self.media.sha256(name)))

    def assert_range(self, address, name, first, end):
        answer = client.get(address, f"bytes={first}-{end - 1}")
        self.assertEqual(answer.status, 206)
        self.assertEqual(answer.headers.get("content-range"), f"bytes {first}-{end - 1}/{self.media.size(name)}")
        self.assertTrue(answer.body == self.media.bytes(name, first, end), f"bytes {first}-{end - 1} of {name} differ")


def _bound(method, value):
    def check(self):
        method(self, value)
    check.__doc__ = method.__doc__.replace("{}", str(value))
    return check
