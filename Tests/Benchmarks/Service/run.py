#!/usr/bin/env python3
"""Measures the service beside alternatives, and key operations, against bounds, in one run.

    run.py [--quick] [--binary PATH] [a] [b] … [m]

Exit code 0 if all bounds are met, 1 if one is not, 2 if something could not be measured. Called by Scripts/bench, which
installs what it needs, in its own mount namespace.
"""

import argparse
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, os.pardir, os.pardir, os.pardir))
sys.path[:0] = [HERE, os.path.join(ROOT, "Tests", "EndToEnd")]
sys.dont_write_bytecode = True

from figures import FIGURES, Bench, Sizes  # noqa: E402
from servers import Servers  # noqa: E402

_ROW = "{:<2} {:<69} {:>8} {:>8} {:>8}  {:<9}  {}"


def machine():
    """Yields the facts about the machine and the tools on which the figures depend."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    load = os.getloadavg()[0]
    yield f"{os.cpu_count()} × {model}, {memory:.0f} GiB, {platform.system()} {platform.release()}, load {load:.1f}"
    for command in (("nginx", "-v"), ("gocryptfs", "--version"), ("curl", "--version"),
                    ("rclone", "--version")):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        yield (done.stdout or done.stderr).strip().splitlines()[0].split(";")[0][:60]


def measure(chosen, bench):
    """Prints each figure as soon as it is measured; returns whether all bounds are met."""
    print(_ROW.format("", "figure", "service", "beside", "result", "bound", ""))
    met = True
    for name in chosen:
        *shown, is_met = FIGURES[name](bench)
        print(_ROW.format(name, FIGURES[name].__doc__, *shown, "met" if is_met else "NOT MET"), flush=True)
        met = met and is_met
    return met


def main():
    parser = argparse.ArgumentParser(prog="Scripts/bench", description="Measures the service beside its peers.")
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(
        f"{name}: {figure.__doc__}" for name, figure in FIGURES.items()))
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer pairs")
    parser.add_argument("--binary", default=os.path.join(ROOT, ".build", "release", "mediavault"), help="the command")
    options = parser.parse_args()
    unknown = set(options.figures) - set(FIGURES)
    if unknown:
        parser.error(f"no such figure: {', '.join(sorted(unknown))}")
    os.environ["PATH"] += os.pathsep + "/usr/sbin"  # where Debian keeps nginx
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.makedirs(os.path.join(ROOT, ".build"), exist_ok=True)
    folder = tempfile.mkdtemp(prefix="bench-", dir=os.path.join(ROOT, ".build"))
    os.makedirs(os.path.join(folder, "media"))
    servers = Servers(os.path.join(folder, "servers"), os.path.join(folder, "media"))
    bench = Bench(os.path.abspath(options.binary), folder, servers, Sizes.quick() if options.quick else Sizes())
    try:
        for fact in machine():
            print(fact)
        bench.make_films()
        servers.start()
        return 0 if measure(sorted(set(options.figures)) or list(FIGURES), bench) else 1
    finally:
        bench.stop()
        servers.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except (RuntimeError, AssertionError, OSError, subprocess.SubprocessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(2)
