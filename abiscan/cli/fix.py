"""`abiscan fix`."""

from __future__ import annotations

import keyword
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec.structs import replace

from abiscan.cli.command_line import CommandLine
from abiscan.cli.exit_status import INCOMPLETE, PASS
from abiscan.cli.options import rules_of
from abiscan.cli.output import note, safe
from abiscan.cli.parameters import select_options
from abiscan.errors import UsageError, os_error_words
from abiscan.model.words import counted

if TYPE_CHECKING:
    from abiscan.source.rewrites import RequestedFunction, Rewritten

_HALF_INTRINSIC: Final = "half-intrinsic"
_MASKED_WARP_FUNCTION: Final = "masked-warp-function"
# What differs in drafts of one function: the lines before the module, and the namespace of a source without a module.
_DIFFERENCE: Final = re.compile(r'\A[\s\S]*?(?=\n(?:from [\w.]+ )?import \w+(?:\.\w+)* as _bound)|(?<=op\(")\w+(?=::)')
# Number of unchanged places that are listed.
_LISTED = 20


@click.command(
    params=[
        click.Argument(["paths"], nargs=-1, required=True, metavar="PATH..."),
        click.Option(["--apply"], is_flag=True, help="Write the changes to the files."),
        click.Option(
            ["--force"],
            is_flag=True,
            help="With --apply: also write files with uncommitted changes and files outside git.",
        ),
        *select_options("select", "ignore"),
        click.Option(
            ["--function"],
            metavar="[MODULE.]NAME",
            help="Only write the operator of this pybind11 function, of the Python module MODULE.",
        ),
    ]
)
@click.pass_context
def fix(
    ctx: click.Context, /, *, paths: tuple[str, ...], apply: bool, force: bool, function: str | None, **given: Any
) -> None:
    """Print the mechanical rewrites of sources as a diff.

    PATH is a C++, CUDA or HIP source or a directory of them. Rewrites const_data_ptr<T>(), deprecated accessors, __ldg
    on c10::Half, and error macros. For pybind11 functions, writes a Python stub that registers them as operators.
    Rewrites keep the results of the program; data_ptr<T>() copies a copy-on-write tensor. The diff goes to standard
    output, messages to standard error.
    """
    line = CommandLine(**given)
    from abiscan.source.rewrites import REWRITES, STUB_RULE

    requested = None if function is None else _requested(function)
    every = (*REWRITES, STUB_RULE)
    chosen = rules_of(line.select, "--select") or (every if requested is None else (STUB_RULE,))
    unknown = [name for name in chosen if name not in every]
    if unknown:
        raise UsageError(f"--select: {unknown[0]} has no mechanical rewrite; known: {', '.join(sorted(every))}")
    wanted = frozenset(chosen) - frozenset(rules_of(line.ignore, "--ignore"))
    ctx.exit(_fix(paths, wanted, requested, apply=apply, force=force))


def _requested(function: str) -> RequestedFunction:
    from abiscan.source.rewrites import RequestedFunction

    module, _, name = function.rpartition(".")
    parts = (*filter(None, module.split(".")), name)
    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in parts):
        raise UsageError(f"--function: {safe(function)} is no name of a Python function")
    return RequestedFunction(name, module)


def _without_copies(found: list[Rewritten]) -> list[Rewritten]:
    """The drafts of one function, one for each module and signature (several sources may bind it), and all rewritten
    sources."""
    keyed = {each.path if each.before else _DIFFERENCE.sub("", each.after) or each.path: each for each in found[::-1]}
    return list(keyed.values())[::-1]


def _in_own_files(found: list[Rewritten]) -> list[Rewritten]:
    """Each file once; a draft for another module than that of an earlier draft of its name gets a number."""
    taken: dict[tuple[str, bool], Rewritten] = {}
    for each in found:
        stem, suffix = os.path.splitext(each.path)
        made, number = each, 1
        while not made.before and made.changes and taken.get((made.path, True), made) != made:
            number += 1
            name = os.path.basename(stem)
            text = each.after.replace(f"{name} import ", f"{name}_{number} import ")
            made = replace(each, path=f"{stem}_{number}{suffix}", after=text)
        taken[made.path, made.changes] = made
    return list(taken.values())


