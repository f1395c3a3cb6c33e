"""Whether a file can be brought back after it was changed: git is asked, and runs nothing that a repository names.

`git status` runs filters and monitors of the repository's own configuration; the blob that HEAD has is compared
instead.
"""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

# Seconds.
_TIMEOUT = 20


def why_not_safe(path: Path, data: bytes) -> str | None:
    """Why changing a file would lose something, as the end of a sentence; None where HEAD has it as it is.

    Args:
        data: what the file holds.
    """
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(path.parent), "ls-tree", "HEAD", "--", path.name]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=False)
    except FileNotFoundError:
        return "there is no git here to tell whether it is committed"
    except (OSError, subprocess.TimeoutExpired):
        return "git did not answer whether it is committed"
    if done.returncode != 0:
        return "it is in no git repository with a commit"
    fields = done.stdout.split()
    if len(fields) < 3:
        return "git does not have it"
    blob = fields[2].decode("ascii", "replace")
    # gitrepository-layout: a blob is hashed behind its type and length, by SHA-1 or SHA-256 as the repository does.
    digest = hashlib.sha256() if len(blob) == 64 else hashlib.sha1(usedforsecurity=False)
    digest.update(b"blob %d\0" % len(data) + data)
    return None if digest.hexdigest() == blob else "it has changes that are not committed"
