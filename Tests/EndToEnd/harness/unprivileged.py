"""The command run by an ordinary user with a limit on locked memory. Requires root, which becomes that user."""

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
    """Copies the command to a folder where every user can run it; returns the path."""
    os.chmod(folder, 0o755)
    return shutil.copy(binary, os.path.join(folder, "mediavault"))


def vault(binary, folder, lock_limit):
    """Returns a vault of that user, whose processes may lock `lock_limit` bytes."""
    account = pwd.getpwnam(USER)
    made = Vault(binary, folder)
    os.chown(folder, account.pw_uid, account.pw_gid)
    made.binary = os.path.join(folder, "run")
    with open(made.binary, "w", encoding="ascii") as file:
        file.write(_LAUNCHER.format(limit=lock_limit, user=account.pw_uid, group=account.pw_gid, binary=binary))
    os.chmod(made.binary, 0o755)
    return made.init()
