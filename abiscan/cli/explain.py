"""`abiscan explain`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from abiscan.cli.exit_status import INCOMPLETE
from abiscan.cli.options import scan_options, strings, style_for, text_option
from abiscan.errors import UsageError
from abiscan.model.limits import MAX_TEXT_FILE


@click.command()
@click.argument("text", nargs=-1, metavar="[TEXT|-|FILE]")
@click.option("--torch", metavar="SPEC", help="The torch that was there: installed, a release, or a path.")
@click.option("--python", metavar="PATH", help="Whose environment to look at.")
@click.option("--needed-by", metavar="FILENAME", help="Whose error it was (the shared object's name).")
@click.option("-f", "--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("-v", "--verbose", is_flag=True, help="All causes, all evidence.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto")
def explain(**given: object) -> None:
    """Explain a symbol, an error message, or every error in a log (file, argument or standard input)."""
    from abiscan.analysis.explanation import explain as run_explain
    from abiscan.report import explain_text, explain_v1
    from abiscan.report.escape import safe_json, safe_text

    text = _explain_text(strings(given["text"]))
    subjects = run_explain(text, scan_options(given), needed_by=text_option(given["needed_by"]))
    if given["form"] == "json":
        click.echo(safe_json(explain_v1.render(subjects)), nl=False)
    else:
        click.echo(safe_text(explain_text.render(subjects, style_for(given, sys.stdout))), nl=False, color=True)
    if not subjects:
        click.echo(
            "abiscan: no symbol and no error that abiscan knows is in the text: pass the mangled name, the ImportError "
            "line, or the whole log",
            err=True,
        )
        sys.exit(INCOMPLETE)


def _explain_text(words: Sequence[str]) -> str:
    limit = MAX_TEXT_FILE
    if list(words) == ["-"] or not words:
        if not words and sys.stdin.isatty():
            raise UsageError("name a symbol, an error message or a file, or pipe a log into abiscan explain")
        return sys.stdin.buffer.read(limit).decode("utf-8", "replace")
    if len(words) == 1 and len(words[0]) < 4096 and "\n" not in words[0] and os.path.isfile(words[0]):
        with open(words[0], "rb") as file:
            head = file.read(4)
            if head == b"\x7fELF":
                raise UsageError(f"{words[0]}: a shared object, not a log: abiscan {words[0]}")
            text = head + file.read(limit + 1)
            if len(text) > limit:
                raise UsageError(f"{words[0]}: larger than {limit >> 20} MiB: name the part of the log with the error")
            return text.decode("utf-8", "replace")
    return " ".join(words)
