"""Inputs on a server: which inputs are remote, the wheels that they list, and their bytes.

http and https are read by ranges with `requests`, which shows whether a server returned the requested range; object
stores (`s3://`, `gs://`, ...) with fsspec. Neither is imported before it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from abiscan.errors import UnreadableFile, UsageError, require_modules
from abiscan.inputs import file_kind
from abiscan.inputs.remote_file import RemoteFile, is_checked_wheel, named, shown, words
from abiscan.model.report import InputError

if TYPE_CHECKING:
    from abiscan.inputs.ranged_bytes import RangedBytes, WholeFile

# A scheme of RFC 3986, 3.1.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_MISSING = "reading from a server needs packages that are not installed: pip install 'abiscan[registry]'"


def is_remote(target: str) -> bool:
    """Whether an input is on a server rather than a local file."""
    return _SCHEME.match(target) is not None and not target.startswith("file://")


def readable(target: str) -> bool:
    """Whether an input is the URL of a wheel or archive that can be read remotely, with the required package
    installed."""
    import importlib.util

    if not is_remote(target) or not file_kind.named_like_archive(shown(target)):
        return False
    wanted = "requests" if urlsplit(target).scheme in ("http", "https") else "fsspec"
    return importlib.util.find_spec(wanted) is not None


def remote_files(target: str, latest: int | None = None) -> Iterator[RemoteFile | InputError]:
    """The wheels that an input lists: those on the page of a project or of all projects of a package index (PEP 503,
    PEP 691), those below a folder of an object store, or the wheel itself.

    Args:
        latest: of a package index, releases of each project that are listed, the newest; None for all.

    Raises:
        UsageError: the package that reads such URLs is not installed, or the input is neither a wheel nor a page.
        UnreadableFile: the server does not list it.
    """
    scheme = urlsplit(target).scheme
    if scheme in ("http", "https"):
        if not target.endswith("/"):
            if not file_kind.named_like_archive(shown(target)):
                url = shown(target)
                raise UsageError(f"{url}: not the name of a wheel; a page of an index ends with a slash: {url}/")
            yield named(target)
            return
        from abiscan.inputs.package_index import listed

        require_modules(_MISSING, "requests", "pypi_simple")
        yield from listed(target, latest)
    else:
        yield from _in_store(target)


def _in_store(target: str) -> Iterator[RemoteFile]:
    require_modules(_MISSING, "fsspec")
    import fsspec

    from abiscan.inputs.read_rate import LIMITS, within

    try:
        store, path = fsspec.core.url_to_fs(target)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{shown(target)}: {error}") from error
    try:
        found = within(LIMITS.whole, lambda: store.find(path, detail=True))
    except Exception as error:  # stores raise various types
        raise UnreadableFile(shown(target), f"cannot be listed: {words(error)}") from error
    if not found:
        raise UnreadableFile(shown(target), "it is empty or does not exist")
    for name in sorted(found):
        about = found[name]
        if about.get("type") != "file" or not (name == path or is_checked_wheel(name) or name.endswith(".conda")):
            continue
        url = store.unstrip_protocol(name)
        etag = about.get("ETag") or about.get("etag")
        yield RemoteFile(url, shown(url), size=about.get("size"), etag=None if etag is None else str(etag).strip('"'))


def open_remote(file: RemoteFile, *, whole: bool = False) -> RangedBytes | WholeFile:
    """Open a file on a server.

    Args:
        whole: whether to read all of it and check it against the hash of the index.

    Raises:
        UsageError: the package that reads such URLs is not installed.
        UnreadableFile: it does not exist, the server fails, or its hash differs from that of the index.
    """
    if urlsplit(file.url).scheme in ("http", "https"):
        require_modules(_MISSING, "requests")
        from abiscan.inputs.http_bytes import open_http

        return open_http(file, whole=whole)
    require_modules(_MISSING, "fsspec")
    from abiscan.inputs.ranged_bytes import open_stored

    return open_stored(file, whole=whole)
