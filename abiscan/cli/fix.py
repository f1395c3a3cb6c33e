"""`abiscan fix`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abiscan.cli.exit_status import INCOMPLETE, PASS
from abiscan.cli.options import rules_of
from abiscan.cli.output import safe
from abiscan.errors import UsageError

if TYPE_CHECKING:
    from abiscan.source.rewrites import Rewritten

# Places named that stay as they are.
_LISTED = 20


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--apply", is_flag=True, help="Write the files. Without it nothing is written.")
@click.option(
    "--force", is_flag=True, help="Overwrite changes that are neither staged nor committed; also outside of git."
)
@click.option("--select", multiple=True, metavar="RULE", help="Only these rules; repeatable, or with commas.")
@click.option("--ignore", multiple=True, metavar="RULE", help="Not these rules; repeatable, or with commas.")
@click.pass_context
def fix(
    ctx: click.Context,
    /,
    *,
    paths: tuple[str, ...],
    apply: bool,
    force: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
) -> None:
    """Print the mechanical rewrites of sources as a unified diff.

    PATH is a C++, CUDA or HIP source or a directory of them. What is rewritten: const_data_ptr<T>(), deprecated
    accessors, __ldg on what may be c10::Half, error macros; for functions that pybind11 alone binds, a Python file
    that registers them as operators is begun. Each rewrite gives the same program. The diff goes to standard output,
    the rest to standard error.
    """
    from abiscan.source.rewrites import REWRITES, STUB_RULE

    every = (*REWRITES, STUB_RULE)
    chosen = rules_of(select, "--select") or every
    unknown = [name for name in chosen if name not in every]
    if unknown:
        raise UsageError(f"--select: {unknown[0]} has no mechanical rewrite; known: {', '.join(sorted(every))}")
    wanted = frozenset(chosen) - frozenset(rules_of(ignore, "--ignore"))
    ctx.exit(_fix(paths, wanted, apply=apply, force=force))


def _fix(paths: tuple[str, ...], wanted: frozenset[str], *, apply: bool, force: bool) -> int:
    missing = next((path for path in paths if not os.path.exists(path)), None)
    if missing is not None:
        raise UsageError(f"{missing}: no such file or directory")
    found: list[Rewritten] = []
    errors: list[str] = []
    there: list[str] = []
    for path in paths:
        found += _rewritten(Path(path), wanted, errors, there)
    found = list({each.path: each for each in found}.values())
    changed = [each for each in found if each.changes]
    folder = _folder_of_diff(paths)
    for each in changed:
        _print(each.diff(os.path.relpath(each.path, folder).replace(os.sep, "/")))
    if apply:
        _write(changed, force=force)
    for stub in dict.fromkeys(there):
        click.echo(f"abiscan: {safe(stub)}: there already: no stub is written over it", err=True)
    _tell(found, changed, errors, applied=apply)
    if changed and not apply and folder != os.getcwd():
        shown = shlex.quote(safe(os.path.relpath(folder)))
        click.echo(
            f"abiscan: the diff's paths begin in {shown}: git -C {shown} apply, or patch -d {shown} -p1", err=True
        )
    return INCOMPLETE if errors else PASS


def _folder_of_diff(paths: tuple[str, ...]) -> str:
    """The folder that a diff's paths begin in: this one, where all that is named lies in it; else the deepest that
    holds it all (`a/../x` is a path that neither `git apply` nor `patch` takes)."""
    here = os.getcwd()
    roots = [os.path.abspath(path) for path in paths]
    folders = [root if os.path.isdir(root) else os.path.dirname(root) for root in roots]
    common = os.path.commonpath(folders)
    return here if os.path.commonpath([here, common]) == here else common


def _rewritten(root: Path, wanted: frozenset[str], errors: list[str], there: list[str]) -> Iterator[Rewritten]:
    """What would change below a path.

    Args:
        errors, there: what cannot be read, and files of operators that exist, are added to these.
    """
    from abiscan.errors import UnreadableFile
    from abiscan.rules import load_rules
    from abiscan.source import FileSet, Neighbours, SourceRules, SourceSet, sources_below
    from abiscan.source.rewrites import STUB_RULE, rewrite_source, stubs_for

    rules = SourceRules(rule for rule in load_rules() if rule.id in wanted)
    listed = [os.path.relpath(path).replace(os.sep, "/") for path in sources_below(root)]
    others: SourceSet = Neighbours(listed[0], str(root)) if root.is_file() and listed else FileSet(listed, _text)
    for path in listed:
        text = _text(path)
        if text is None:
            errors.append(f"{path}: cannot be read")
            continue
        if os.path.islink(path):
            continue  # what it leads to is rewritten where it lies
        try:
            made = rewrite_source(text, path, rules, others, wanted)
        except UnreadableFile as error:
            errors.append(str(error))
            continue
        if made.changes or made.left:
            yield made
        if STUB_RULE in wanted:
            for _place, stub in stubs_for(text, path, rules, others, _module_name(path)):
                if os.path.exists(stub.path):
                    there.append(stub.path)
                else:
                    yield stub


def _text(path: str) -> str | None:
    from abiscan.model.limits import MAX_SOURCE_SIZE

    try:
        if os.path.getsize(path) > MAX_SOURCE_SIZE:
            return None
        # Bytes that are no UTF-8 are written back as they were.
        return Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return None


def _module_name(path: str) -> str | None:
    """The module's name by the nearest setup.py upward."""
    from abiscan.source.rewrites.registration_stub import module_name

    for folder in Path(path).resolve().parents[:6]:
        setup = folder / "setup.py"
        if setup.is_file():
            text = _text(str(setup))
            return None if text is None else module_name(text, path)
    return None


