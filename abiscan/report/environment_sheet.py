"""`abiscan env` as a sheet: one table of packages, those that need an action first."""

from __future__ import annotations

from abiscan.model.environment_report import (
    Action,
    EnvironmentFix,
    EnvironmentReport,
    PackageOutcome,
    PackageReport,
    PackageState,
    Problem,
    on_releases,
)
from abiscan.model.platforms import LoadingWords, loading_words
from abiscan.model.words import counted
from abiscan.report.sheet import Sheet
from abiscan.report.text_table import Row, Table, Tone

_TONES = {
    PackageState.FAILS: Tone.BAD,
    PackageState.PARTLY: Tone.DOUBT,
    PackageState.UNDECIDED: Tone.DOUBT,
    PackageState.LOADS: Tone.GOOD,
    PackageState.NOT_TORCH: Tone.PLAIN,
}
_WORDS = {PackageState.NOT_TORCH: "not torch"}


def sheet(found: EnvironmentReport) -> Sheet:
    """The environment as a sheet."""
    upgrade = found.after is not None
    commands: set[str] = set()
    words = loading_words([found.machine])
    rows = tuple(_row(package, commands, words) for package in found.packages)
    columns = ("package", "now", *(["after"] if upgrade else []), "action", "reason")
    due = [package for package in found.packages if package.action is not Action.KEEP]
    torch = f"torch {found.torch}" if found.torch else "no torch is installed here" if not upgrade else "no torch"
    where = found.python if found.root is None else f"{found.python} in {found.root}"
    packages = f"{counted(len(found.packages), 'package')} with shared objects"
    if upgrade:
        lead = f"{where}, {torch} -> {'' if found.torch else 'torch '}{found.after}: "
        headline = lead + (f"{len(due)} of {packages} need an action" if due else _nothing_due(found))
        word, tone = ("BREAKS", Tone.BAD) if found.fails else ("OK", Tone.GOOD)
    else:
        broken = [p for p in found.packages if p.now.state is PackageState.FAILS]
        excluded = sum(not p.now.allowed for p in found.packages if p.now.state is not PackageState.FAILS)
        partly = sum(p.now.state is PackageState.PARTLY for p in found.packages)
        lead = f"{where}, {torch}: "
        if found.torch_failure is not None:
            lead += f"{_problem(found.torch_failure)}; "
        verb = "fails" if len(broken) == 1 else "fail"
        headline = lead + f"{len(broken)} of {packages} {verb}"
        if found.lacks_torch and not broken and not excluded:
            headline = lead + f"{packages} not checked against torch"
        headline += f", {counted(partly, words.one, words.many)} in part" if partly else ""
        headline += f", {counted(excluded, 'requires', 'require')} another torch" if excluded else ""
        word, tone = ("FAILS", Tone.BAD) if found.fails else (words.one.upper(), Tone.GOOD)
        if partly and not found.fails:
            word, tone = "PARTLY", Tone.DOUBT
    if tone is not Tone.BAD and found.undecided:
        word, tone = "UNDECIDED", Tone.DOUBT
    notes = (*(_problem(each) for each in found.problems if each is not found.torch_failure), *found.errors)
    if found.lacks_torch:
        notes += ("pass --python PATH to name the Python that has torch, or --torch VERSION",)
    if found.pure_python:
        notes += (f"{counted(found.pure_python, 'pure-Python package')} not checked",)
    tables = (
        Table(columns, rows, total=_total(found) if len(rows) > 1 else None),
        *(() if found.fix is None else _conflicts(found.fix)),
    )
    return Sheet(
        word, headline, tone, tables, notes, () if found.fix is None else (_command(found.fix, found.machine),)
    )


def _nothing_due(found: EnvironmentReport) -> str:
    packages = f"{counted(len(found.packages), 'package')} with shared objects"
    users = sum(outcome.state is not PackageState.NOT_TORCH for outcome in found.outcomes)
    if not users:
        return f"none of {packages} uses torch"
    words = loading_words([found.machine])
    if users == 1:
        return f"the package that uses torch {words.one}"
    return f"all {users} packages that use torch {words.many}"


