"""Checks of the harness itself, because no other check sees a failure that it hides."""

import contextlib
import io
import os
import sys
import tempfile
import types
import unittest

from harness import client, reporting, workers
from harness.outcome import Outcome, Recorder


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


REPORTING = """
import os, signal, subprocess, sys
pipe = os.fdopen(int(sys.argv[sys.argv.index("--report") + 1]), "w", buffering=1)
def tell(name):
    pipe.write('{"word": "ok", "name": "' + name + '", "sentence": "", "seconds": 0, "details": "", "figures": []}\\n')
"""


class Workers(unittest.TestCase):
    """Modules are stood in for by scripts that report as a worker does."""

    def setUp(self):
        self.outcomes, self.took = [], {}

    def run_modules(self, script, *names, jobs=3, **attributes):
        """Runs modules of these names whose worker is the script, which finds its module's name in `sys.argv`."""
        modules = [types.SimpleNamespace(__name__=name, **attributes) for name in names]
        pool = workers.Pool([sys.executable, "-c", REPORTING + script], jobs)
        pool.run(modules, self.outcomes.append, self.took.__setitem__)
        return {outcome.name: outcome for outcome in self.outcomes}

    def test_reports(self):
        """Each module runs in a process of its own, and its outcomes and its time are reported"""
        found = self.run_modules('tell(sys.argv[sys.argv.index("--worker") + 1] + ".C.test"); pipe.write("end\\n")', "one", "two")
        self.assertEqual({name: outcome.word for name, outcome in found.items()}, {"one.C.test": "ok", "two.C.test": "ok"})
        self.assertEqual(set(self.took), {"one", "two"})

    def test_order(self):
        """With one place, modules run in the given order"""
        script = 'tell(sys.argv[sys.argv.index("--worker") + 1]); pipe.write("end\\n")'
        self.run_modules(script, "b", "c", "a", jobs=1)
        self.assertEqual([outcome.name for outcome in self.outcomes], ["b", "c", "a"])

    def test_dies(self):
        """A worker that ends before its last check is a failure of its module, by name, with what it said"""
        for how in ("os.kill(os.getpid(), signal.SIGKILL)", "sys.exit(3)", "raise ValueError('no such module')"):
            found = self.run_modules(f'tell("one.C.first"); print("a last word", flush=True); {how}', "one")
            self.assertEqual([found["one.C.first"].word, found["one"].word], ["ok", "FAIL"], how)
            self.assertIn("The worker of one", found["one"].sentence)
            self.assertIn("a last word", found["one"].details)

    def test_ends_badly(self):
        """A worker that ends badly after its last check is a failure of its module, too"""
        for how in ("os.kill(os.getpid(), signal.SIGSEGV)", "sys.exit(3)"):
            found = self.run_modules(f'tell("one.C.first"); pipe.write("end\\n"); {how}', "one")
            self.assertEqual([found["one.C.first"].word, found["one"].word], ["ok", "FAIL"], how)

    def test_cut_report(self):
        """A report that a death has cut, or that is no report, is a failure of its module alone"""
        for report in ('{"word": "ok"', '{"word": "ok"}\\n', "no report\\n", "[]\\n"):
            found = self.run_modules(
                f"""pipe.write('{report}') if "one" in sys.argv else (tell("two.C.test"), pipe.write("end\\n"))""", "one", "two")
            self.assertEqual([found["one"].word, found["two.C.test"].word], ["FAIL", "ok"], report)
            self.outcomes.clear()

    def test_silent(self):
        """A worker that reports nothing for longer than its module's patience is ended, and is a failure of its module"""
        found = self.run_modules('tell("one.C.first"); import time; time.sleep(600)', "one", patience=0.5)
        self.assertEqual(found["one"].word, "FAIL")
        self.assertIn("reported nothing for 0.5 s", found["one"].sentence)

    @unittest.skipUnless(workers.can_isolate(), "only root can create namespaces")
    def test_isolated(self):
        """Two modules at once have the same port, the same temporary file and an address beside loopback; what they leave
        behind ends with them"""
        script = """
import socket, time
server = socket.create_server(("127.0.0.1", 7777))
socket.create_server(("192.0.2.1", 7777))
open("/tmp/taken", "x")
left = subprocess.Popen(["sleep", "987654"], start_new_session=True)
open(sys.argv[1] + str(os.getpid()) + sys.argv[sys.argv.index("--worker") + 1], "w").close()
while len(os.listdir(sys.argv[1])) < 2:
    time.sleep(0.01)
tell(sys.argv[sys.argv.index("--worker") + 1]); pipe.write("end\\n")
"""
        with tempfile.TemporaryDirectory(dir=os.path.dirname(__file__)) as folder:
            modules = [types.SimpleNamespace(__name__=name) for name in ("one", "two")]
            pool = workers.Pool([sys.executable, "-c", REPORTING + script, folder + "/"], 2)
            pool.run(modules, self.outcomes.append, self.took.__setitem__)
        self.assertEqual({outcome.name: outcome.word for outcome in self.outcomes}, {"one": "ok", "two": "ok"})
        self.assertFalse(any(b"987654" in line for line in command_lines()), "a process was left behind")


