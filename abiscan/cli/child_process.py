"""Runs a child process, passes its output through unchanged and keeps the end of it."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType

from abiscan.child_processes import Child, start_command

# Bytes of output that are kept.
KEPT = 1 << 20
# Seconds to wait for more output after the command ended: a process that it started may still hold the pipe.
_PATIENCE = 0.2
# Signals that a shell or a CI runner sends to the process that it started.
_PASSED_ON = ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCONT")


def pass_through(command: Sequence[str]) -> tuple[int, bytes]:
    """Run `command` with the standard input of this process. Return its exit status (128 + N after signal N, as in
    shells) and the end of its output and errors, in order. If a stream is a terminal, the command gets a terminal too,
    and so writes the same output.

    Raises:
        OSError: the command cannot be started.
    """
    tail = bytearray()
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
    return (status if status >= 0 else 128 - status), bytes(tail[-KEPT:])


def _copy(child: Child, sources: dict[int, int], tail: bytearray) -> None:
    """Copy each source to its stream until all end, or the child ended and no more output comes. Closes finished
    sources and removes them from the table. Keeps at least the last `KEPT` bytes, in at most twice that memory."""
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
                tail += data
                if len(tail) > 2 * KEPT:
                    del tail[:-KEPT]
                if not data or not _write(sources[source], data):
                    # If the reader is gone, the child gets EPIPE or EIO, as without this process.
                    selector.unregister(source)
                    del sources[source]
                    os.close(source)


def _write(stream: int, data: bytes) -> bool:
    """Write all of `data`. Return whether there is still a reader."""
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
    """The read end, and the end for the child, of a pipe, or of a pseudoterminal if `stream` is a terminal."""
    if not os.isatty(stream):
        return os.pipe()
    import pty
    import termios

    ours, childs = pty.openpty()
    with contextlib.suppress(OSError, termios.error):
        mode = termios.tcgetattr(childs)
        mode[1] &= ~termios.OPOST  # the real terminal converts line ends
        termios.tcsetattr(childs, termios.TCSANOW, mode)
    _take_size(childs, stream)
    return ours, childs


@contextlib.contextmanager
def _signals(terminals: Mapping[int, int]) -> Iterator[Callable[[Child], None]]:
    """Forward signals to the child that is passed to the yielded function. Earlier signals wait. The child is in the
    same process group and receives the signals of the terminal (Ctrl-C) directly.

    Args:
        terminals: pseudoterminals of the child -> the stream with the window size.
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
        # Ignored signals (nohup) stay ignored, in the child too.
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
    """Whether the process group is the foreground group of its terminal."""
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
