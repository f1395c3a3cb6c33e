"""Time limits for servers: a minimum rate, and a limit on a whole request.

The timeouts of `requests` apply to single reads from a socket, and one byte per second never reaches them. Therefore
every read of a response, including its headers, is metered.
"""

from __future__ import annotations

import http.client
import io
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from abiscan.model.limits import MAX_REQUEST_SECONDS, MIN_RATE, MIN_RATE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Buffer  # type: ignore[attr-defined]

Value = TypeVar("Value")


class TooSlow(Exception):  # noqa: N818 - caught where the file is known; not an OSError, which urllib3 handles itself
    """A server exceeds a time limit. `str` is a clause for the user."""


class RateLimits:
    """Time limits for servers in one process.

    Attributes:
        rate: minimum bytes per second in each period of `window` seconds.
        whole: maximum seconds of one request, including redirects and retries.
    """

    def __init__(self, rate: float, window: float, whole: float) -> None:
        self.rate, self.window, self.whole = rate, window, whole

    def seconds_for(self, size: int) -> float:
        """The maximum time for this many bytes, in seconds."""
        return min(self.window + size / self.rate, self.whole)


LIMITS: Final = RateLimits(MIN_RATE, MIN_RATE_SECONDS, MAX_REQUEST_SECONDS)
_request = threading.local()


def begin_request() -> None:
    """Start the time of a request in this thread."""
    _request.begun = time.monotonic()


class _Meter:
    def __init__(self) -> None:
        self._begun = getattr(_request, "begun", time.monotonic())
        self._window = time.monotonic()
        self._bytes = 0

    def add(self, size: int) -> None:
        """Count received bytes.

        Raises:
            TooSlow: the rate is too low, or the time is exceeded.
        """
        now = time.monotonic()
        self._bytes += size
        if now - self._begun > LIMITS.whole:
            raise TooSlow(f"the request took more than {LIMITS.whole:g} s")
        if now - self._window > LIMITS.window:
            if self._bytes < LIMITS.rate * (now - self._window):
                raise TooSlow(f"the server sent {self._bytes} bytes in {now - self._window:.0f} s: too slow to be read")
            self._window, self._bytes = now, 0


class _Metered(io.RawIOBase):
    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw
        self._meter = _Meter()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int | None:
        size = self._raw.readinto(buffer)
        self._meter.add(size or 0)
        return size

    def fileno(self) -> int:
        return self._raw.fileno()

    def close(self) -> None:
        self._raw.close()
        super().close()


class _MeteredResponse(http.client.HTTPResponse):
    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.fp = io.BufferedReader(_Metered(self.fp.detach()))


def metered_adapter() -> Any:
    """A transport adapter with metered reads, for `Session.mount`."""
    from requests.adapters import HTTPAdapter
    from urllib3.connection import HTTPConnection, HTTPSConnection
    from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

    class Connection(HTTPConnection):
        response_class = _MeteredResponse

    class SecureConnection(HTTPSConnection):
        response_class = _MeteredResponse

    class Pool(HTTPConnectionPool):
        ConnectionCls = Connection

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = SecureConnection

    pools = {"http": Pool, "https": SecurePool}

    class Adapter(HTTPAdapter):
        def init_poolmanager(self, *given: Any, **named: Any) -> None:
            super().init_poolmanager(*given, **named)
            self.poolmanager.pool_classes_by_scheme = pools

        def proxy_manager_for(self, *given: Any, **named: Any) -> Any:
            manager = super().proxy_manager_for(*given, **named)
            manager.pool_classes_by_scheme = pools
            return manager

    return Adapter()


def within(seconds: float, call: Callable[[], Value]) -> Value:
    """Call a function that has no time limit, and return its result or raise its exception.

    Raises:
        TooSlow: it takes longer; it continues in a daemon thread.
    """
    outcome: list[Value] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(call())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failure:
        raise failure[0]
    if not outcome:
        raise TooSlow(f"the store did not answer within {seconds:.0f} s")
    return outcome[0]
