"""A wheel or archive on a server, as a value: its URL, its display name, its identity."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit, urlunsplit

from msgspec import Struct

# File names of wheels for systems whose files are not read (PyPA, "Platform compatibility tags").
_OTHER_SYSTEMS = re.compile(r"-(?:ios_\w+|android_\w+)\.whl$")


class RemoteFile(Struct, frozen=True):
    """A wheel or archive on a server.

    Attributes:
        url: with credentials; never shown.
        display: the URL for messages, without credentials, query and fragment.
        sha256: from the index that listed it; None if it has none.
        size: in bytes; None if unknown.
        etag: from the store that listed it, or from its server.
        modified: the server's Last-Modified, if it sends no ETag.
    """

    url: str
    display: str
    sha256: str | None = None
    size: int | None = None
    etag: str | None = None
    modified: str | None = None

    @property
    def identity(self) -> str | None:
        """An identifier of its contents, found without reading them: the index's hash, or ETag or time with the
        size."""
        if self.sha256 is not None:
            return f"sha256:{self.sha256}"
        if self.etag is not None:
            return f"etag:{self.etag}:{self.size}"
        return None if self.modified is None or self.size is None else f"modified:{self.modified}:{self.size}"


def named(url: str) -> RemoteFile:
    """Make a file from its URL; a fragment `#sha256=...` is the hash of its contents (PEP 503)."""
    fragment = urlsplit(url).fragment
    digest = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else None
    return RemoteFile(url.partition("#")[0], shown(url), sha256=digest)


def shown(url: str) -> str:
    """Return a URL without credentials, query and fragment, for messages."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return unquote(urlunsplit((parts.scheme, host, parts.path, "", "")))


def is_checked_wheel(file_name: str) -> bool:
    """Whether a file is a wheel whose platform tag is not for a system whose files are not read."""
    return file_name.endswith(".whl") and _OTHER_SYSTEMS.search(file_name) is None


def words(error: BaseException) -> str:
    """Return the text of a third-party library's error in one line, without secrets of the URL."""
    text = " ".join(str(error).split()) or type(error).__name__
    return re.sub(r"://[^/\s@]*@", "://", re.sub(r"\?[^\s)'\"]*", "", text))[:300]
