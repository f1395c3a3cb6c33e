"""`abiscan migrate` as a sheet: progress, replacements and places."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from msgspec.structs import replace

from abiscan.model.migration_plan import CounterpartKind, EarlierPlan, MigrationPlan, PlanFile, Replacement
from abiscan.model.words import counted
from abiscan.report.sheet import Sheet
from abiscan.report.text_table import Row, Table, Tone
from abiscan.report.wording import source_place

_SUMMED = ("stable", "rewrite", "inlined", "none", "unknown", "places")
# Maximum number of names and places in a row.
_NAMES, _SITES = 2, 1
_TONES = {CounterpartKind.NONE: Tone.BAD, CounterpartKind.UNKNOWN: Tone.DOUBT}


def sheet(plan: MigrationPlan) -> Sheet:
    """The plan as a sheet."""
    todo = [r for r in plan.replacements if r.kind is not CounterpartKind.INLINED]
    left = sum(len(r.names) for r in todo)
    without = sum(len(r.names) for r in todo if r.kind is CounterpartKind.NONE)
    if plan.done is None and not plan.replacements:
        if plan.errors:
            unread = "not everything could be read; the rest does not use torch" if plan.files else "could not be read"
            headline = f"{plan.input}: {unread}"
            return Sheet("UNDECIDED", headline, Tone.DOUBT, (), plan.errors)
        return Sheet("NO TORCH", f"{plan.input}: does not use torch", Tone.PLAIN, (), plan.errors)
    word, tone = ("STABLE", Tone.GOOD) if not left else ("PLAN", Tone.DOUBT)
    parts = [f"{plan.input}: {counted(len(plan.stable), 'stable symbol')}, {left} to replace"]
    unknown = sum(len(r.names) for r in todo if r.kind is CounterpartKind.UNKNOWN)
    if without or unknown:
        parts[0] += f": {left - without - unknown} with a counterpart, {without} without"
    if unknown:
        parts[0] += f", {unknown} not in the table of counterparts"
    if plan.minimum:
        needs = f"requires torch {plan.minimum} or later"
        parts.append(f"afterwards it {needs} (set TORCH_TARGET_VERSION to {plan.minimum})" if left else needs)
    rows = tuple(_row(replacement, plan) for replacement in plan.replacements)
    tables = [Table(("kind", "since", "symbols", "names -> replacement"), rows)]
    if len(plan.files) > 1:
        tables.append(_files(plan))
    if plan.earlier is not None:
        parts.append(_progress(plan, plan.earlier))
    return Sheet(
        word, "; ".join(parts), tone, tuple(tables), plan.errors, tuple(_rewrites(plan)), done=plan.done or 0.0
    )


def _progress(plan: MigrationPlan, earlier: EarlierPlan) -> str:
    """`since plan.json: 19 % -> 25 %, 12 fewer to replace`, with the sum over files."""
    percents = [f"{int((done or 0.0) * 100)} %" for done in (earlier.done, plan.done)]
    fewer = sum(earlier.rewrite.values()) - sum(file.rewrite for file in plan.files)
    change = f"{abs(fewer)} {'fewer' if fewer > 0 else 'more'} to replace in all files" if fewer else "no change"
    return f"since {earlier.where}: {' -> '.join(percents)}, {change}"


def _rewrites(plan: MigrationPlan) -> Iterator[tuple[str, str]]:
    if plan.rewrites:
        rules = ", ".join(sorted({rule for each in plan.rewrites for rule in each.rules}))
        files = counted(len(plan.rewrites), "file")
        yield f"Mechanical rewrites in {files} ({rules}), as a diff:", f"abiscan fix {shlex.quote(plan.input)}"


def _files(plan: MigrationPlan) -> Table:
    """A row for each file, and their sums."""
    counts = ("stable", "left", "counterpart", "none", "unknown", "calls")
    before = None if plan.earlier is None else plan.earlier.rewrite
    columns = (*counts, *(() if before is None else ("change",)), "file")
    total = PlanFile("all files", *(sum(getattr(file, name) for file in plan.files) for name in _SUMMED))
    gone = sum(before.values()) if before is not None else None
    rows = tuple(
        _file(replace(file, path=_below(plan.input, file.path)), None if before is None else before.get(file.path, 0))
        for file in plan.files
    )
    return Table(columns, rows, "files", _file(total, gone))


def _row(replacement: Replacement, plan: MigrationPlan) -> Row:
    names = [plan.names.get(name, name) for name in replacement.names]
    places = [place for site in replacement.sites if (place := source_place(site) or site.function)]
    words = replacement.use + (f" ({replacement.header})" if replacement.header else "")
    functions = list(dict.fromkeys(_short(name) for name in names))
    shown = ", ".join(functions[:_NAMES])
    more = f" and {counted(len(functions) - _NAMES, 'more function')}" if len(functions) > _NAMES else ""
    tail = ""
    if places:
        rest = f" and {counted(replacement.total - _SITES, 'more place')}" if replacement.total > _SITES else ""
        tail = f"; used in {', '.join(_short(place) for place in places[:_SITES])}{rest}"
    details = (*names, *(f"at {place}" for place in places))
    tone = _TONES.get(replacement.kind, Tone.PLAIN)
    cells = (replacement.kind.value, replacement.since, str(len(names)), f"{shown}{more} -> {words}{tail}")
    return Row(cells, tone, details)


def _short(text: str, limit: int = 70) -> str:
    """A function without its parameters: several overloads are one entry."""
    name = text.replace("(anonymous namespace)", "{anonymous}").partition("(")[0] or text
    name = name.replace("{anonymous}", "(anonymous namespace)")
    return name if len(name) <= limit else name[: limit - 3] + "..."


def _below(directory: str, path: str) -> str:
    """The path in a directory or archive."""
    starts = (f"{directory.rstrip('/')}/", f"{directory}!")
    return next((path.removeprefix(start) for start in starts if path.startswith(start)), path)


def _file(file: PlanFile, before: int | None) -> Row:
    """A row of the table of files.

    Args:
        before: names to replace in the earlier plan; None without one.
    """
    tone = Tone.GOOD if not file.rewrite else Tone.BAD if file.none else Tone.PLAIN
    with_counterpart = file.rewrite - file.none - file.unknown
    counts = (file.stable, file.rewrite, with_counterpart, file.none, file.unknown, file.places)
    change = () if before is None else (f"{file.rewrite - before:+d}" if file.rewrite != before else "",)
    return Row((*map(str, counts), *change, file.path), tone)
