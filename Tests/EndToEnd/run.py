#!/usr/bin/env python3
"""Plays real media through the real command from real origins, and checks what a user would notice.

    run.py [--binary PATH] [--only NAME]... [--media FOLDER] [--jobs N] [--alone | --beside] [--quiet] [--again MOST]
           [--list]

Prints a line for each check, its figures beside their bounds, and a count. Exit code 0 if all checks pass, 1 if one
fails, 2 if nothing could be run. Needs nginx, numpy and players: Scripts/test installs them. Uses loopback only.

With --jobs, modules run side by side, those that took longest first; a module with `alone = True` runs by itself after
the others.
"""

import argparse
import functools
import os
import shutil
import signal
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "Runner")]
sys.dont_write_bytecode = True

from harness import reporting, workers  # noqa: E402
from harness.case import Settings  # noqa: E402
from harness.outcome import Recorder  # noqa: E402
from kept_times import Times  # noqa: E402

TOOLS = ("nginx", "ffmpeg", "mpv", "cvlc", "chromium", "varnishtest")


def checks(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from checks(item)
        else:
            yield item


def chosen(names):
    """Returns the checks whose module, class or method name contains one of `names`; without names, all checks."""
    found = list(checks(unittest.defaultTestLoader.discover(HERE)))
    return [item for item in found if not names or any(name in item.id() for name in names)]


def by_module(tests):
    """Returns the checks of each module, in their order."""
    modules = {}
    for item in tests:
        modules.setdefault(item.id().partition(".")[0], []).append(item)
    return modules


def is_alone(item):
    return workers.is_alone(sys.modules[type(item).__module__])


def run_here(modules, report, took):
    """Runs modules one after the other in this process."""
    for name, tests in modules.items():
        started = time.monotonic()
        reporting.run(tests, report)
        took(name, time.monotonic() - started)


def run_apart(modules, asked, times, report, took):
    """Runs modules in processes of their own, and in the end those that need the machine for themselves."""
    command = [sys.executable, *sys.argv]
    longest = [sys.modules[name] for name in sorted(modules, key=lambda name: times.of("modules", name), reverse=True)]
    if not asked.alone:
        workers.Pool(command, asked.jobs).run([item for item in longest if not workers.is_alone(item)], report, took)
    if not asked.beside:
        workers.Pool(command, 1).run([item for item in longest if workers.is_alone(item)], report, took)


def try_again(tests, recorder, most):
    """Tries failed checks once more, if there are not more than `most`, and none failed outside of a check."""
    failed = {outcome.name for outcome in recorder.of("FAIL")}
    again = [item for item in tests if item.id() in failed]
    if not again or not len(again) == len(failed) <= most:
        return
    recorder.forget(failed)
    run_here(by_module(again), recorder, lambda *_: None)
    for name in failed - {outcome.name for outcome in recorder.of("FAIL")}:
        print(f"flaky: {name} passed at the second try")


def work(tests, descriptor):
    """Runs the checks of a worker, and reports them to the runner that started it."""
    with os.fdopen(descriptor, "w", encoding="utf-8", buffering=1) as pipe:
        reporting.run(tests, lambda outcome: pipe.write(outcome.encoded()))
        pipe.write(workers.END)


def options():
    parser = argparse.ArgumentParser(description="Runs the end-to-end checks.")
    parser.add_argument("--binary", default=Settings.binary, help="the command (default: %(default)s)")
    parser.add_argument("--media", default=Settings.media, help="where media are kept (default: %(default)s)")
    parser.add_argument("--only", action="append", metavar="NAME", help="only checks with this in their name")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="run N modules at a time (default: 1)")
    those = parser.add_mutually_exclusive_group()
    those.add_argument("--alone", action="store_true", help="only modules that need the machine for themselves")
    those.add_argument("--beside", action="store_true", help="only modules that others may run beside")
    parser.add_argument("--list", action="store_true", help="print the names and run nothing")
    parser.add_argument("--quiet", action="store_true", help="print only what fails or is skipped, and the figures")
    parser.add_argument("--again", type=int, default=0, metavar="MOST",
                        help="try failed checks once more, if there are not more than this (default: never)")
    parser.add_argument("--times", default=Times.path, metavar="FILE", help="where times are kept (default: %(default)s)")
    parser.add_argument("--worker", metavar="MODULE", help=argparse.SUPPRESS)
    parser.add_argument("--report", type=int, metavar="DESCRIPTOR", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    asked = options()
    Settings.binary, Settings.media = os.path.abspath(asked.binary), os.path.abspath(asked.media)
    found = chosen(asked.only)
    if not found:
        reporting.fail("No check has such a name: see --list.")
    if asked.list:
        for item in found:
            print(f"{item.id()}: {' '.join((item._testMethodDoc or '').split())}")
        return 0
    os.environ["PATH"] += os.pathsep + "/usr/sbin"  # where Debian keeps nginx
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        reporting.fail(f"Not installed: {', '.join(missing)}. Scripts/test installs them.")
    if not os.access(Settings.binary, os.X_OK):
        reporting.fail(f"{Settings.binary} is not there: build it, or name another with --binary.")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # unittest does not catch KeyboardInterrupt
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell ignores it, and so would the command
    modules = by_module(found)
    if asked.worker:
        work(modules[asked.worker], asked.report)
        return 0
    recorder, times = Recorder(asked.quiet), Times(asked.times)
    took = functools.partial(times.add, "modules")
    due = [item.id() for item in found if not (asked.alone and not is_alone(item) or asked.beside and is_alone(item))]
    try:
        if asked.jobs > 1 or asked.alone or asked.beside:
            run_apart(modules, asked, times, recorder, took)
        else:
            run_here(modules, recorder, took)
        for outcome in list(recorder.missing(due)):
            recorder(outcome)
    finally:
        for outcome in recorder.outcomes:
            times.add("checks", outcome.name, outcome.seconds)
        times.keep()
    try_again(found, recorder, asked.again)
    print(recorder.summary())
    return 0 if recorder.is_success() else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
