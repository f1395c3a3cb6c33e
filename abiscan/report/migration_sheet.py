"""`abiscan migrate` as a sheet: progress, replacements and places."""

from __future__ import annotations

from abiscan.model.migration_plan import CounterpartKind, MigrationPlan, PlanFile, Replacement
from abiscan.report.sheet import Row, Sheet, Table, Tone
from abiscan.report.wording import counted, source_place

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
    if without:
        parts.append(f"{without} of them without a counterpart")
    unknown = sum(len(r.names) for r in todo if r.kind is CounterpartKind.UNKNOWN)
    if unknown:
        parts.append(f"{unknown} of them not in the table of counterparts")
    if plan.minimum:
        needs = f"requires torch {plan.minimum} or later"
        parts.append(f"afterwards it {needs} (set TORCH_TARGET_VERSION to {plan.minimum})" if left else needs)
    rows = tuple(_row(replacement, plan) for replacement in plan.replacements)
    tables = [Table(("kind", "since", "symbols", "names -> replacement"), rows)]
    if len(plan.files) > 1:
        tables.append(Table(("stable", "to replace", "inlined", "file"), tuple(map(_file, plan.files)), "files"))
    return Sheet(word, "; ".join(parts), tone, tuple(tables), plan.errors, done=plan.done or 0.0)


def _row(replacement: Replacement, plan: MigrationPlan) -> Row:
    names = [plan.readable.get(name, name) for name in replacement.names]
    places = [place for site in replacement.sites if (place := _place(site)) is not None]
    words = replacement.use + (f" ({replacement.header})" if replacement.header else "")
    functions = list(dict.fromkeys(_short(name) for name in names))
    shown = ", ".join(functions[:_NAMES])
    more = f" and {len(functions) - _NAMES} more" if len(functions) > _NAMES else ""
    tail = ""
    if places:
        rest = f" and {counted(replacement.total - _SITES, 'more place')}" if replacement.total > _SITES else ""
        tail = f"; used in {', '.join(_short(place) for place in places[:_SITES])}{rest}"
    details = (*names, *(f"at {place}" for place in places))
    tone = _TONES.get(replacement.kind, Tone.PLAIN)
    cells = (replacement.kind.value, replacement.since, str(len(names)), f"{shown}{more} -> {words}{tail}")
    return Row(cells, tone, details)


def _place(site: object) -> str | None:
    from abiscan.model.finding import Location

    assert isinstance(site, Location)
    place = source_place(site)
    if place is not None:
        return place
    return site.function if site.function is not None else None


def _short(text: str, limit: int = 70) -> str:
    """A function without its parameters: several overloads are one entry."""
    name = text.replace("(anonymous namespace)", "{anonymous}").partition("(")[0] or text
    name = name.replace("{anonymous}", "(anonymous namespace)")
    return name if len(name) <= limit else name[: limit - 3] + "..."


def _file(file: PlanFile) -> Row:
    tone = Tone.GOOD if not file.rewrite else Tone.BAD if file.none else Tone.PLAIN
    return Row((str(file.stable), str(file.rewrite), str(file.inlined), file.path), tone)
