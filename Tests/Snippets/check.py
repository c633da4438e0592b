#!/usr/bin/env python3
"""Compiles every Swift snippet of README.md, the articles and the documentation comments, as an app would.

  Tests/Snippets/check.py            against the debug build
  Tests/Snippets/check.py PRODUCTS   against the build whose products are in that folder

The snippets of a text are the body of one function, in their order: a later one uses what an earlier one has made. A
snippet that begins with `// Package.swift` is a part of a manifest. Errors name the line of the text.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GIVEN = "Tests/Snippets/Given.swift"
TEXTS = ("README.md", "Sources/**/*.md", "Sources/**/*.swift")
MANIFEST = "// Package.swift\n"


def snippets(text):
    """Returns line number and lines of each Swift snippet, in a text or in documentation comments."""
    found, current = [], None
    for number, line in enumerate(text.splitlines(), 1):
        line = re.sub(r"^\s*/// ?", "", line)
        if current is not None and line.strip() == "```":
            found.append((current[0], "".join(current[1])))
            current = None
        elif current is not None:
            current[1].append(line + "\n")
        elif line.strip() == "```swift":
            current = (number + 1, [])
    if current is not None:
        sys.exit(f"the snippet at line {current[0]} has no end")
    return found


def program(path, parts):
    """The parts of one text as a source file: imports first, and the rest in a function."""
    imports, body = ["import MediaVault"], []
    for first, text in parts:
        lines = text.splitlines()
        imports += [line for line in lines if line.startswith("import ")]
        body.append(f'#sourceLocation(file: "{path}", line: {first})')
        body += ["" if line.startswith("import ") else line for line in lines]
    name = re.sub(r"\W", "_", path)
    return "\n".join([*imports, f"func {name}() async throws {{", *body, "#sourceLocation()", "}", ""])


def compiled(sources, products):
    """Whether the compiler accepts these files together. They are of no package, so only what is public counts."""
    checkouts = os.path.join(os.path.dirname(products.rstrip("/")), "checkouts")
    maps = glob.glob(f"{checkouts}/**/module.modulemap", recursive=True) + glob.glob("Sources/*/module.modulemap")
    folders = [option for path in maps for option in ("-I", os.path.dirname(os.path.abspath(path)))]
    with tempfile.TemporaryDirectory() as folder:
        # Warnings tell of values that a snippet shows and does not use. -c finds races, which -typecheck does not.
        return not subprocess.run(
            ["swiftc", "-c", "-parse-as-library", "-swift-version", "6", "-suppress-warnings", "-module-name", "Snippets", "-I",
             os.path.abspath(os.path.join(products, "Modules")), *folders, *map(os.path.abspath, sources)],
            cwd=folder, check=False).returncode


def is_manifest(text):
    """Whether SwiftPM reads a package that has this part of a manifest."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "Package.swift"), "w", encoding="utf-8") as file:
            file.write("// swift-tools-version: 6.2\nimport PackageDescription\n"
                       f'let package = Package(\nname: "player",\n{text})\n')
        return not subprocess.run(
            ["swift", "package", "dump-package"], cwd=folder, stdout=subprocess.DEVNULL, check=False).returncode


def main():
    os.chdir(ROOT)
    products = sys.argv[1] if sys.argv[1:] else ".build/debug"
    if not os.path.isdir(os.path.join(products, "Modules")):
        sys.exit(f"There is no build in {products} yet: run swift build first.")
    count, is_sound = 0, True
    with tempfile.TemporaryDirectory() as folder:
        sources = [GIVEN]
        for path in sorted(path for pattern in TEXTS for path in glob.glob(pattern, recursive=True)):
            with open(path, encoding="utf-8") as file:
                parts = snippets(file.read())
            count += len(parts)
            for line, text in parts:
                if text.startswith(MANIFEST) and not is_manifest(text):
                    print(f"{path}:{line}: the manifest is not one", file=sys.stderr)
                    is_sound = False
            parts = [part for part in parts if not part[1].startswith(MANIFEST)]
            if parts:
                sources.append(os.path.join(folder, f"{len(sources)}.swift"))
                with open(sources[-1], "w", encoding="utf-8") as file:
                    file.write(program(path, parts))
        is_sound = compiled(sources, products) and is_sound
    if not count:
        sys.exit("No snippets were found, which proves nothing.")
    print(f"{count} snippets: {'all compile' if is_sound else 'some do not compile'}")
    sys.exit(0 if is_sound else 1)


main()
