"""An index into which somebody wrote what this program never writes: it costs neither memory nor what was there."""

import os
import shutil
import sqlite3
import subprocess
import sys

from harness.case import VaultCase

TITLES = 3
HUGE = 300_000_000
MORE = 32 << 20  # bytes that such a value may cost
# Runs a command as the child of a small process, so that what this one uses is not counted; the last line of the error
# output is the most memory that the command used, in KiB.
MEASURING = """import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
sys.stderr.write("\\n%d" % resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)"""
ACTS = (("list",), ("verify",), ("config", "set", "mode", "offline"), ("index", "rebuild"), ("verify", "--repair"))
DAMAGES = (
    "UPDATE resource SET metadata = zeroblob({huge}) WHERE id = (SELECT max(id) FROM resource)",
    "UPDATE resourceKey SET wrapped = zeroblob({huge}) WHERE resource = (SELECT max(id) FROM resource)",
    "UPDATE representation SET info = zeroblob({huge}) WHERE id = (SELECT max(id) FROM representation)",
    "UPDATE resource SET class = CAST(zeroblob({huge}) AS TEXT) WHERE id = (SELECT max(id) FROM resource)",
    "INSERT INTO viewer VALUES (zeroblob({huge}), x'00')",
)


class HostileRows(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()
        cls.urls = [cls.origin.add(f"film-{number}.mp4", size=100_000, seed=number) for number in range(TITLES)]

    def measured(self, vault, *line):
        """Runs a command; returns its exit code, its error output, and the most memory that it used, in bytes."""
        done = subprocess.run([sys.executable, "-c", MEASURING, vault.binary, *line], env=vault.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)
        text, _, peak = done.stderr.decode().rpartition("\n")
        return done.returncode, text, int(peak) << 10

    def change(self, vault, *statements):
        with sqlite3.connect(os.path.join(vault.folder, "index.sqlite")) as database:
            database.execute("PRAGMA ignore_check_constraints = ON")
            for statement in statements:
                database.execute(statement)
            self.assertGreaterEqual(database.total_changes, len(statements), statements)
        database.close()

    def test_huge_values(self):
        """A value of 300 MB anywhere in an index costs no command more than 32 MiB of memory, and a rebuild brings back
        every title"""
        vault = self.new_vault()
        for url in self.urls:
            vault.result("fetch", url)
        shutil.copytree(vault.folder, vault.folder + ".kept")
        usual = {act: self.measured(vault, *act)[2] for act in ACTS}
        most = 0
        for damage in DAMAGES:
            shutil.rmtree(vault.folder)
            shutil.copytree(vault.folder + ".kept", vault.folder)
            self.change(vault, damage.format(huge=HUGE))
            for act in ACTS:
                code, said, peak = self.measured(vault, *act)
                most = max(most, peak - usual[act])
                self.assertLess(peak - usual[act], MORE, f"{damage}, then {act}: {said}")
                if act == ("index", "rebuild"):
                    self.assertEqual(code, 0, f"{damage}: {said}")
                elif ACTS.index(act) < ACTS.index(("index", "rebuild")):
                    self.assertIn("index rebuild", said, f"{damage}, then {act}")
            self.assertEqual(vault.run("verify").returncode, 0, damage)
            for url in self.urls:
                vault.result("cat", "--offline", url)
        self.figure("memory that a value of 300 MB costs", most / (1 << 20), "<= 32", " MiB")

    def test_many_doomed(self):
        """Three hundred thousand files that are to be removed, and do not exist, keep no command busy for minutes"""
        vault = self.new_vault()
        vault.result("fetch", self.urls[0])
        self.change(vault, "WITH RECURSIVE m(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM m LIMIT 300000) "
                           "INSERT INTO doomed SELECT randomblob(16) FROM m")
        vault.result("config", "set", "mode", "offline", timeout=60)
        with sqlite3.connect(os.path.join(vault.folder, "index.sqlite")) as database:
            self.assertEqual(database.execute("SELECT count(*) FROM doomed").fetchone(), (0,))
        database.close()
        vault.result("cat", "--offline", self.urls[0])
