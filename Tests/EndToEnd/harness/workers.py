"""Runs modules of checks side by side: each in a process of its own, and where the system allows it in namespaces of
its own, so that no port, no mount, no temporary file and no leftover process of one meets another."""

import concurrent.futures
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from own_network import ADDRESSED

from .outcome import Outcome

_NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
_OWN_NETWORK = (*_NAMESPACES, "--net")
# The shell stays: as the first process of its namespace, it collects what others leave behind.
_SHELL = "mount --bind {folder} /tmp || exit 120; \"$@\"; exit"


def can_isolate():
    """Whether this user may create namespaces."""
    return subprocess.run([*_OWN_NETWORK, "sh", "-c", ADDRESSED + "true"], capture_output=True).returncode == 0


class Worker:
    """One module in a process of its own, which reports through a pipe."""

    def __init__(self, module, command, isolation=None):
        """`isolation` returns the beginning of a command that runs another one in namespaces, for a folder of temporary
        files."""
        self._module, self._is_isolated = module, isolation is not None
        self._folder = tempfile.mkdtemp(prefix="mediavault-worker-")
        os.chmod(self._folder, 0o1777)
        self._said = tempfile.TemporaryFile()
        reading, writing = os.pipe()
        inside = isolation(self._folder) if isolation else ()
        self._process = subprocess.Popen(
            [*inside, *command, "--worker", module, "--report", str(writing)], pass_fds=[writing],
            stdin=subprocess.DEVNULL, stdout=self._said, stderr=self._said, start_new_session=True,
            env=os.environ if isolation else {**os.environ, "TMPDIR": self._folder})
        os.close(writing)
        self._lines = os.fdopen(reading, encoding="utf-8")

    def outcomes(self, patience):
        """Yields the outcome of each check; in the end a failure of the module, if its process has died, or had
        nothing to report for `patience` seconds."""
        is_complete = is_silent = False

        def give_up():
            nonlocal is_silent
            is_silent = True
            self.kill()

        while True:
            silence = threading.Timer(patience, give_up)
            silence.start()
            line = self._lines.readline()
            silence.cancel()
            if not line.endswith("\n"):  # the end, or a line that a death has cut
                break
            if line == END:
                is_complete = True
            else:
                yield Outcome.decoded(line)
        code = self._process.wait()
        if code or is_silent or not is_complete:
            yield self._death(f"reported nothing for {patience} s" if is_silent else
                              f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}")

    def _death(self, how):
        self._said.seek(0)
        said = self._said.read().decode(errors="replace").strip().splitlines()
        return _failure(self._module, how, said[-12:])

    def kill(self):
        """Ends the process with all that it has started: with its namespaces, or else by its own means if they work."""
        if not self._is_isolated:
            self._signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(60)
        self._signal(signal.SIGKILL)

    def _signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def close(self):
        self.kill()
        self._process.wait()
        self._lines.close()
        self._said.close()
        shutil.rmtree(self._folder, ignore_errors=True)


END = "end\n"  # what a worker reports after its last check


def _failure(module, how, said):
    return Outcome("FAIL", module, f"The worker of {module} {how}", 0.0, "\n".join(said))


class Pool:
    """Runs modules, several at a time."""

    def __init__(self, command, jobs):
        """`command` runs one module if it is given the options --worker MODULE and --report DESCRIPTOR."""
        self._lock, self._workers, self._is_over = threading.Lock(), set(), False
        self._can_isolate = can_isolate()
        # Without namespaces, two modules would take each other's ports.
        self._command, self._jobs = command, jobs if self._can_isolate else 1

    def run(self, modules, report, took):
        """Runs the modules in this order, each as soon as there is a place for it, and waits for all.

        Passes each outcome to `report`, and to `took` how many seconds a module took."""
        with concurrent.futures.ThreadPoolExecutor(self._jobs) as executor:
            running = [executor.submit(self._run, module, report, took) for module in modules]
            try:
                for future in concurrent.futures.as_completed(running):
                    future.result()
            except BaseException:
                self._end()
                raise

    def _run(self, module, report, took):
        started, outcomes = time.monotonic(), []
        try:
            with self._lock:
                if self._is_over:
                    return
                worker = Worker(module.__name__, self._command, self._isolation(module))
                self._workers.add(worker)
            try:
                for outcome in worker.outcomes(patience_of(module)):
                    outcomes.append(outcome)
            finally:
                worker.close()
                with self._lock:
                    self._workers.discard(worker)
        except (OSError, ValueError, TypeError) as error:  # it cannot be started, or it reports what is no outcome
            outcomes.append(_failure(module.__name__, "cannot be followed", [str(error)]))
        with self._lock:
            for outcome in outcomes:
                report(outcome)
            took(module.__name__, time.monotonic() - started)

    def _isolation(self, module):
        """Returns what makes the beginning of the command that runs the module in namespaces."""
        if not self._can_isolate:
            return None
        namespaces, link = (_NAMESPACES, "") if getattr(module, "needs_network", False) else (_OWN_NETWORK, ADDRESSED)
        return lambda folder: (*namespaces, "bash", "-c", link + _SHELL.format(folder=shlex.quote(folder)), "-")

    def _end(self):
        with self._lock:
            self._is_over = True
            for worker in self._workers:
                worker.kill()


# What a module may say of itself, beside `needs_network = True` if it needs the network of this machine.


def is_alone(module):
    """Whether it measures, or needs the machine for itself: then it says `alone = True`."""
    return getattr(module, "alone", False)


def patience_of(module):
    """Returns after how many seconds without a finished check it counts as hung: its `patience`, or ten minutes."""
    return getattr(module, "patience", 600)