def _fix(
    paths: tuple[str, ...],
    wanted: frozenset[str],
    requested: RequestedFunction | None,
    *,
    apply: bool,
    force: bool,
) -> int:
    from abiscan.source.rewrites import STUB_RULE
    from abiscan.source.rewrites.rewrite_tree import rewrite_tree

    _check_paths(paths)
    found: list[Rewritten] = []
    errors: list[str] = []
    for path in paths:
        found += rewrite_tree(Path(path), wanted, errors, requested)
    if requested is not None:
        found = _without_copies(found)
        drafts = [each for each in found if not each.before]
        if STUB_RULE in wanted and not drafts:
            note(f"no PYBIND11_MODULE here binds `{requested.name}`: pass the folder of the C++ sources")
        if len(drafts) > 1:
            note(
                f"several modules have {requested.name}: --function MODULE.{requested.name} writes one draft, "
                f"for the module that Dynamo's message names"
            )
    found = _in_own_files(found)
    there = [each.path for each in found if each.changes and not each.before and os.path.exists(each.path)]
    changed = [each for each in found if each.changes and each.path not in there]
    if apply:
        _write(changed, force=force)
    folder = _folder_of_diff(paths)
    for each in changed:
        _print(each.diff(os.path.relpath(each.path, folder).replace(os.sep, "/")))
    for stub in there:
        note(f"{stub}: exists; not overwritten (delete it to write it anew)")
    _tell(found, changed, errors, there, applied=apply)
    if changed and not apply and folder != os.getcwd():
        shown = shlex.quote(safe(os.path.relpath(folder)))
        note(f"the diff's paths begin in {shown}: git -C {shown} apply, or patch -d {shown} -p1")
    return INCOMPLETE if errors else PASS


def _check_paths(paths: tuple[str, ...]) -> None:
    from abiscan.source.source_tree import is_source

    for path in paths:
        if not os.path.exists(path):
            raise UsageError(f"{path}: no such file or directory")
        if not os.path.isdir(path) and not is_source(path):
            raise UsageError(f"{path}: not a source file; pass C++, CUDA or HIP sources, or a directory of them")


def _folder_of_diff(paths: tuple[str, ...]) -> str:
    """The base directory of the paths in a diff: the current one if it contains all inputs, else their deepest common
    parent. Neither `git apply` nor `patch` accepts `a/../x`."""
    here = os.getcwd()
    roots = [os.path.abspath(path) for path in paths]
    folders = [root if os.path.isdir(root) else os.path.dirname(root) for root in roots]
    common = os.path.commonpath(folders)
    return here if os.path.commonpath([here, common]) == here else common


def _print(diff: str) -> None:
    sys.stdout.flush()
    # A terminal must not interpret what a file contains. A pipe gets it unchanged, for `git apply`.
    text = "\n".join(safe(line) for line in diff.split("\n")) if sys.stdout.isatty() else diff
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def _write(changed: list[Rewritten], *, force: bool) -> None:
    """Write all files or none.

    Raises:
        UsageError: a file has unsaved changes, or cannot be written.
    """
    from abiscan.cli.version_control import why_not_safe

    for each in () if force else changed:
        before = each.before.encode("utf-8", "surrogateescape")
        reason = why_not_safe(Path(each.path), before) if before else None
        if reason is not None:
            raise UsageError(f"{each.path}: not written: {reason} (use --force to write it)")
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
            raise UsageError(f"{each.path}: cannot be written: {os_error_words(error)}") from error


def _warn_of_masks(changed: list[Rewritten]) -> None:
    """Warn of sources that compile with HIP after the rewrite of `__ldg`, and compute wrong values."""
    loads = [each for each in changed if _HALF_INTRINSIC in each.rules]
    if not loads:
        return
    from abiscan.source.half_intrinsic import masked_functions

    for each in loads:
        if names := masked_functions(each.after):
            note(
                f"{each.path}: not complete for HIP: it calls {', '.join(names)}, with which it may compile and "
                f"compute wrong values (abiscan rules {_MASKED_WARP_FUNCTION}). For torch-scatter, build a newer "
                f"source."
            )


def _tell(
    found: list[Rewritten], changed: list[Rewritten], errors: list[str], there: list[str], *, applied: bool
) -> None:
    unchanged = [place for each in found for place in each.unchanged]
    for place in unchanged[:_LISTED]:
        note(f"{place.path}:{place.line}: {place.rule}: not rewritten: {place.reason}")
    if len(unchanged) > _LISTED:
        note(f"... and {len(unchanged) - _LISTED} more places are not rewritten")
    for line in errors:
        note(line)
    _warn_of_masks(changed)
    files = counted(len(changed), "file")
    rules = ", ".join(sorted({rule for each in changed for rule in each.rules}))
    if not changed:
        note(f"nothing {'else ' if there else ''}to rewrite")
    elif applied:
        note(f"wrote {files} ({rules})")
        for each in changed:
            if not each.before:
                note(f"{each.path} is a draft: its first lines have the next steps")
    else:
        note(f"{files} would change ({rules}); --apply writes them")
