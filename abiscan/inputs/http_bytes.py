"""Files on HTTP servers, read by ranges (RFC 9110, section 14), or whole if a server does not support ranges.

A time limit ends a stall, and also a server that occasionally sends a little (`read_rate`). A failure of the server
(5xx) or of the connection is retried a few times with growing pauses; if it remains, it is an error of that file only.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

import requests
from msgspec.structs import replace

from abiscan import __version__
from abiscan.errors import TransientFailure, UnreadableFile
from abiscan.inputs.ranged_bytes import SMALL, RangedBytes, WholeFile, check
from abiscan.inputs.read_rate import TooSlow, begin_request, metered_adapter
from abiscan.inputs.remote_file import words
from abiscan.model.limits import MAX_INDEX_PAGE

if TYPE_CHECKING:
    from abiscan.inputs.remote_file import RemoteFile

# Timeouts in seconds: to connect, and between two pieces of a response.
CONNECT, STALL = 10.0, 30.0
# Seconds before each further attempt.
PAUSES = (0.5, 2.0, 6.0)
# Enough for the directory of most wheels: a name of 60 bytes and 46 more for each of a thousand members.
_TAIL = 1 << 17
_PIECE = 1 << 18
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_AGAIN = frozenset((408, 425, 429, 500, 502, 503, 504))

Answer = TypeVar("Answer")


class _TryAgain(Exception):  # noqa: N818 - always caught below
    """A temporary failure of the server."""


class RefusedRange(Exception):  # noqa: N818 - likewise
    """The server does not support ranges for this file."""


@cache
def session() -> requests.Session:
    """The session of the process, which keeps connections open."""
    made = requests.Session()
    made.headers["User-Agent"] = f"abiscan/{__version__}"
    # The bytes of the file itself: ranges of a compressed response would be different.
    made.headers["Accept-Encoding"] = "identity"
    for scheme in ("http://", "https://"):
        made.mount(scheme, metered_adapter())
    return made


def attempts(request: Callable[[], Answer], display: str) -> Answer:
    """Repeat a request until it succeeds.

    Raises:
        TransientFailure: none does.
    """
    reason = ""
    begin_request()
    for pause in (*PAUSES, None):
        try:
            return request()
        except (requests.Timeout, TimeoutError):
            reason = f"the server sent nothing for {STALL:g} s"
        except TooSlow as error:
            raise TransientFailure(display, str(error)) from error
        except requests.TooManyRedirects as error:
            raise UnreadableFile(display, "too many redirects") from error
        except (_TryAgain, requests.RequestException, OSError) as error:
            reason = _shorten(words(error))
        if pause is not None:
            time.sleep(pause)
    raise TransientFailure(display, f"cannot be read after {len(PAUSES) + 1} attempts: {reason}")


def _shorten(text: str) -> str:
    """An error of urllib3 in fewer words."""
    if "Read timed out" in text:
        return f"the server sent nothing for {STALL:g} s"
    for its, plain in (
        ("IncompleteRead", "the connection was cut off"),
        ("Connection refused", "the connection was refused: no server listens there"),
        ("NameResolutionError", "unknown host"),
    ):
        if its in text:
            return plain
    return text


def _get(url: str, display: str, headers: Mapping[str, str]) -> requests.Response:
    answer = session().get(url, headers=headers, timeout=(CONNECT, STALL), stream=True)
    if answer.status_code in _AGAIN:
        answer.close()
        raise _TryAgain(f"the server answered {answer.status_code} {answer.reason or ''}".strip())
    if answer.status_code >= 400 and answer.status_code != 416:
        answer.close()
        raise UnreadableFile(display, f"the server answered {answer.status_code} {answer.reason or ''}".strip())
    return answer


def _span(url: str, span: str, display: str) -> tuple[int, int, bytes]:
    """(start, size of the whole, bytes) of a range.

    Raises:
        RefusedRange: the server does not support it.
    """

    def request() -> tuple[int, int, bytes]:
        with _get(url, display, {"Range": f"bytes={span}"}) as answer:
            place = _CONTENT_RANGE.match(answer.headers.get("Content-Range", ""))
            if answer.status_code != 206 or place is None:
                raise RefusedRange
            start, last, total = map(int, place.groups())
            data = b"".join(_bounded(answer, last - start + 1))
            if len(data) != last - start + 1:
                raise _TryAgain("the connection was cut off")
            return start, total, data

    return attempts(request, display)


def _bounded(answer: requests.Response, limit: int) -> Iterator[bytes]:
    left = limit
    for piece in answer.iter_content(_PIECE):
        left -= len(piece)
        if left < 0:
            raise _TryAgain("the server sent more than it announced")
        yield piece


def open_http(file: RemoteFile, *, whole: bool) -> RangedBytes | WholeFile:
    """Open a file; see `remote.open_remote`."""
    if whole:
        return _read_all(file)
    try:
        start, size, tail = _span(file.url, f"-{_TAIL}", file.display)
        # A server may end a range early (RFC 9110, 14.2), but must send the range that it announces.
        if start + len(tail) != size or size == 0:
            return _read_all(file)
        if start and size <= SMALL:
            head = _span(file.url, f"0-{start - 1}", file.display)[2]
            start, tail = 0, head + tail
    except RefusedRange:
        return _read_all(file)

    def fetch(at: int, end: int) -> bytes:
        try:
            begun, total, data = _span(file.url, f"{at}-{end - 1}", file.display)
        except RefusedRange:
            raise TransientFailure(
                file.display, "the server stopped supporting ranges while the file was read"
            ) from None
        if begun != at or total != size:
            raise TransientFailure(file.display, "the file changed on the server while it was read")
        return data

    found = RangedBytes(fetch, size, file.display)
    if start == 0:
        check(sha256(tail).hexdigest(), file.sha256, file.display, len(tail))
        found.checked = file.sha256 is not None
    found.put(start, tail)
    return found


def _read_all(file: RemoteFile) -> WholeFile:
    kept = WholeFile(file.display)

    def request() -> WholeFile:
        with _get(file.url, file.display, {}) as answer:
            announced = answer.headers.get("Content-Length", "")
            kept.fill(answer.iter_content(_PIECE))
            if announced.isdigit() and kept.size != int(announced):
                raise _TryAgain("the connection was cut off")
        return kept

    with kept.or_closed():
        attempts(request, file.display)
        kept.check(file.sha256)
    return kept


def with_validators(file: RemoteFile) -> RemoteFile:
    """Return a file with the ETag, Last-Modified and size that its server sends (RFC 9110, section 8.8); unchanged if
    it sends none."""
    try:
        answer = session().head(file.url, timeout=(CONNECT, STALL), allow_redirects=True)
    except (requests.RequestException, OSError):
        return file  # reported when it is read
    length = answer.headers.get("Content-Length", "")
    if not answer.ok or not length.isdigit():
        return file
    return replace(
        file, etag=answer.headers.get("ETag"), modified=answer.headers.get("Last-Modified"), size=int(length)
    )


def page(url: str, accept: str, display: str) -> requests.Response:
    """Fetch a page of an index, with its body read up to MAX_INDEX_PAGE.

    Raises:
        UnreadableFile: the server fails, or the page is larger.
    """

    def request() -> requests.Response:
        with _get(url, display, {"Accept": accept}) as answer:
            body = bytearray()
            for piece in answer.iter_content(_PIECE):
                body += piece
                if len(body) > MAX_INDEX_PAGE:
                    raise UnreadableFile(display, f"an index page of more than {MAX_INDEX_PAGE} bytes: not read")
            # Attributes in which `requests` itself stores a body.
            answer._content = bytes(body)
            answer._content_consumed = True
        return answer

    return attempts(request, display)
