"""The report as the page shows it: texts made printable, causes merged over files, a row of the heat map a wheel."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from abiscan.model.fingerprint import bare_name
from abiscan.model.history import RunSummary
from abiscan.model.reach import Aspect, Compared
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Container, Report, Verdict
from abiscan.model.target import Target
from abiscan.model.together import Together
from abiscan.model.versions import Windows
from abiscan.report.escape import printable
from abiscan.report.html.file_view import STRINGS, file_view, windows_words
from abiscan.report.html.heat_map import (
    Cell,
    Column,
    HeatMap,
    MapRow,
    Mark,
    columns_of,
    declared_of,
    file_cells,
    loads_on,
    wheel_cells,
)
from abiscan.report.html.merged import failing_rules, merged_causes, noted_rules
from abiscan.report.html.trends import trends_of
from abiscan.report.html.values import FileView, PageView, WheelView
from abiscan.report.order import WORST_FIRST, sorted_artifacts
from abiscan.report.summary import Summary, failure_reason, summary_of
from abiscan.report.wording import TARGET_KINDS, counted, readable_names, verdict_words

# What a cell holds of a release's missing names; the JSON report is the place for the rest.
_NAMES_SHOWN = 6
_NAME_LENGTH = 240
_NUMBER = re.compile(r"(\d+)")


class _Unit(Struct, frozen=True):
    """A wheel, package or archive with its files, or one file that is in none."""

    container: Container | None
    target: Compared | None
    files: tuple[int, ...]


def page_view(
    report: Report, artifacts: Sequence[ArtifactReport], together: Together | None, history: Sequence[RunSummary]
) -> PageView:
    """What the page shows.

    Args:
        artifacts: the report's, in the order in which the page numbers them (`ordered`).
    """
    counts = summary_of(report)
    labels = _labels(artifacts)
    files = tuple(file_view(report, number, artifact, labels[number]) for number, artifact in enumerate(artifacts))
    units = _units(report, artifacts, together)
    wheels = tuple(_wheel(number, report, unit, artifacts, files) for number, unit in enumerate(units))
    named = [wheel for wheel in wheels if wheel.title]
    target = _common_target(artifacts, report.target)
    return PageView(
        title=_title(report, files),
        version=report.version,
        verdict=report.verdict.value,
        word=verdict_words(report.verdict).capitalize(),
        headline=_headline(report, counts, wheels, target),
        together=_together(units, together),
        target=f"torch {printable(target.torch)}" if target is not None else None,
        target_facts=_target_facts(target),
        tallies=_tallies(counts),
        causes=tuple(merged_causes(artifacts)),
        heat=_heat(units, wheels, files, artifacts),
        apart=tuple(w.title for w in wheels if w.title and not any(artifacts[f.number].releases for f in w.files)),
        failing=tuple(failing_rules(report, artifacts)),
        noted=tuple(noted_rules(report, artifacts)),
        wheels=wheels,
        files=files,
        imports=sum(len(a.imports) for a in artifacts),
        trends=trends_of(history),
        notes=tuple(
            # The page has no -v: each file's panel tells its setting.
            printable(n.removesuffix(" (-v says why)"))
            for n in (report.target.note if report.target else None, *report.notes)
            if n
        ),
        errors=tuple((printable(e.path), printable(e.message)) for e in report.errors),
        stale=tuple((printable(e.source), printable(e.entry), e.fails) for e in report.stale),
        wheel_of={file.number: wheel for wheel in named for file in wheel.files} if len(named) > 1 else {},
    )


def ordered(report: Report) -> list[ArtifactReport]:
    """The files as the page numbers them: worst first, then by path."""
    return sorted(sorted_artifacts(report.artifacts), key=lambda a: WORST_FIRST.index(a.verdict))


def natural(text: str) -> list[tuple[int, int, str]]:
    """A key that sorts `2.10` behind `2.9`."""
    parts = _NUMBER.split(text.lower())
    return [(1, int(p), "") if n % 2 else (0, 0, p) for n, p in enumerate(parts)]


# --- wheels -----------------------------------------------------------------------------------------------------


def _units(report: Report, artifacts: Sequence[ArtifactReport], together: Together | None) -> list[_Unit]:
    reach = {} if together is None else {target.path: target for target in together.targets}
    owner = {display: place for place, container in enumerate(report.containers) for display in container.artifacts}
    members: list[list[int]] = [[] for _ in report.containers]
    loose: list[int] = []
    for number, artifact in enumerate(artifacts):
        place = owner.get(artifact.display)
        (loose if place is None else members[place]).append(number)
    units = [
        _Unit(container, reach.get(container.path), tuple(inside))
        for container, inside in zip(report.containers, members, strict=True)
    ]
    units.sort(key=lambda unit: natural(unit.container.path.rpartition("/")[2] if unit.container else ""))
    return units + [_Unit(None, reach.get(artifacts[number].display), (number,)) for number in loose]


def _wheel(
    number: int, report: Report, unit: _Unit, artifacts: Sequence[ArtifactReport], files: Sequence[FileView]
) -> WheelView:
    inside = [files[n] for n in unit.files]
    container = unit.container
    if container is None:
        (only,) = inside
        reason = _reason([artifacts[n] for n in unit.files]) if only.bad else ""
        return WheelView(number, "", only.display, only.verdict, only.word, only.bad, reason, "", (), (), (only,), 0, ())
    unread = tuple(
        (printable(e.path), printable(e.message))
        for e in report.errors
        if e.path == container.path or e.path.startswith(f"{container.path}!")
    )
    bad = any(f.bad for f in inside) or bool(unread)
    concerned = [f for f in inside if f.verdict != ArtifactVerdict.NOT_TORCH.value or f.bad]
    return WheelView(
        number=number,
        title=printable(_name(container)),
        path=printable(container.path),
        verdict=container.verdict.value,
        word=verdict_words(container.verdict),
        bad=bad,
        reason=_reason([artifacts[n] for n in unit.files if files[n].bad]) if bad else "",
        line=" · ".join(printable(part) for part in _line(container, artifacts, unit) if part),
        facts=tuple((name, printable(value)) for name, value in _wheel_facts(unit, container) if value),
        requirements=tuple(printable(r) for r in container.requires_dist if r not in container.requires_torch),
        files=tuple(concerned + [f for f in inside if f not in concerned]),
        plain=len(inside) - len(concerned),
        unread=unread,
    )


def _name(container: Container) -> str:
    if container.name and container.version:
        return f"{container.name} {container.version}"
    return container.path.rpartition("/")[2]


def _reason(bad: Sequence[ArtifactReport]) -> str:
    """Why the first of the failing files fails."""
    failing = [a for a in bad if a.verdict is ArtifactVerdict.FAILS]
    if failing:
        return printable(failure_reason(failing[0])[0])
    messages = [f.message for a in bad for f in a.standing]
    return printable(messages[0].split("\n")[0]) if messages else ""


def _line(container: Container, artifacts: Sequence[ArtifactReport], unit: _Unit) -> Iterator[str]:
    """What tells it from its like: `cp311`, `x86_64`."""
    interpreters = dict.fromkeys(tag.split("-")[0] for tag in container.tags)
    abis = dict.fromkeys(tag.split("-")[1] for tag in container.tags if tag.count("-") >= 2)
    yield "-".join(["/".join(list(interpreters)[:3]), *(abi for abi in abis if abi == "abi3" or abi.endswith("t"))])
    if len({a.machine for a in artifacts if a.machine is not None}) > 1:
        yield "/".join(dict.fromkeys(m for n in unit.files if (m := artifacts[n].machine)))


def _wheel_facts(unit: _Unit, container: Container) -> list[tuple[str, str]]:
    builds = unit.target.reach.torch if unit.target is not None else None
    facts = []
    if builds and _judged(unit):
        loads, declared = loads_on(builds), declared_of(builds)
        facts.append(("loads on torch", windows_words(loads)))
        if declared is not None:
            facts.append(("its requirement admits torch", windows_words(declared)))
            facts.append(("admitted, and does not load there", windows_words(_refused(unit)) if _refused(unit) else ""))
    facts += [
        ("requires torch", "; ".join(container.requires_torch) or "no requirement is declared"),
        ("Requires-Python", container.requires_python or ""),
        ("tags", ", ".join(container.tags)),
        ("tags in its metadata", ", ".join(container.metadata_tags) if _differ(container) else ""),
        ("kind", container.kind),
        ("file", container.path),
    ]
    if unit.target is not None:
        facts.append(("system", ", ".join(floor.text for floor in unit.target.reach.floors)))
    return facts


def _differ(container: Container) -> bool:
    return bool(container.metadata_tags) and set(container.metadata_tags) != set(container.tags)


def _judged(unit: _Unit) -> bool:
    """Whether some file of it was judged on the releases; one that imports nothing of torch is not."""
    return unit.target is not None and bool(unit.target.reach.torch)


def _refused(unit: _Unit) -> Windows:
    """The releases that the requirement admits and that do not load it."""
    builds = (unit.target.reach.torch if unit.target is not None else None) or ()
    versions: dict[str, bool] = {}
    good = {v for b in builds if b.works for v in (b.torch,)}
    for build in builds:
        versions[build.torch] = build.admitted is True and build.torch not in good
    return Windows.of_known(versions, versions.__getitem__)


# --- the heat map -----------------------------------------------------------------------------------------------


def _heat(
    units: Sequence[_Unit],
    wheels: Sequence[WheelView],
    files: Sequence[FileView],
    artifacts: Sequence[ArtifactReport],
) -> HeatMap:
    judged = [n for unit in units for n in unit.files if artifacts[n].releases]
    columns = columns_of(
        ((r.torch, r.variant) for n in judged for r in artifacts[n].releases or ()),
        ((t.torch, t.variant) for n in judged if (t := artifacts[n].target) is not None),
    )
    rows: list[MapRow] = []
    for unit, wheel in zip(units, wheels, strict=True):
        _add_unit(rows, unit, wheel, columns, files, artifacts)
    cells = [cell for row in rows for cell in row.cells]
    return HeatMap(
        columns,
        tuple(rows),
        tuple(mark for mark in Mark if any(cell.mark is mark for cell in cells)),
        len({c.variant for c in columns}) > 1,
        any(cell.target for cell in cells),
        any(cell.declared for cell in cells),
        any(cell.mark is Mark.FAILS and (cell.declared or cell.target) for cell in cells),
    )


def _add_unit(
    rows: list[MapRow],
    unit: _Unit,
    wheel: WheelView,
    columns: Sequence[Column],
    files: Sequence[FileView],
    artifacts: Sequence[ArtifactReport],
) -> None:
    judged = [n for n in unit.files if artifacts[n].releases]
    if not judged:
        return
    groups: dict[tuple[tuple[Mark, str, bool], ...], list[int]] = {}
    cells: dict[int, tuple[Cell, ...]] = {}
    for n in judged:
        names = {mangled: _cut(text) for mangled, text in readable_names(artifacts[n]).items()}
        mine = _target_names([artifacts[n]])
        cells[n] = file_cells(columns, artifacts[n], names, mine, shown=_NAMES_SHOWN)
        groups.setdefault(tuple((c.mark, c.reason, c.target) for c in cells[n]), []).append(n)
    group = None
    if unit.container is not None and unit.target is not None:
        group = len(rows)
        rows.append(_wheel_row(group, unit, wheel, columns, cells, files, artifacts))
    for same in groups.values():
        first = files[same[0]]
        title = first.label if len(same) == 1 else f"{first.label} and {len(same) - 1} more"
        rest = [files[n].label for n in same[1:]]
        lines = [", ".join(rest[:6]) + (f" and {len(rest) - 6} more" if len(rest) > 6 else "")] if rest else []
        row = MapRow(
            len(rows),
            group,
            title,
            tuple(lines),
            f"file-{first.number}",
            first.verdict,
            any(files[n].bad for n in same),
            cells[same[0]],
            (
                wheel.path,
                printable(unit.container.name or "") if unit.container else "",
                printable(unit.container.version or "") if unit.container else "",
                "; ".join(files[n].display.rpartition("!")[2] for n in same),
                first.word,
                "",
                _window_text(cells[same[0]], columns),
            ),
            files=tuple(same),
        )
        rows.append(row)


def _wheel_row(
    number: int,
    unit: _Unit,
    wheel: WheelView,
    columns: Sequence[Column],
    cells: Mapping[int, tuple[Cell, ...]],
    files: Sequence[FileView],
    artifacts: Sequence[ArtifactReport],
) -> MapRow:
    assert unit.target is not None and unit.container is not None
    builds = unit.target.reach.torch or ()
    judged = [n for n in cells if artifacts[n].served_by is None]
    whole = not wheel.unread and not any(a.verdict is ArtifactVerdict.UNREADABLE for a in map(artifacts.__getitem__, unit.files))
    found = wheel_cells(
        columns, unit.target, unit.container.verdict, _target_names(artifacts[n] for n in judged), whole=whole
    )
    full = []
    for place, cell in enumerate(found):
        failing = [files[n].label for n in cells if cells[n][place].mark not in (Mark.LOADS, Mark.DRIFT, Mark.UNKNOWN)]
        good = cell.mark in (Mark.LOADS, Mark.UNKNOWN)
        full.append(cell if good else replace(cell, count=len(failing), names=tuple(failing[:_NAMES_SHOWN])))
    loads, declared = windows_words(loads_on(builds)), declared_of(builds)
    return MapRow(
        number,
        None,
        wheel.title,
        (" · ".join(part for part in (wheel.line, f"loads on {loads}") if part),),
        f"wheel-{wheel.number}",
        wheel.verdict,
        wheel.bad,
        tuple(full),
        (
            wheel.path,
            printable(unit.container.name or ""),
            printable(unit.container.version or ""),
            "",
            wheel.word,
            "" if declared is None else windows_words(declared),
            loads,
        ),
        len(cells),
    )


def _window_text(cells: Sequence[Cell], columns: Sequence[Column]) -> str:
    versions: dict[str, bool] = {}
    for cell, column in zip(cells, columns, strict=True):
        loads = cell.mark in (Mark.LOADS, Mark.DRIFT)
        versions[column.torch] = versions.get(column.torch, False) or loads
    return windows_words(Windows.of_known(versions, versions.__getitem__))


def _target_names(artifacts: Iterable[ArtifactReport]) -> frozenset[str]:
    """Names of the builds that files were judged on, those that import nothing of torch left out."""
    targets = (a.target for a in artifacts if a.verdict is not ArtifactVerdict.NOT_TORCH)
    return frozenset(f"{t.torch}+{t.variant}" if t.variant else t.torch for t in targets if t is not None)


def _cut(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _NAME_LENGTH else shown[: _NAME_LENGTH - 1] + "…"


# --- the head of the page ---------------------------------------------------------------------------------------


def _title(report: Report, files: tuple[FileView, ...]) -> str:
    containers = sorted({a.path for a in report.artifacts} | {c.path for c in report.containers})
    if len(containers) == 1:
        return printable(containers[0].rsplit("/", 1)[-1])
    if len(report.containers) > 1:
        return counted(len(report.containers), "wheel") if _all_wheels(report) else f"{len(report.containers)} packages"
    return f"{len(files)} files" if files else "nothing to judge"


def _all_wheels(report: Report) -> bool:
    return all(container.kind == "wheel" for container in report.containers)


def _common_target(artifacts: Sequence[ArtifactReport], run: Target | None) -> Target | None:
    """The torch that every file was judged on; None where they were on several."""
    targets = {(t.torch, t.variant, t.path) for a in artifacts if (t := a.judged_on(run)) is not None}
    return run if len(targets) <= 1 else None


def _headline(report: Report, counts: Summary, wheels: Sequence[WheelView], target: Target | None) -> str:
    whole, fails, standing = counts.artifacts, counts.verdicts[ArtifactVerdict.FAILS], counts.failing
    on = f" on torch {printable(target.torch)} ({printable(target.variant)})" if target else ""
    if target is None and report.target is not None:
        on = " on the torch that each is judged on"
    many = [w for w in wheels if w.title]
    match report.verdict:
        case Verdict.FAIL:
            bad = [w for w in many if w.bad]
            if len(many) > 1 and bad:
                noun = "wheels" if _all_wheels(report) else "packages"
                return f"{len(bad)} of {len(many)} {noun} {'fails' if len(bad) == 1 else 'fail'}{on}."
            if fails:
                rest = "does not load" if whole == 1 else f"of {counted(whole, 'file')} {_do(fails)} not load"
                return f"{'The file' if whole == 1 else fails} {rest}{on}."
            if standing:
                return f"{counted(standing, 'finding')} {'fails' if standing == 1 else 'fail'} the gate{on}."
            return f"{counted(sum(e.fails for e in report.stale), 'baseline entry', 'baseline entries')} went stale."
        case Verdict.INCOMPLETE:
            return f"Nothing failed, but not everything could be read or decided{on}."
        case _:
            loads = counts.verdicts[ArtifactVerdict.LOADS]
            if fails:
                return f"{counted(fails, 'file')} {_do(fails)} not load{on}, and the policy accepts that."
            if not loads:
                return "Nothing here needs torch."
            if len(many) > 1:
                passing = sum(w.verdict == ArtifactVerdict.LOADS.value for w in many)
                rest = len(many) - passing
                others = f"; {rest} {'imports' if rest == 1 else 'import'} nothing of torch" if rest else ""
                return f"{passing} of {len(many)} {'wheels' if _all_wheels(report) else 'packages'} load{on}{others}."
            return f"{'The file loads' if whole == loads == 1 else f'{loads} of {whole} files load'}{on}."


def _do(number: int) -> str:
    return "does" if number == 1 else "do"


def _together(units: Sequence[_Unit], together: Together | None) -> str | None:
    """The releases on which all of it loads, of one wheel or of a set that one environment can hold."""
    judged = [u for u in units if u.target is not None and u.target.reach.torch]
    if together is None or not judged:
        return None
    if len(judged) == 1:
        (unit,) = judged
        builds = unit.target.reach.torch if unit.target is not None else None
        text = f"Loads on torch {windows_words(loads_on(builds or ()))}."
        refused = _refused(unit)
        if refused and unit.container is not None:
            text += f" Its requirement on torch also admits {windows_words(refused)}, where it does not load."
        return text
    versions: dict[str | None, set[str | None]] = {}
    for unit in judged:
        if unit.container is not None and unit.container.name is not None:
            versions.setdefault(unit.container.name.lower().replace("_", "-"), set()).add(unit.container.version)
    if any(len(found) > 1 for found in versions.values()):
        # Two versions of one project are never in one environment.
        return None
    common = Windows.of_known(
        dict.fromkeys(b.torch for b in together.common.torch or ()),
        {b.torch for b in together.common.torch or () if b.works}.__contains__,
    )
    if common:
        return f"Together they load on torch {windows_words(common)}."
    alone = {e.target for e in together.exclusions if e.aspect is Aspect.TORCH}
    names = [t.label for t in together.targets if t.path in alone]
    tail = f" Without {printable(' or '.join(names[:3]))} there would be one." if names and len(names) <= 3 else ""
    return f"No known release of torch loads all of them together.{tail}"


def _target_facts(target: Target | None) -> tuple[tuple[str, str], ...]:
    if target is None:
        return ()
    facts = [
        ("variant", target.variant),
        ("chosen", TARGET_KINDS[target.kind]),
        ("std::string", STRINGS[target.cxx11_abi]),
        ("CUDA", target.cuda),
        ("HIP", target.hip),
        ("machine", target.machine),
        ("Python", target.python),
        ("path", target.path),
    ]
    return tuple((name, printable(value)) for name, value in facts if value)


def _tallies(counts: Summary) -> tuple[tuple[str, str, int], ...]:
    """(class, words, number) of what there is."""
    found = [(verdict.value, verdict_words(verdict), counts.verdicts[verdict]) for verdict in WORST_FIRST]
    for severity, number in counts.findings.items():
        found.append((severity.value, severity.value + ("" if number == 1 else "s"), number))
    found.append(("suppressed", "accepted", counts.suppressed))
    found.append(("stale", "stale", counts.stale))
    found.append(("unreadable", "inputs not read", counts.errors))
    return tuple(item for item in found if item[2])


def _labels(artifacts: Sequence[ArtifactReport]) -> list[str]:
    """Short names: without Python tags and vendoring hashes, with as many folders as tell them apart."""
    paths = [printable(a.member if a.member is not None else a.path).split("/") for a in artifacts]
    shorts = [[*path[:-1], bare_name(path[-1])] for path in paths]
    labels: list[str] = []
    depths = [1] * len(shorts)
    # Past four folders the whole path, which the title has, is as good.
    for _ in range(4):
        labels = ["/".join(short[-depth:]) for short, depth in zip(shorts, depths, strict=True)]
        # Files of several wheels stand below their wheel's name.
        counts = Counter((a.path, label) for a, label in zip(artifacts, labels, strict=True))
        depths = [
            depth + (counts[a.path, label] > 1) for a, depth, label in zip(artifacts, depths, labels, strict=True)
        ]
    return labels