def _total(found: EnvironmentReport) -> Row:
    outcomes = [[package.now for package in found.packages]]
    if found.after is not None:
        outcomes.append([package.after or package.now for package in found.packages])
    good = (PackageState.LOADS, PackageState.NOT_TORCH)
    words = loading_words([found.machine])
    counts = (sum(each.allowed and each.state in good for each in column) for column in outcomes)
    cells = (counted(count, words.one, words.many) for count in counts)
    return Row((counted(len(found.packages), "package"), *cells, "", ""))


def _conflicts(fix: EnvironmentFix) -> tuple[Table, ...]:
    if not fix.conflicts:
        return ()
    rows = (
        Row((each.package, each.text + (f"; build it: {_run(each.command)}" if each.command else "")), Tone.BAD)
        for each in fix.conflicts
    )
    title = "Not fixed by a pip command" if fix.torch else "No torch that suits all of them"
    return (Table(("package", "reason"), tuple(rows), title),)


def _command(fix: EnvironmentFix, machine: str | None) -> tuple[str, str]:
    """A sentence, and the command."""
    if fix.torch is None and not fix.conflicts:
        return "Fix: none: no torch is installed, and no release for this Python is known", ""
    if fix.torch is None:
        return "Fix: no torch release suits all packages; replace or rebuild one of those above", ""
    words = loading_words([machine])
    stay = counted(fix.kept, f"package stays and {words.one}", f"packages stay and {words.many}")
    if fix.undecided:
        stay += f"; undecided, or only in part: {', '.join(fix.undecided)}"
    if fix.conflicts:
        stay += f"; not fixed: {', '.join(each.package for each in fix.conflicts)}"
    if not fix.command:
        return f"Fix: nothing to install for torch {fix.torch}; {stay}", ""
    wheels = [name for name in fix.replaced if name != "torch"]
    plural = "wheel" if len(wheels) == 1 else "wheels"
    published = f" with the published {plural} of {', '.join(wheels)}, not checked" if wheels else ""
    return f"Fix: torch {fix.torch}{published}; {stay}:", fix.command


def _problem(problem: Problem) -> str:
    return f"{problem.text}; {_run(problem.command)}" if problem.command else problem.text


def _run(command: str) -> str:
    return f"run `{command}`"


def _row(package: PackageReport, commands: set[str], words: LoadingWords) -> Row:
    """The row of a package.

    Args:
        commands: commands of the rows above; that of this row is added.
    """
    outcome = package.now if package.after is None else package.after
    name = f"{package.name} {package.version}"
    cells = [name, _state(package.now, words)]
    if package.after is not None:
        cells.append(_state(package.after, words))
    step = f"{package.step}. " if package.step is not None else ""
    cells.append(step + " ".join((package.action.value, *([", ".join(package.products)] if package.products else []))))
    why = _why(package, outcome, words)
    if package.command and package.command not in commands:
        commands.add(package.command)
        why += f"; {_run(package.command)}"
    tone = _TONES[outcome.state] if outcome.allowed else Tone.BAD
    minor = package.action is Action.KEEP and outcome == package.now and outcome.state is PackageState.NOT_TORCH
    return Row((*cells, why), tone, minor=minor)


def _state(outcome: PackageOutcome, words: LoadingWords) -> str:
    loads = outcome.state is PackageState.LOADS
    word = words.one if loads else _WORDS.get(outcome.state, outcome.state.value)
    return word if outcome.allowed else f"{word}, excluded"


def _why(package: PackageReport, outcome: PackageOutcome, words: LoadingWords) -> str:
    parts = []
    if not outcome.allowed:
        first = ": change this in its sources first" if package.action is Action.REBUILD else ""
        parts.append(f"requires {package.requires_torch}{first}")
    if outcome.reason:
        count = (
            f"{outcome.failing} of {counted(package.files, 'file')}: " if package.files > 1 and outcome.failing else ""
        )
        parts.append(count + outcome.reason)
    if outcome.for_another and outcome.failing:
        parts.append(f"{counted(outcome.for_another, 'file')} for another torch, CUDA or ROCm not checked")
    if outcome.without_driver:
        parts.append(f"{counted(outcome.without_driver, 'file')} not checked: this machine has no GPU driver")
    where = f"on {on_releases(package.loads_on)}"
    shown = not outcome.absent and (outcome.failing or not outcome.allowed) and not outcome.reason.endswith(where)
    if package.loads_on and shown:
        parts.append(f"{words.clause} {where}")
    return "; ".join(parts)