def _print(diff: str) -> None:
    sys.stdout.flush()
    # A terminal must not act on what a file holds; a pipe gets it as it is, for `git apply`.
    text = "\n".join(safe(line) for line in diff.split("\n")) if sys.stdout.isatty() else diff
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def _write(changed: list[Rewritten], *, force: bool) -> None:
    """Write every file, or none.

    Raises:
        UsageError: one has something that would be lost, or cannot be written.
    """
    from abiscan.cli.version_control import why_not_safe

    for each in () if force else changed:
        before = each.before.encode("utf-8", "surrogateescape")
        reason = why_not_safe(Path(each.path), before) if before else None
        if reason is not None:
            raise UsageError(f"{each.path}: not written: {reason} (--force writes it all the same)")
    for each in changed:
        path = Path(each.path)
        data = each.after.encode("utf-8", "surrogateescape")
        try:
            if each.before and path.read_bytes() != each.before.encode("utf-8", "surrogateescape"):
                raise UsageError(f"{each.path}: not written: it changed while it was read")
            with open(path, "r+b" if each.before else "xb") as file:
                file.write(data)
                file.truncate()
        except OSError as error:
            raise UsageError(f"{each.path}: cannot be written: {(error.strerror or str(error)).lower()}") from error


def _tell(found: list[Rewritten], changed: list[Rewritten], errors: list[str], *, applied: bool) -> None:
    left = [place for each in found for place in each.left]
    for place in left[:_LISTED]:
        click.echo(
            f"abiscan: {safe(place.path)}:{place.line}: {place.rule}: left as it is: {safe(place.reason)}", err=True
        )
    if len(left) > _LISTED:
        click.echo(f"abiscan: ... and {len(left) - _LISTED} more places are left as they are", err=True)
    for line in errors:
        click.echo(f"abiscan: {safe(line)}", err=True)
    files = f"{len(changed)} file{'' if len(changed) == 1 else 's'}"
    rules = ", ".join(sorted({rule for each in changed for rule in each.rules}))
    if not changed:
        click.echo("abiscan: nothing to rewrite", err=True)
    elif applied:
        click.echo(f"abiscan: wrote {files} ({rules})", err=True)
    else:
        click.echo(f"abiscan: {files} would change ({rules}); --apply writes them", err=True)
