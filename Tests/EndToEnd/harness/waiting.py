"""Waits for another process by polling, never by a fixed sleep.

What happens is seen at once, so the time limits are long enough for a machine that stands still for some seconds."""

import time


def eventually(produce, accept=bool, within=60.0, every=0.02):
    """Returns the first value of `produce` that `accept` accepts, or the last one when the time is up."""
    deadline = time.monotonic() + within
    while True:
        value = produce()
        if accept(value) or time.monotonic() >= deadline:
            return value
        time.sleep(every)


def settled(produce, tolerance, quiet=1.0, within=15.0):
    """Returns a figure that has changed by at most `tolerance` for `quiet` seconds, or the last one when the time is
    up."""
    value, since, deadline = produce(), time.monotonic(), time.monotonic() + within
    while time.monotonic() - since < quiet and time.monotonic() < deadline:
        time.sleep(0.1)
        latest = produce()
        if abs(latest - value) > tolerance:
            value, since = latest, time.monotonic()
    return value
