"""A player that tolerates a service that is killed and restarted."""

import http.client
import threading
import time

from . import client


class RepeatedPlayer:
    """A player that reads a title repeatedly and counts the results."""

    def __init__(self, address, content):
        self._address, self._content, self._ends = address, content, threading.Event()
        self.whole, self.cut, self.wrong = 0, 0, 0
        self._thread = threading.Thread(target=self._play)
        self._thread.start()

    def _play(self):
        while not self._ends.is_set():
            try:
                answer = client.get(self._address, timeout=20)
            except (OSError, http.client.HTTPException):  # the service is being restarted
                time.sleep(0.02)
                continue
            if answer.status != 200 or answer.body != self._content[:len(answer.body)]:
                self.wrong += 1
            elif len(answer.body) == len(self._content):
                self.whole += 1
            else:
                self.cut += 1

    def end(self):
        self._ends.set()
        self._thread.join()
