#!/usr/bin/env python3
"""Verifies the audit log of a vault from the format document alone, without any key.

    read_audit.py VAULT [--keyring FILE]

Prints one JSON object: `receipts` and `faults`. With --keyring, which is not unlocked, the log must be as long as the
keyring states. Exit codes: 0 sound, 1 cannot be read, 2 usage, 4 the log has a fault.
"""

import argparse
import json
import os
import sys

from vaultformat import audit, keyring
from vaultformat.errors import FormatError


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Checks the audit log of a vault.")
    parser.add_argument("vault")
    parser.add_argument("--keyring")
    options = parser.parse_args(arguments)
    try:
        with open(os.path.join(options.vault, "audit.log"), "rb") as file:
            log = file.read()
        last = None
        if options.keyring:
            with open(options.keyring, "rb") as file:
                last = keyring.read(file.read())["receiptSequence"]
    except (OSError, FormatError) as error:
        print(error, file=sys.stderr)
        return 1
    receipts, faults = audit.check(log, last)
    print(json.dumps({"receipts": receipts, "faults": faults}, indent=1))
    return 4 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
