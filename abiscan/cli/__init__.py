"""The command line. Only this room prints, reads environment variables or exits.

Exit status: 0 pass; 1 the gate failed; 2 usage error; 3 incomplete (something could not be read or decided)."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from abiscan.cli.exit_status import FAIL, INCOMPLETE, INTERRUPTED, PASS, USAGE
from abiscan.cli.output import note
from abiscan.errors import AbiscanError, UsageError, os_error_words

if TYPE_CHECKING:
    from types import ModuleType


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its status."""
    if sys.stderr is None:  # closed (`2>&-`)
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for the whole run
    if sys.stdout is None:
        # Closed (`>&-`): the report could not be printed.
        sys.stderr.write("abiscan: error: standard output is closed: send it to a file or to /dev/null\n")
        sys.exit(USAGE)
    try:
        status = _run(sys.argv[1:] if args is None else args)
    except KeyboardInterrupt:
        note("interrupted")
        status = INTERRUPTED
    except AbiscanError as error:
        note(f"error: {error}")
        status = USAGE if isinstance(error, UsageError) else INCOMPLETE
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            note(f"error: {subject_of(error)}: {os_error_words(error)}")
            sys.exit(INCOMPLETE)
        # The reader is gone (`| head`). Without this, Python prints an error when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = PASS
    except MemoryError:
        note("error: out of memory")
        status = INCOMPLETE
    sys.exit(status)


def subject_of(error: OSError) -> str:
    """What an error of the system concerns, if no code has named it: a file, the working directory, a limit, or else
    the report."""
    import errno

    if error.filename is not None:
        return os.fsdecode(error.filename)
    if "temporary directory" in (error.strerror or ""):
        return "temporary files"  # words of `tempfile`
    if error.errno == errno.ENOENT:
        return "the working directory"
    limits = {errno.EMFILE: "ulimit -n", errno.ENFILE: "fs.file-max", errno.EAGAIN: "ulimit -u", errno.ENOMEM: "memory"}
    return limits.get(error.errno or 0, "the report could not be written")


def _run(words: Sequence[str]) -> int:
    """Run a command line and return its exit status."""
    _import_msgspec()
    from abiscan.cli.scan_arguments import read_plain

    line = None if "_ABISCAN_COMPLETE" in os.environ else read_plain(words)
    if line is not None:
        from abiscan.cli.run_scan import run_scan

        return run_scan(line)
    from abiscan.cli.commands import run_command

    return run_command(words)


def _import_msgspec() -> None:
    """Import msgspec without modules that serve only types and schemas that abiscan does not use: 80 of 530 million
    instructions of a scan.

    Without typing_extensions, which is installed with every torch and imports inspect, ast, dis and tokenize, msgspec
    uses the `get_type_hints` of typing. Of uuid (which imports platform) and decimal it keeps the classes, to
    recognise their values; the classes of datetime are those of _datetime. textwrap and inspect serve its JSON schemas.
    Compiling the first ForwardRef, by which msgspec detects Python 3.11, creates the classes of ast."""
    if "msgspec" in sys.modules:
        return
    import typing

    placeholders = {
        "typing_extensions": None,  # importing it fails, as the language has it
        "uuid": _placeholder("uuid", UUID=type("UUID", (), {}), SafeUUID=type("SafeUUID", (), {"unknown": None})),
        "decimal": _placeholder("decimal", Decimal=type("Decimal", (), {})),
        "textwrap": _placeholder("textwrap"),
        "datetime": __import__("_datetime"),
        "msgspec.inspect": _placeholder("msgspec.inspect"),
        "msgspec._json_schema": _placeholder("msgspec._json_schema", schema=None, schema_components=None),
        "msgspec.toml": _placeholder("msgspec.toml"),
        "msgspec.yaml": _placeholder("msgspec.yaml"),
    }
    absent = {name: each for name, each in placeholders.items() if name not in sys.modules}
    forward_reference = typing.ForwardRef
    sys.modules.update(absent)  # type: ignore[arg-type]  # None, as above
    typing.ForwardRef = _placeholder  # type: ignore[assignment,misc]
    try:
        # A release that needs more of them is imported again, as usual, by the first module that uses it.
        with contextlib.suppress(ImportError, AttributeError):
            import msgspec

            for name in ("inspect", "toml", "yaml"):
                delattr(msgspec, name)
    finally:
        typing.ForwardRef = forward_reference  # type: ignore[misc]
        for name in absent:
            del sys.modules[name]


def _placeholder(name: str, **attributes: object) -> ModuleType:
    module = type(sys)(name)
    vars(module).update(attributes)
    return module


def run() -> NoReturn:
    """The console command: run `main` and exit without cleanup. Freeing modules and values takes a tenth of the run
    time. Files are only read, output is flushed here, and pools are closed where they are used."""
    from abiscan.cli.compiled_modules import import_compiled_modules

    import_compiled_modules()
    _end_tidily()
    try:
        main()
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else FAIL
        with contextlib.suppress(OSError):  # reported already, or the stream is closed
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        os._exit(status)


def _end_tidily() -> None:
    """Let SIGTERM and SIGHUP end this process with 128 + their number, as registry runs document, and with the cleanup
    of Ctrl-C: no temporary file and no child such as pip remains. Ignored signals (nohup) stay ignored."""
    signal = __import__("_signal")  # `signal` wraps it in enums: a thousandth of a second

    def end(number: int, _frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, end)
