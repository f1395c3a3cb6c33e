"""Commands of a fix as both shells of Windows, cmd.exe and PowerShell, read them."""

from __future__ import annotations

import re
from typing import Final

# cmd.exe has no single quotes and no `#` comments.
_CODE: Final = r"python -c '([^'\"\n$]{1,400})'"
_COMMAND: Final = r"(?:or: |Otherwise: )?(?:pip|python|conda|set|abiscan)\b"


def for_windows(fix: str) -> str:
    """A fix with code in double quotes, and comments on lines of their own."""
    return "\n".join(_for_cmd(line) for line in fix.splitlines())


def _for_cmd(line: str) -> str:
    command, _, comment = line.partition("  # ")
    if comment and not comment.endswith(":") and re.match(_COMMAND, command):
        line = f"{command}\n({comment})"
    return re.sub(_CODE, r'python -c "\1"', line)
