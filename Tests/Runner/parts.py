"""What a test run consists of. One build serves Swift tests and end-to-end tests: optimized, and with all symbols that
`@testable` needs."""

import os
import shutil
import subprocess
import sys

import counts
from own_network import ADDRESSED
from schedule import Part
from swift_events import SwiftRun

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOGS = os.path.join(ROOT, ".build", "test-logs")
SHELL_SCRIPTS = (
    ".ci/run", *(f"Scripts/{name}" for name in (
        "bench", "fuzz", "package", "respond-to-leak", "rotate-keys", "run", "test", "try-boot", "logged.sh", "packages.sh",
        "debian/postinst", "debian/postrm", "debian/prerm", "systemd/as-service")), "Tests/Reproductions/run")

# A machine that has no address beside loopback gets one for the length of a command, if the user may do that.
_OWN_NETWORK = ("unshare", "--net", "bash", "-c", ADDRESSED + '"$@"', "-")


class Build:
    """How the products are built that the tests use."""

    def __init__(self, is_debug):
        self.configuration = "debug" if is_debug else "release"
        # A build of its own: the options of another would have each of the two build everything again.
        self.folder = ".build" if is_debug else ".build/tests"
        self.options = ("--configuration", self.configuration, "--scratch-path", self.folder)
        if not is_debug:
            self.options += ("-Xswiftc", "-enable-testing")

    @property
    def products(self):
        return os.path.join(self.folder, self.configuration)

    @property
    def packages(self):
        """The command that resolves the versions that were tested."""
        return (sys.executable, "Scripts/check-versions", "--use", "--scratch-path", self.folder)

    @property
    def command(self):
        return ("swift", "build", "--build-tests", *self.options, "--explicit-target-dependency-import-check", "error")


def nothing_counted(lines, status):
    """Only a build that fails counts."""
    return counts.Count.failure(lines) if status else counts.Count()


def swift_tests(build, times, name="swift", after=("build",)):
    events = os.path.join(LOGS, f"{name}-events.jsonl")

    def count(lines, status):
        run = SwiftRun(events)
        for test, seconds in run.seconds.items():
            times.add("checks", test, seconds)
        for suite, seconds in run.suites().items():
            times.add("modules", suite, seconds)
        found = run.count()
        if status and not found.failed:
            found += counts.Count.failure(lines)
        return found

    if os.path.exists(events):
        os.remove(events)
    return Part(
        name, (*_addressed(), "swift", "test", "--skip-build", *build.options, "--event-stream-output-path", events),
        count, after=after, places=2,
        # On two cores, all at once would make each of them wait for minutes.
        environment={"SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH": "4"})


def end_to_end(binary, jobs, name, *options, **arguments):
    return Part(name, (sys.executable, "Tests/EndToEnd/run.py", "--quiet", "--jobs", str(jobs), "--binary", binary, *options),
                counts.checks, **arguments)


def by_day(build, times, jobs, is_quick, is_packaged):
    """Returns the parts of a run by day. If `is_packaged`, the end-to-end tests use the command that a package has."""
    python = sys.executable
    parts = [
        Part("build-packages", build.packages, nothing_counted),
        Part("build", build.command, nothing_counted, after=("build-packages",)),
        Part("format", ("swift", "format", "lint", "--strict", "--recursive", "--parallel", "Package.swift", "Sources",
                        "Tests"), counts.tool),
        Part("shell", ("shellcheck", "--external-sources", *SHELL_SCRIPTS), counts.tool),
        Part("runner", (python, "-m", "unittest", "discover", "-v", "-s", "Tests/Runner"), counts.unit_tests),
        Part("independent-reader", (python, "-m", "unittest", "discover", "-v", "-s", "Tests/IndependentReader"),
             counts.unit_tests),
        Part("reproductions", ("Tests/Reproductions/run",), counts.tool),
        Part("versions", (python, "Scripts/check-versions"), counts.tool, after=("build",)),
        Part("documentation", (python, "Scripts/docs", build.products), counts.tool, after=("build",)),
        Part("consumer", (python, "Tests/Consumer/check.py"), counts.tool),
        Part("snippets", (python, "Tests/Snippets/check.py", build.products), counts.tool, after=("build",)),
        swift_tests(build, times),
    ]
    needs, binary = ("build",), os.path.join(build.products, "mediavault")
    if is_packaged:
        needs, binary = ("build", "build-release"), ".build/release/mediavault"
        parts.append(Part("build-release", ("bash", "-c", ". Scripts/packages.sh && build_release"), nothing_counted,
                          after=("build-packages",)))
    if not is_quick:
        parts += [
            end_to_end(binary, jobs, "end-to-end", "--beside", after=needs, places=2),
            end_to_end(binary, 1, "end-to-end-alone", "--alone", after=needs, is_alone=True),
        ]
    return parts


def in_debug(times):
    """Returns the parts that run the Swift tests once more as `swift test` builds them, without optimization."""
    build = Build(is_debug=True)
    return [Part("build-debug", build.command, nothing_counted, after=("build-packages",)),
            swift_tests(build, times, "swift-debug", after=("build-debug",))]


def _addressed():
    """Returns the beginning of a command that runs another one on a machine with an address beside loopback."""
    shown = subprocess.run(["ip", "-4", "-oneline", "address", "show", "scope", "global"], capture_output=True, text=True,
                           check=False) if shutil.which("ip") else None
    can_add = shown is not None and not shown.stdout and not subprocess.run(
        [*_OWN_NETWORK, "true"], capture_output=True, check=False).returncode
    return _OWN_NETWORK if can_add else ()
