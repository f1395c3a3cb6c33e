"""Bytes of a remote file: by ranges, or all of them in a temporary file."""

from __future__ import annotations

import contextlib
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING

from abiscan.errors import TransientFailure, UnreadableFile, os_error_words
from abiscan.filesystem import read_at
from abiscan.model.limits import MAX_WHOLE_REMOTE
from abiscan.model.words import size_words

if TYPE_CHECKING:
    from abiscan.inputs.remote_file import RemoteFile

# Smaller wheels are read at once: two requests take longer.
SMALL = 1 << 20
# Size of a request without and with an announced sequential read.
_BLOCK, _AHEAD = 1 << 15, 8 << 20
# Number of recently read bytes that are cached for each file.
_KEPT = 24 << 20


class RangedBytes:
    """Random access through a function that fetches a range; only requested ranges are read.

    Attributes:
        taken: number of bytes received from the server.
        checked: whether its contents were checked against the hash of the index.
    """

    def __init__(self, fetch: Callable[[int, int], bytes], size: int, display: str) -> None:
        self.size, self.display = size, display
        self.taken = 0
        self.checked = False
        self._fetch = fetch
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._kept = 0
        self._until = 0

    def put(self, start: int, data: bytes) -> None:
        """Add bytes that were received without a request."""
        self.taken += len(data)
        self._keep(start, data)

    def will_read(self, offset: int, size: int) -> None:
        """Announce a sequential read of this range."""
        self._until = offset + size

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes; fewer at the end.

        Raises:
            UnreadableFile: the server fails.
        """
        end = min(offset + size, self.size)
        parts = []
        while 0 <= offset < end:
            start, block = self._at(offset, end)
            part = block[offset - start : end - start]
            parts.append(part)
            offset += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _at(self, offset: int, end: int) -> tuple[int, bytes]:
        for start, block in reversed(self._blocks.items()):
            if start <= offset < start + len(block):
                self._blocks.move_to_end(start)
                return start, block
        upto = max(end, min(self._until, offset + _AHEAD), min(offset + _BLOCK, self.size))
        # Known bytes are not requested again.
        upto = min([upto, *(start for start in self._blocks if start > offset)])
        data = self._fetch(offset, upto)
        if len(data) != upto - offset:
            raise TransientFailure(self.display, "the server sent another range than the requested one")
        self.taken += len(data)
        self._keep(offset, data)
        return offset, data

    def _keep(self, start: int, data: bytes) -> None:
        self._blocks[start] = data
        self._kept += len(data)
        while self._kept > _KEPT and len(self._blocks) > 1:
            _start, gone = self._blocks.popitem(last=False)
            self._kept -= len(gone)

    def close(self) -> None:
        """Discard the cached bytes."""
        self._blocks.clear()


class WholeFile:
    """An unnamed temporary file with the whole content.

    Attributes:
        taken: number of bytes received from the server.
        checked: whether they were checked against the hash of the index.
    """

    def __init__(self, display: str) -> None:
        self.display = display
        self.size = self.taken = 0
        self.checked = False
        self._file = tempfile.TemporaryFile(prefix="abiscan-")  # noqa: SIM115 - closed by `close`

    @contextlib.contextmanager
    def or_closed(self) -> Iterator[None]:
        """Free the space if filling fails."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def fill(self, pieces: Iterable[bytes]) -> None:
        """Write the contents, from the start.

        Raises:
            UnreadableFile: there is no space, or it is too large.
        """
        self._file.seek(0)
        self._file.truncate()
        self.size = 0
        self._hash = sha256()
        for piece in pieces:
            self.taken += len(piece)
            self.size += len(piece)
            if self.size > MAX_WHOLE_REMOTE:
                limit = size_words(MAX_WHOLE_REMOTE)
                raise UnreadableFile(self.display, f"larger than {limit}, the maximum for files that are read whole")
            self._hash.update(piece)
            self._write(self._file.write, piece)
        self._write(self._file.flush)

    def _write(self, write: Callable[..., object], *data: bytes) -> None:
        try:
            write(*data)
        except OSError as error:
            why = os_error_words(error)
            raise TransientFailure(
                self.display, f"no space for it in a temporary file: {why} (TMPDIR sets the directory)"
            ) from error

    def check(self, digest: str | None) -> None:
        """Check its contents against the hash of the index.

        Raises:
            UnreadableFile: they differ.
        """
        check(self._hash.hexdigest(), digest, self.display, self.taken)
        self.checked = digest is not None

    def will_read(self, offset: int, size: int) -> None:
        """Does nothing: the bytes are here."""

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes; fewer at the end."""
        return read_at(self._file.fileno(), size, offset)

    def close(self) -> None:
        """Free the space."""
        with contextlib.suppress(OSError):  # unwritten data may not fit either
            self._file.close()


class OtherContents(UnreadableFile):
    """The contents of a file differ from the hash of the index.

    Attributes:
        taken: number of bytes received from the server.
    """

    def __init__(self, path: str, reason: str, taken: int = 0) -> None:  # `__reduce__` passes no number
        super().__init__(path, reason)
        self.taken = taken


def check(found: str, digest: str | None, display: str, taken: int) -> None:
    """Check the hash of the contents against that of the index.

    Raises:
        OtherContents: they differ.
    """
    if digest is not None and found != digest.lower():
        why = f"its sha256 is {found}, but the index has {digest}: the file or the index was changed"
        raise OtherContents(display, why, taken)


def open_stored(file: RemoteFile, *, whole: bool) -> RangedBytes | WholeFile:
    """Open a file of an object store, with fsspec.

    Raises:
        UnreadableFile: it does not exist, or the store fails.
    """
    import fsspec

    from abiscan.inputs.read_rate import LIMITS, within
    from abiscan.inputs.remote_file import words

    try:
        store, path = fsspec.core.url_to_fs(file.url)
        size = int(within(LIMITS.seconds_for(0), lambda: store.info(path))["size"])
    except FileNotFoundError as error:
        raise UnreadableFile(file.display, "no such object") from error
    except Exception as error:  # stores raise various types
        raise TransientFailure(file.display, f"cannot be read: {words(error)}") from error

    def fetch(start: int, end: int) -> bytes:
        try:
            wait = LIMITS.seconds_for(end - start)
            data: bytes = within(wait, lambda: store.cat_file(path, start=start, end=end))
        except Exception as error:
            raise TransientFailure(file.display, f"cannot be read: {words(error)}") from error
        return data

    if whole and size > SMALL:
        kept = WholeFile(file.display)
        with kept.or_closed():
            kept.fill(fetch(at, min(at + _AHEAD, size)) for at in range(0, size, _AHEAD))
            kept.check(file.sha256)
        return kept
    ranged = RangedBytes(fetch, size, file.display)
    if size <= SMALL:
        small = fetch(0, size)
        check(sha256(small).hexdigest(), file.sha256, file.display, size)
        ranged.checked = file.sha256 is not None
        ranged.put(0, small)
    return ranged
