"""The command as an ordinary user runs it, with a limit on the memory that it may lock. Needs root to become that user."""

import os
import pwd
import shutil

from .vault import Vault

USER = "nobody"
_LAUNCHER = """#!/bin/sh
exec prlimit --memlock={limit}:{limit} setpriv --reuid={user} --regid={group} --clear-groups --inh-caps=-all \\
    --bounding-set=-all --no-new-privs {binary} "$@"
"""


def install(binary, folder):
    """A copy of the command where every user can run it; its path."""
    os.chmod(folder, 0o755)
    return shutil.copy(binary, os.path.join(folder, "mediavault"))


def vault(binary, folder, lock_limit):
    """A vault of that user's, whose processes may lock so many bytes."""
    account = pwd.getpwnam(USER)
    made = Vault(binary, folder)
    os.chown(folder, account.pw_uid, account.pw_gid)
    made.binary = os.path.join(folder, "run")
    with open(made.binary, "w", encoding="ascii") as file:
        file.write(_LAUNCHER.format(limit=lock_limit, user=account.pw_uid, group=account.pw_gid, binary=binary))
    os.chmod(made.binary, 0o755)
    return made.init()
