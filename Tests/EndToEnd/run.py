#!/usr/bin/env python3
"""Plays real media through the real command from real origins, and checks what a user would notice.

    run.py [--binary PATH] [--only NAME]... [--media FOLDER] [--quiet] [--times] [--again MOST] [--list]

Prints a line for each check, its figures beside their bounds, and a count. Exit code 0 if all checks pass, 1 if one
fails, 2 if nothing could be run. Needs nginx, numpy and players: Scripts/test installs them. Uses loopback only.
"""

import argparse
import os
import shutil
import signal
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

from harness import reporting  # noqa: E402
from harness.case import Settings  # noqa: E402

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


def main():
    parser = argparse.ArgumentParser(description="Runs the end-to-end checks.")
    parser.add_argument("--binary", default=Settings.binary, help="the command (default: %(default)s)")
    parser.add_argument("--media", default=Settings.media, help="where media are kept (default: %(default)s)")
    parser.add_argument("--only", action="append", metavar="NAME", help="only checks with this in their name")
    parser.add_argument("--list", action="store_true", help="print the names and run nothing")
    parser.add_argument("--quiet", action="store_true", help="print only what fails or is skipped, and the figures")
    parser.add_argument("--again", type=int, default=0, metavar="MOST",
                        help="try failed checks once more, if there are not more than this (default: never)")
    parser.add_argument("--times", action="store_true", help="print how long each module and each check took")
    options = parser.parse_args()
    Settings.binary, Settings.media = os.path.abspath(options.binary), os.path.abspath(options.media)
    found = chosen(options.only)
    if not found:
        reporting.fail("No check has such a name: see --list.")
    if options.list:
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
    return 0 if reporting.run(found, options.quiet, options.times, options.again) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
