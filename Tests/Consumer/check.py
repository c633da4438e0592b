#!/usr/bin/env python3
"""Takes the library as others get it: by URL and version, into an app that has versions of its own.

  Tests/Consumer/check.py           resolves the app's packages, and looks at how many there are
  Tests/Consumer/check.py --build   builds, runs and tests the app, too; by night, or if MEDIAVAULT_CONSUMER is "build"
  Tests/Consumer/check.py --keep    leaves .build/consumer there

The library is a repository of the files in this checkout, with a tag. The other versions of GRDB and NIO are copies of
the tested ones with another tag: it is the library that must allow them, whatever they change.
"""

import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, "Tests", "Consumer")
WORK = os.path.join(ROOT, ".build", "consumer")
APP = os.path.join(WORK, "player")
LIBRARY = "https://mediavault.invalid/MediaVault"
# The stand-ins: the version that the app wants, and the one that is tagged so.
OTHERS = {"https://github.com/groue/GRDB.swift": ("7.999.0", "grdb.swift"),
          "https://github.com/apple/swift-nio": ("2.999.0", "swift-nio")}
PACKAGES = {"grdb.swift", "mediavault", "swift-collections"}  # that an app resolves, with the library itself
CACHES = ("--cache-path", os.path.join(WORK, "cache"), "--security-path", os.path.join(WORK, "security"))


def run(*command, folder=ROOT, variables=None):
    done = subprocess.run(command, cwd=folder, env={**os.environ, **(variables or {})}, check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}")
    return done.stdout


def make_library():
    """Makes a repository of this checkout's files, with a version."""
    place = os.path.join(WORK, "MediaVault")
    listed = run(
        "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "Package.swift", "Sources", "Tests")
    for path in filter(None, listed.split("\0")):
        if os.path.isfile(os.path.join(ROOT, path)):  # a file that was removed and not yet committed is none
            os.makedirs(os.path.dirname(os.path.join(place, path)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, path), os.path.join(place, path))
    run("git", "init", "--quiet", folder=place)
    run("git", "add", "--all", "--force", folder=place)
    run("git", "-c", "user.name=Consumer", "-c", "user.email=consumer@mediavault.invalid", "commit", "--quiet",
        "--message", "library: as it is", folder=place)
    run("git", "tag", "0.1.0", folder=place)
    return place


def make_other(url, version, tested):
    """Makes a copy of a package's tested version under another version."""
    place = os.path.join(WORK, "others", os.path.basename(url))
    tag = tested if f"refs/tags/{tested}\n" in run("git", "ls-remote", "--tags", url) else f"v{tested}"
    run("git", "-c", "advice.detachedHead=false", "clone", "--quiet", "--depth", "1", "--branch", tag, url, place)
    run("git", "tag", version, folder=place)
    run("git", "tag", "--delete", tag, folder=place)
    return place


def swift(tool, *arguments, **options):
    return run("swift", tool, *CACHES, *arguments, folder=APP, **options)


def resolved(variables=None):
    """Returns the versions of the packages that the app resolves, by identity."""
    path = os.path.join(APP, "Package.resolved")
    if os.path.exists(path):
        os.remove(path)
    swift("package", "resolve", variables=variables)
    with open(path, encoding="utf-8") as file:
        return {pin["identity"]: pin["state"]["version"] for pin in json.load(file)["pins"]}


def main():
    options = set(sys.argv[1:])
    if options - {"--build", "--keep"}:
        sys.exit(__doc__)
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    shutil.copytree(HERE, APP, ignore=shutil.ignore_patterns(".build", ".swiftpm", "Package.resolved", "*.py"))
    with open(os.path.join(ROOT, "Scripts", "requirements", "swift.txt"), encoding="utf-8") as file:
        tested = dict(line.split() for line in file)
    places = {LIBRARY: make_library()}
    for url, (version, identity) in OTHERS.items():
        places[url] = make_other(url, version, tested[identity])
    for url, place in places.items():
        swift("package", "config", "set-mirror", "--original", url, "--mirror", f"file://{place}")

    packages = resolved()
    print(f"An app that takes the library resolves {len(packages)} packages: {', '.join(packages)}")
    if packages.keys() != PACKAGES or packages["grdb.swift"] != "7.999.0":
        sys.exit(f"It should resolve {', '.join(sorted(PACKAGES))} alone, and GRDB 7.999.0: {packages}")
    if "--build" in options or os.environ.get("MEDIAVAULT_CONSUMER") == "build":
        said = swift("run").splitlines()
        if said[-1] != "played":
            sys.exit("\n".join(said))
        swift("test")
        print("It builds, plays, and passes its tests.")
        packages = resolved({"PLAYER_TAKES_SERVICE": "1"})
        print(f"One that takes the service, too, resolves {len(packages)}")
        if packages["swift-nio"] != "2.999.0" or "hummingbird" not in packages:
            sys.exit(f"It should resolve the service's packages beside NIO 2.999.0: {packages}")
    if "--keep" not in options:
        shutil.rmtree(WORK)


main()
