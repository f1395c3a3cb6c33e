"""A child process whose output passes through unchanged while its end is kept."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType

from abiscan.child_processes import Child, start_command

# How much of the output is kept, in bytes.
KEPT = 1 << 20
# How long, in seconds, a command that has ended is waited for while a process that it left behind holds its output.
_PATIENCE = 0.2
# What a shell or a CI runner sends to the process that it started.
_PASSED_ON = ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCONT")


class Tail:
    """The last `KEPT` bytes of what is added, in at most twice that memory."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def add(self, data: bytes) -> None:
        self._kept += data
        if len(self._kept) > 2 * KEPT:
            del self._kept[:-KEPT]

    def text(self) -> bytes:
        return bytes(self._kept[-KEPT:])


def pass_through(command: Sequence[str]) -> tuple[int, bytes]:
    """Run `command` to its end with this process's input; its exit status (128 + N where signal N killed it, as shells
    say it) and the end of its output and errors, in the order in which they came.

    A stream that is a terminal is one for the command too, so that it writes what it would have written.

    Raises:
        OSError: the command cannot be started.
    """
    tail = Tail()
    ends = [(stream, *_channel(stream)) for stream in (1, 2)]
    sources = {read: stream for stream, read, _ in ends}
    try:
        with _signals({read: stream for read, stream in sources.items() if os.isatty(stream)}) as put:
            try:
                child = start_command(command, stdout=ends[0][2], stderr=ends[1][2])
            finally:
                for _, _, write in ends:
                    os.close(write)
            put(child)
            _copy(child, sources, tail)
            status = child.wait()
    finally:
        for source in sources:
            os.close(source)
    return (status if status >= 0 else 128 - status), tail.text()


def _copy(child: Child, sources: dict[int, int], tail: Tail) -> None:
    """Copy each source to its stream until all have ended, which closes them and takes them from the table, or the
    child has ended and nothing more comes."""
    with selectors.DefaultSelector() as selector:
        for source in sources:
            selector.register(source, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(_PATIENCE)
            if not ready and child.poll() is not None:
                return
            for key, _ in ready:
                source = key.fd
                try:
                    data = os.read(source, 1 << 16)
                except OSError:  # EIO: the last process that had this terminal has closed it (pty(7))
                    data = b""
                tail.add(data)
                if not data or not _write(sources[source], data):
                    # Where the reader has gone, the child hears of it as it would have without us: EPIPE, EIO.
                    selector.unregister(source)
                    del sources[source]
                    os.close(source)


def _write(stream: int, data: bytes) -> bool:
    """All of `data`, now; whether there is still a reader."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(stream, view) :]
        except BlockingIOError:
            with selectors.DefaultSelector() as selector:
                selector.register(stream, selectors.EVENT_WRITE)
                selector.select()
        except OSError:
            return False
    return True


def _channel(stream: int) -> tuple[int, int]:
    """The end to read from and the end for the child of a pipe, or of a terminal where `stream` is one."""
    if not os.isatty(stream):
        return os.pipe()
    import pty
    import termios

    ours, childs = pty.openpty()
    with contextlib.suppress(OSError, termios.error):
        mode = termios.tcgetattr(childs)
        mode[1] &= ~termios.OPOST  # the terminal behind us turns line ends into its own, once
        termios.tcsetattr(childs, termios.TCSANOW, mode)
    _take_size(childs, stream)
    return ours, childs


@contextlib.contextmanager
def _signals(terminals: Mapping[int, int]) -> Iterator[Callable[[Child], None]]:
    """Signals go to the child that is handed to the function given, and end it or not as it likes; one that comes
    earlier waits. What the terminal sends (Ctrl-C) the child gets itself, being in the same group.

    Args:
        terminals: the terminals that were made for the child, each with the stream whose window it has.
    """
    child: list[Child] = []
    waiting: list[int] = []

    def forward(number: int, _: FrameType | None) -> None:
        if number in (signal.SIGINT, signal.SIGQUIT) and _is_in_foreground():
            return
        if not child:
            waiting.append(number)
            return
        with contextlib.suppress(ProcessLookupError):
            child[0].send_signal(number)

    def resized(_number: int, _: FrameType | None) -> None:
        for ours, stream in terminals.items():
            _take_size(ours, stream)

    def put(started: Child) -> None:
        child.append(started)
        while waiting:
            started.send_signal(waiting.pop(0))

    before = {}
    for name in _PASSED_ON:
        number = getattr(signal, name)
        # What is ignored (nohup) stays so, for the child too.
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, forward)
    before[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, resized)
    try:
        yield put
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _take_size(terminal: int, stream: int) -> None:
    import termios

    with contextlib.suppress(OSError, termios.error):
        termios.tcsetwinsize(terminal, termios.tcgetwinsize(stream))


def _is_in_foreground() -> bool:
    """Whether this process's group is the one that its terminal sends signals to."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
