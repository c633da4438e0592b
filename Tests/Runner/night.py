"""Which tests a run does beyond those by day, as night.txt says."""

import dataclasses
import fnmatch
import os
import re
import subprocess

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "night.txt")
VARIABLE = "MEDIAVAULT_NIGHT"  # has the names of the rows that a run does


@dataclasses.dataclass(frozen=True)
class Row:
    """A path is a file, a folder if it ends with a slash, or a pattern with `*`."""

    name: str
    by_night: dict
    if_changed: dict
    paths: tuple

    def covers(self, path):
        return any(path.startswith(known) if known.endswith("/") else fnmatch.fnmatchcase(path, known)
                   for known in self.paths)


class UnknownRevision(Exception):
    """There is nothing to compare with."""


def rows(text=None):
    """Returns the rows of the table; the last is `day`, which makes no test do more."""
    if text is None:
        with open(PATH, encoding="utf-8") as file:
            text = file.read()
    text = re.sub(r"#.*", "", text)
    found = []
    for entry in re.split(r"^row\s+", text, flags=re.MULTILINE)[1:]:
        head, _, paths = entry.partition("\n")
        name, _, variables = head.partition(" ")
        by_night, _, if_changed = variables.partition("(")
        found.append(Row(name.strip(), _variables(by_night), _variables(if_changed.rstrip(") ")), tuple(paths.split())))
    return found


def _variables(text):
    return dict(word.split("=", 1) for word in text.split())


def touched(table, paths):
    """Returns the rows that changes of these paths call for; all of them, if the table does not know one of the paths."""
    if any(not any(row.covers(path) for row in table) for path in paths):
        return [row for row in table if row.name != "day"]
    return [row for row in table if row.name != "day" and any(row.covers(path) for path in paths)]


def changed_paths(revision):
    """Returns the paths that differ from a revision, in commits, in the work tree, or because git does not know them."""
    differing = _git("diff", "--name-only", "--no-renames", "-z", f"{_git('merge-base', revision, 'HEAD')[0].strip()}")
    return [path for path in differing + _git("ls-files", "--others", "--exclude-standard", "-z") if path]


def _git(*arguments):
    done = subprocess.run(["git", *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        raise UnknownRevision(f"What has changed is not known: {done.stderr.strip()}")
    return done.stdout.split("\0")


def environment(chosen, by_night):
    """Returns the variables that make the tests of these rows do more."""
    variables = {VARIABLE: " ".join(row.name for row in chosen)}
    for row in chosen:
        variables |= row.by_night if by_night else row.if_changed
    return variables
