"""Builds everything, runs every test side by side, keeps how long each took, and prints the counts on the last line.
Started by Scripts/test, which installs the tools and says what the options are."""

import argparse
import contextlib
import os
import signal
import sys

sys.dont_write_bytecode = True

import night  # noqa: E402
import parts  # noqa: E402
from counts import Count  # noqa: E402
from kept_times import Times  # noqa: E402
from schedule import Schedule  # noqa: E402
from stutter import Stutter  # noqa: E402

SLOWEST = 10


class Report:
    """Prints what each part found as soon as it ends, and in the end what failed and the sums."""

    def __init__(self, times, is_strict):
        self._times, self._is_strict, self._sum = times, is_strict, Count()

    def __call__(self, part, count, seconds):
        self._sum += count  # first: what follows may fail
        self._times.add("parts", part.name, seconds)
        for line in count.notes:
            print(line)
        if not part.name.startswith("build") or count.failed:
            skipped = f", {count.skipped} skipped" if count.skipped else ""
            print(f"{part.name}: {count.passed} passed, {count.failed} failed{skipped} in {seconds:.0f} s", flush=True)

    def finish(self):
        """Returns the exit code."""
        # A skipped test proves nothing: where everything is installed that tests need, it counts as failed.
        if self._is_strict:
            self._sum.failed, self._sum.skipped = self._sum.failed + self._sum.skipped, 0
        print("The slowest:")
        for name, seconds in self._times.slowest(SLOWEST, "parts", "modules", "checks"):
            print(f"  {seconds:.1f} s  {name}")
        for line in self._sum.failures:
            print(line)
        skipped = f", {self._sum.skipped} skipped" if self._sum.skipped else ""
        print(f"{self._sum.passed} passed, {self._sum.failed} failed{skipped}")
        return 1 if self._sum.failed else 0


def options():
    parser = argparse.ArgumentParser(prog="Scripts/test", add_help=False)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--debug", action="store_true")
    parser.add_argument("--nightly", action="store_true")
    parser.add_argument("--changed", nargs="?", const="origin/main", metavar="REV")
    parser.add_argument("--stutter", nargs="?", type=int, const=1, metavar="SEED")
    asked = parser.parse_args()
    if asked.changed == "":
        parser.error("--changed was given an empty revision: name one, or leave it out")
    if (asked.nightly or asked.changed) and (asked.quick or asked.debug):
        parser.error("--quick and --debug are for runs by day: leave out --nightly and --changed")
    return asked


def beyond_day(asked):
    """Returns the rows of the nightly table that this run does."""
    table = night.rows()
    if asked.nightly:
        return [row for row in table if row.name != "day"]
    return night.touched(table, night.changed_paths(asked.changed)) if asked.changed else []


def run(asked):
    os.chdir(parts.ROOT)
    os.makedirs(parts.LOGS, exist_ok=True)
    times, jobs = Times(), (os.cpu_count() or 1) + 1
    more = beyond_day(asked)
    if more:
        print(f"Beyond what runs by day: {', '.join(row.name for row in more)}", flush=True)
    os.environ.update(night.environment(more, asked.nightly))
    names = {row.name for row in more}
    planned = parts.by_day(parts.Build(asked.debug), times, jobs, asked.quick, "package" in names)
    if "debug" in names:
        planned += parts.in_debug(times)
    report = Report(times, os.environ.get("CI") == "true")
    with contextlib.ExitStack() as stack:
        prefix = stack.enter_context(Stutter(asked.stutter)).prefix if asked.stutter is not None else ()
        Schedule(planned, jobs, parts.LOGS, report, prefix).run()
    times.keep()
    return report.finish()


if __name__ == "__main__":
    for ends in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ends, signal.default_int_handler)
    sys.stdout.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no reason to fail
    try:
        sys.exit(run(options()))
    except KeyboardInterrupt:
        sys.exit(130)
    except night.UnknownRevision as error:
        sys.exit(str(error))
