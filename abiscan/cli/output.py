"""Where reports and progress go."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from abiscan.errors import UsageError

if TYPE_CHECKING:
    from abiscan.model.report import Report
    from abiscan.report.style import Style


def progress() -> Callable[[str], None] | None:
    """Progress on a terminal, none in CI or a pipe. An empty text clears the line."""
    if not sys.stderr.isatty() or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return None

    def show(text: str) -> None:
        import shutil

        width = shutil.get_terminal_size().columns - 1
        click.echo("\r\x1b[K" + safe(text)[:width], nl=False, err=True, color=True)

    return show


def outputs_of(given: Sequence[str]) -> list[tuple[str, str | None]]:
    """(format, file) pairs.

    Raises:
        UsageError: an unknown format, or two for standard output.
    """
    from abiscan.report import FORMATS

    outputs: list[tuple[str, str | None]] = []
    for item in given or ("text",):
        name, _, path = item.partition(":")
        if name not in FORMATS:
            import difflib

            near = difflib.get_close_matches(name, list(FORMATS), n=1)
            raise UsageError(
                f"no format {name!r}; " + (f"did you mean {near[0]}?" if near else f"known: {', '.join(FORMATS)}")
            )
        outputs.append((name, path or None))
    if sum(path is None for _, path in outputs) > 1:
        raise UsageError("two formats for standard output: give all but one a file (-f sarif:report.sarif)")
    return outputs


def emit(report: Report, name: str, path: str | None, style: Style) -> None:
    from abiscan import report as formats
    from abiscan.report import text

    if name == "text":
        from msgspec.structs import replace

        rendered = text.render(report, style if path is None else replace(style, width=None, color=False))
    else:
        rendered = formats.render(name, report)
    if path is None:
        # Bytes: a terminal's encoding must not decide whether a report can be written.
        sys.stdout.flush()
        sys.stdout.buffer.write(rendered.encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()
    else:
        write(path, rendered)


def write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from error


def read_baseline_file(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        raise UsageError(f"{path}: no such baseline; make it with --write-baseline {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: the baseline cannot be read: {error}") from error


def safe(text: str) -> str:
    from abiscan.report.escape import printable

    return printable(text)
