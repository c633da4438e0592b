"""Runs the parts of a test run: side by side where they allow it, each as soon as what it needs is there."""

import contextlib
import dataclasses
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable

from counts import Count

PATIENCE = 60  # seconds between an interrupt and force


@dataclasses.dataclass(frozen=True)
class Part:
    """A command whose output says how many tests passed."""

    name: str
    command: tuple
    count: Callable  # takes the lines of the output and the exit status, and returns a `Count`
    after: tuple = ()  # the parts that must have succeeded
    places: int = 1  # how many processors it keeps busy
    is_alone: bool = False  # whether nothing else may run meanwhile
    limit: float = 7200  # seconds after which it counts as hung
    environment: dict = dataclasses.field(default_factory=dict)


class Schedule:
    """Runs parts on so many places."""

    def __init__(self, parts, places, logs, report, prefix=()):
        """Calls `report` with each part at its end, what it counted, and how many seconds it took. `prefix` is the
        beginning of every command."""
        self._waiting, self._places, self._logs, self._report, self._prefix = list(parts), places, logs, report, prefix
        self._changed = threading.Condition()
        self._running, self._processes, self._succeeded, self._failed, self._is_over = [], set(), set(), set(), False
        self._broken = None  # why the report of a part could not be given

    def run(self):
        """Runs all parts, and returns when the last one has ended. After an interrupt ends those that run."""
        threads = []
        try:
            with self._changed:
                while self._waiting or self._running:
                    self._drop_impossible()
                    for part in [part for part in self._waiting if self._may_start(part)]:
                        if self._may_start(part):  # still, after those that have just started
                            self._waiting.remove(part)
                            self._running.append(part)
                            threads.append(threading.Thread(target=self._execute, args=(part,)))
                            threads[-1].start()
                    if self._running:
                        self._changed.wait()
                    elif self._waiting:
                        raise ValueError(f"{self._waiting[0].name} needs a part that does not exist")
                    if self._broken:
                        raise self._broken
        except BaseException:
            self.end()
            raise
        finally:
            for thread in threads:
                thread.join()

    def _may_start(self, part):
        if not set(part.after) <= self._succeeded or any(running.is_alone for running in self._running):
            return False
        if part.is_alone:
            return not self._running and all(other.is_alone for other in self._waiting)
        used = sum(running.places for running in self._running)
        return not self._running or used + part.places <= self._places

    def _drop_impossible(self):
        """Counts the parts as failed that need one that has failed."""
        while lost := [part for part in self._waiting if set(part.after) & self._failed]:
            for part in lost:
                self._waiting.remove(part)
                self._failed.add(part.name)
                self._report(part, Count.failure([f"{part.name} did not run, because {' and '.join(part.after)} failed"]), 0.0)

    def _execute(self, part):
        started, path = time.monotonic(), os.path.join(self._logs, part.name + ".log")
        count = Count.failure([f"{part.name} could not be run"])
        try:
            status = self._run(part, path)
            with open(path, encoding="utf-8", errors="replace") as log:
                count = part.count(log.read().splitlines(), status)
        except OSError as error:
            count = Count.failure([f"{part.name}: {error}"])
        finally:
            with self._changed:
                self._running.remove(part)
                (self._failed if count.failed else self._succeeded).add(part.name)
                try:
                    self._report(part, count, time.monotonic() - started)
                except Exception as error:  # a count that nobody sees ends the run
                    self._broken = error
                finally:
                    self._changed.notify_all()

    def _run(self, part, path):
        """Runs the command of a part with its output in a file, and returns its exit status."""
        with self._changed, open(path, "wb") as log:
            if self._is_over:
                raise OSError("the run was interrupted")
            process = subprocess.Popen(
                (*self._prefix, *part.command), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, **part.environment})
            self._processes.add(process)
        try:
            return process.wait(part.limit)
        except subprocess.TimeoutExpired as error:
            end_session(process)
            raise OSError(f"it did not end within {part.limit} s") from error
        finally:
            with self._changed:
                self._processes.discard(process)

    def end(self):
        """Ends the parts that run, and starts no other."""
        with self._changed:
            self._is_over = True
            self._waiting.clear()
            ending = list(self._processes)
        for process in ending:
            signal_session(process, signal.SIGINT)
        for process in ending:
            end_session(process)


def end_session(process):
    """Ends a process that leads a session, with all of the session: by an interrupt, and after a while by force."""
    signal_session(process, signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE)
    signal_session(process, signal.SIGKILL)
    process.wait()


def signal_session(process, number):
    """Sends a signal to all processes of a session, where /proc names them; else to the group of its leader."""
    members = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()] if os.path.isdir("/proc") else []
    for member in members:
        with contextlib.suppress(OSError):
            if os.getsid(member) == process.pid:
                os.kill(member, number)
    if not members:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, number)
