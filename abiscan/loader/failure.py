"""How a load ends that does not succeed."""

from __future__ import annotations

import os


class LoadFailure(Exception):  # noqa: N818 - an outcome of the modelled loader, not an error of this program
    """The loader refuses. `text` is what `dlerror` says.

    glibc composes it as `object: message`, and adds `: ` and strerror where the failure has an errno
    (dlfcn/dlerror.c in its sources).
    """

    def __init__(self, name: str, message: str, errno: int = 0) -> None:
        text = f"{name}: {message}" if name else message
        self.text = f"{text}: {os.strerror(errno)}" if errno else text
        super().__init__(self.text)


class Undecidable(Exception):  # noqa: N818 - see LoadFailure
    """What the loader does depends on something that files do not tell. `str()` is the reason, a sentence."""