def command_lines():
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{entry}/cmdline", "rb") as file:
                yield file.read()


class Reports(unittest.TestCase):
    def recorded(self, *classes):
        """Runs the checks of these classes; returns what was recorded, and what was printed."""
        recorder, load = Recorder(quiet=True), unittest.defaultTestLoader.loadTestsFromTestCase
        with contextlib.redirect_stdout(io.StringIO()) as told:
            reporting.run([check for each in classes for check in load(each)], recorder)
        return recorder, told

    def test_outcomes(self):
        """What passes, fails, breaks, is skipped or fails in a part is told as that, and so is a class that cannot be set up"""
        class Some(unittest.TestCase):
            def test_a_passes(self):
                """It passes"""
            def test_b_fails(self):
                self.fail("the bytes differ")
            def test_c_breaks(self):
                raise OSError("no disk")
            def test_d_skips(self):
                self.skipTest("no root")
            def test_e_part(self):
                with self.subTest(part=1):
                    self.fail("one part")

        class Unprepared(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                raise OSError("no origin")
            def test_never(self):
                pass

        recorder, told = self.recorded(Some, Unprepared)
        self.assertEqual([outcome.word for outcome in recorder.outcomes], ["ok", "FAIL", "FAIL", "skip", "FAIL", "FAIL"])
        self.assertEqual(recorder.summary(), "1 passed, 4 failed, 1 skipped")
        self.assertFalse(recorder.is_success())
        for word in ("the bytes differ", "no disk", "no root", "one part", "no origin"):
            self.assertIn(word, told.getvalue())
        for outcome in recorder.outcomes:
            self.assertEqual(Outcome.decoded(outcome.encoded()), outcome)

    def test_expected(self):
        """A check that was expected to fail is a failure, whether it fails or passes"""
        class Some(unittest.TestCase):
            @unittest.expectedFailure
            def test_a_fails(self):
                self.fail("the bytes differ")
            @unittest.expectedFailure
            def test_b_passes(self):
                pass

        recorder, _ = self.recorded(Some)
        self.assertEqual([outcome.word for outcome in recorder.outcomes], ["FAIL", "FAIL"])

    def test_twice(self):
        """A check that fails in its body and in what cleans up is one failure"""
        class Some(unittest.TestCase):
            def tearDown(self):
                self.fail("errors in the console")
            def test_fails(self):
                self.fail("the bytes differ")

        recorder, told = self.recorded(Some)
        self.assertEqual(recorder.summary(), "0 passed, 1 failed")
        for word in ("the bytes differ", "errors in the console"):
            self.assertIn(word, told.getvalue())

    def test_missing(self):
        """A check that reported nothing is a failure; it is skipped if its class is, and its class or module tells if that
        has failed"""
        recorder = Recorder(quiet=True)
        with contextlib.redirect_stdout(io.StringIO()):
            for word, name in (("ok", "a.A.one"), ("skip", "setUpClass (b.B)"), ("FAIL", "setUpClass (c.C)"), ("FAIL", "d")):
                recorder(Outcome(word, name, "", 0.0))
            names = ("a.A.one", "a.A.two", "b.B.one", "b.B.two", "c.C.one", "d.D.one")
            for outcome in list(recorder.missing(names)):
                recorder(outcome)
        self.assertEqual([(outcome.word, outcome.name) for outcome in recorder.outcomes[4:]],
                         [("FAIL", "a.A.two"), ("skip", "b.B.one"), ("skip", "b.B.two")])
        self.assertEqual(recorder.summary(), "1 passed, 3 failed, 2 skipped")
