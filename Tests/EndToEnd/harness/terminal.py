"""A command at a pseudo-terminal."""

import os
import pty
import select
import signal
import time

from .waiting import eventually


class Terminal:
    """A command with a terminal of its own."""

    def __init__(self, arguments, environment):
        self.shown = b""
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.execve(arguments[0], arguments, environment)

    def _read(self, within):
        """Takes what the terminal shows; returns false if it shows nothing within that time, or no more."""
        if not select.select([self._terminal], [], [], within)[0]:
            return False
        try:
            found = os.read(self._terminal, 4096)
        except OSError:  # how Linux reports that no process has the terminal open
            return False
        self.shown += found
        return bool(found)

    def wait_for(self, text, within=60, after=b""):
        """Waits until a text is shown, behind another one if that is given."""
        deadline = time.monotonic() + within
        while text not in self.shown[self._end(after):] and time.monotonic() < deadline:
            self._read(0.1)
        if text not in self.shown[self._end(after):]:
            raise AssertionError(f"{text} was not shown: {self.shown}")

    def _end(self, text):
        start = self.shown.find(text)
        return len(self.shown) if start < 0 else start + len(text)

    def type(self, text):
        os.write(self._terminal, text)

    def end(self, within=60):
        """Returns the exit code: negative for the signal that killed the command; None if it had to be killed."""
        ended, status = eventually(lambda: os.waitpid(self.pid, os.WNOHANG), lambda result: result[0], within)
        if ended:
            while self._read(0):
                pass
            return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return None
