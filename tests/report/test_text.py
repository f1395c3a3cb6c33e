"""The text report for each verdict, its length, and that no name in it can control a terminal."""

from __future__ import annotations

import re
import unicodedata

import pytest
from msgspec.structs import replace

from abiscan.gate.apply import apply
from abiscan.gate.policy import Ignore, Policy
from abiscan.model.cause import CauseGroup, CauseId, Confidence
from abiscan.model.finding import Finding, Location, Severity
from abiscan.model.imports import Status
from abiscan.model.loading import LoaderOutcome, LoaderPrediction, LoaderStop, NeededLibrary, StopKind
from abiscan.model.report import ArtifactKind, ArtifactReport, ArtifactVerdict, Container, InputError, Report, Verdict
from abiscan.report import text
from abiscan.report.style import LineGroup, Style, fit_sections, wrap
from tests.report import samples

# A pipe: no line limit.
PIPE = Style(width=None)
NAME = "build/_C.cpython-311-x86_64-linux-gnu.so"


def lines_of(*artifacts: ArtifactReport, style: Style = PIPE) -> list[str]:
    return text.render(samples.a_report(*artifacts), style).splitlines()


def test_a_file_that_loads_takes_a_line_and_its_facts() -> None:
    fine = samples.an_artifact(
        imports=(samples.an_import(samples.TENSOR_PTR), samples.an_import("memcpy", owner=samples.Owner.LIBC)),
        releases=samples.releases(),
    )
    assert lines_of(fine) == [
        f"loads {NAME}: 1 torch symbol resolves on torch 2.13.0 (cpu, installed)",
        "  releases: loads on 2.12.0-2.13.0; fails on 2.4.0-2.8.0 old string ABI",
        "  imports: 2 (1 torch, 1 other)",
    ]


def test_unknown_parts_of_a_release_are_reported() -> None:
    known = samples.releases()
    newest = replace(known[-1], reason="layouts not compared")
    fine = samples.an_artifact(releases=(*known[:-1], newest))
    (line,) = (each for each in lines_of(fine) if each.startswith("  releases:"))
    assert line.endswith(f"; layouts not compared on {newest.torch}")
    assert f"loads on 2.12.0-{newest.torch};" in line


def test_a_failing_file_has_cause_fix_and_loader_error() -> None:
    lines = lines_of(samples.failing())
    # In order of need; the fix is complete on its line, to be pasted.
    wanted = [
        "FAILS dist/example-1.0-cp311-cp311-linux_x86_64.whl!example/_C.cpython-311-x86_64-linux-gnu.so: "
        "1 of 6 symbols is undefined on torch 2.13.0 (cpu, installed)",
        "  cause: built with the old std::string; this torch has the new one [cxx11-abi-mismatch, high confidence]",
        '  fix: CXXFLAGS="-D_GLIBCXX_USE_CXX11_ABI=1" pip install --no-build-isolation .',
        "  because: libc10.so exports the same function with the other std::string",
        "    - the file has 41 names with the old std::string and none with the new",
        "  cause 2: libavcodec.so.58 is not on this machine [library-missing, medium confidence]",
        "  fix: apt-get install libavcodec58",
        f"  loader error: undefined symbol: {samples.CHECK_FAIL_OLD}",
        "  warning[const-data-ptr]: const_data_ptr<long>() is exported by no build under this name",
        "    at void f(at::Tensor) (file offset 0x11c0)",
        "    at csrc/kernel one.cpp:42 in void g(at::Tensor)",
        "  releases: loads on 2.12.0-2.13.0; fails on 2.4.0-2.8.0 old string ABI",
        "  note: libavcodec.so.58 is not here: 1 import is undecided",
    ]
    assert [line for line in lines if line in wanted] == wanted
    # Findings do not repeat the causes.
    assert not any("missing-import" in line for line in lines)
    assert len(lines) <= 30


@pytest.mark.parametrize(
    ("artifact", "first"),
    [
        (
            samples.an_artifact(
                verdict=ArtifactVerdict.UNDECIDED, imports=(samples.an_import("avcodec_open2", Status.UNDECIDED),)
            ),
            f"undecided {NAME}: cannot be decided on torch 2.13.0 (cpu, installed): 1 import undecided",
        ),
        (
            samples.an_artifact(verdict=ArtifactVerdict.UNREADABLE, machine=None),
            f"unreadable {NAME}: could not be read",
        ),
        (samples.an_artifact(verdict=ArtifactVerdict.NOT_TORCH), f"not torch {NAME}: does not use torch"),
        (
            samples.an_artifact(verdict=ArtifactVerdict.FAILS),
            f"FAILS {NAME}: does not load on torch 2.13.0 (cpu, installed)",
        ),
    ],
)
def test_the_first_line_of_each_verdict(artifact: ArtifactReport, first: str) -> None:
    assert lines_of(artifact)[0] == first


@pytest.mark.parametrize("torch_fails", [False, True])
def test_a_torch_that_cannot_be_imported_is_no_error_of_a_file_that_does_not_use_it(torch_fails: bool) -> None:
    loader = LoaderPrediction(LoaderOutcome.FAILS, LoaderStop(StopKind.LIBRARY_NOT_FOUND, "liba.so"), None, torch_fails)
    artifact = replace(samples.an_artifact(verdict=ArtifactVerdict.NOT_TORCH), loader=loader)
    assert ("liba.so" in "".join(lines_of(artifact))) is not torch_fails


def test_without_a_target_no_torch_is_named() -> None:
    report = replace(samples.a_report(samples.an_artifact()), torch_build=None)
    assert text.render(report, PIPE) == f"loads {NAME}: loads\n"


def test_of_several_files_bad_ones_lead_and_good_ones_take_a_line() -> None:
    lines = lines_of(
        samples.failing(),
        samples.an_artifact("lib/a.so", releases=samples.releases()),
        samples.an_artifact("lib/here.so", loader=samples.failing().loader),
        samples.an_artifact("lib/plain.so", verdict=ArtifactVerdict.NOT_TORCH),
        samples.an_artifact("lib/other.so", verdict=ArtifactVerdict.NOT_TORCH),
    )
    assert lines[:2] == [
        "FAILS dist/example-1.0-cp311-cp311-linux_x86_64.whl!example/_C.cpython-311-x86_64-linux-gnu.so: "
        "1 of 6 symbols is undefined on torch 2.13.0 (cpu, installed)",
        "  cause: built with the old std::string; this torch has the new one [cxx11-abi-mismatch, high confidence]",
    ]
    assert lines[-4:] == [
        "",
        "loads     lib/a.so  (loads on 2.12.0-2.13.0)",
        "loads     lib/here.so  (this machine's loader: example/_C.cpython-311-x86_64-linux-gnu.so: "
        f"undefined symbol: {samples.CHECK_FAIL_OLD})",
        "not torch 2 files",
    ]
    verbose = lines_of(
        samples.an_artifact("lib/a.so"),
        samples.an_artifact("lib/plain.so", verdict=ArtifactVerdict.NOT_TORCH),
        style=replace(PIPE, verbose=True),
    )
    assert "not torch lib/plain.so: does not use torch" in verbose


def test_quiet_leaves_the_lines_of_good_files_out() -> None:
    good, bad = samples.an_artifact("lib/a.so"), samples.an_artifact("lib/b.so", verdict=ArtifactVerdict.FAILS)
    quiet = lines_of(good, bad, style=replace(PIPE, quiet=True))
    assert quiet == ["FAILS lib/b.so: does not load on torch 2.13.0 (cpu, installed)"]


def test_the_first_of_many_bad_files_is_printed_in_full() -> None:
    bad = [replace(samples.failing(), member=f"example/m{n}.so") for n in range(5)]
    text_of = "\n".join(lines_of(*bad))
    assert text_of.count("fix: CXXFLAGS") == 1
    assert text_of.count("FAILS ") == text_of.count("cause: built with the old std::string") == 5
    assert text_of.count(" (1 more cause: -v)") == 4


def test_verbose_lists_everything() -> None:
    brief, verbose = lines_of(samples.failing()), lines_of(samples.failing(), style=replace(PIPE, verbose=2))
    assert set(brief) <= set(verbose)
    assert "    libavcodec.so.58 not found" in verbose
    assert "  missing imports (1):" in verbose
    assert f"      {samples.CHECK_FAIL_OLD} (gnu)" in verbose
    _heads, *builds, _total = verbose[verbose.index("  releases:") + 1 :]
    assert [line.split()[:2] for line in builds] == [
        [release.build, "loads" if release.loads else "fails"] for release in samples.releases()
    ]


def test_notes_of_rules_are_counted_until_verbose_shows_them() -> None:
    note = samples.a_finding("unstable-abi", severity=Severity.NOTE, message="unstable")
    assert "  1 note (-v)" in lines_of(samples.an_artifact(findings=(note,)))
    assert "  note[unstable-abi]: unstable" in lines_of(
        samples.an_artifact(findings=(note,)), style=replace(PIPE, verbose=True)
    )


def test_a_function_skipped_by_torch_compile_is_reported_for_a_loading_file() -> None:
    """The verdict alone is not enough: important notes are printed, the others are counted."""
    note = samples.a_finding("op-not-registered", severity=Severity.NOTE, message="exposes `gemm`")
    other = samples.a_finding("unstable-abi", severity=Severity.NOTE, message="unstable")
    brief = lines_of(samples.an_artifact(findings=(other, note)))
    assert "  note[op-not-registered]: exposes `gemm`" in brief
    assert "  1 more note (-v)" in brief
    failing = replace(samples.failing(), findings=(note,))
    assert not any("op-not-registered" in line for line in lines_of(failing))


def a_source(path: str, *findings: Finding) -> ArtifactReport:
    return samples.an_artifact(
        path, kind=ArtifactKind.SOURCE, machine=None, verdict=ArtifactVerdict.NOT_TORCH, findings=findings
    )


def a_note(path: str, *lines: int, rule: str = "half-intrinsic") -> Finding:
    places = tuple(Location(file=path, line=line) for line in lines)
    return samples.a_finding(rule, None, severity=Severity.NOTE, message=f"{rule} here", locations=places)


def test_findings_of_sources_are_shown_by_rule() -> None:
    error = samples.a_finding("generated-kernel", None, message="undefined", locations=(Location(file="k.py", line=3),))
    sources = [a_source(f"{n}.cu", a_note(f"{n}.cu", 7, 9)) for n in range(6)]
    lines = lines_of(*sources, a_source("k.py", error), a_source("fine.py"))
    assert lines == [
        "source    fine.py: read, nothing found",
        "",
        "error[generated-kernel]: undefined",
        "  at k.py:3",
        "  fix: Rebuild with torch 2.13.0",
        "note[half-intrinsic]: half-intrinsic here",
        *(f"  at {n}.cu:7, 9" for n in range(4)),
        "  ... and in 2 more files: -v",
        "  fix: Rebuild with torch 2.13.0",
    ]
    assert lines_of(*sources, style=replace(PIPE, quiet=True)) == []


@pytest.mark.parametrize("quiet", [False, True])
def test_what_fails_the_gate_is_shown(quiet: bool) -> None:
    """A note, the fourth rule of a file, a file among good ones: otherwise hidden."""
    rules = ("unstable-abi", "message-logger", "cuda-set-device", "c10-cuda-check")
    notes = tuple(a_note("", rule=rule) for rule in rules)
    report = samples.a_report(samples.an_artifact("a.so"), samples.an_artifact("b.so", findings=notes))
    failing = apply(report, Policy(fail_on=Severity.NOTE))
    lines = text.render(failing, replace(PIPE, quiet=quiet)).splitlines()
    assert [rule for rule in rules if f"  note[{rule}]: {rule} here" in lines] == list(rules)
    source = samples.a_report(a_source("a.cu", a_note("a.cu", 1)))
    shown = text.render(apply(source, Policy(fail_on=Severity.NOTE)), replace(PIPE, quiet=quiet))
    assert "note[half-intrinsic]" in shown


def test_what_is_accepted_takes_a_line() -> None:
    policy = Policy(ignores=(Ignore("abiscan.toml, ignore 1", "known", rule="missing-import"),))
    report = apply(samples.a_report(samples.failing()), policy)
    (line,) = text.render(report, PIPE).splitlines()
    assert line.startswith("accepted  dist/example-1.0-cp311-cp311-linux_x86_64.whl!example/_C")
    assert line.endswith("; 1 finding accepted)")


def test_a_wheel_has_a_line_over_its_members() -> None:
    path = "dist/x-1.0-cp311-cp311-linux_x86_64.whl"
    members = (
        samples.an_artifact(path, "x/a.so"),
        samples.an_artifact(path, "x/b.so", verdict=ArtifactVerdict.FAILS),
        samples.an_artifact(path, "x/c.so", verdict=ArtifactVerdict.UNDECIDED),
    )

    def over(verdict: ArtifactVerdict, *inside: ArtifactReport) -> str:
        names = tuple(a.display for a in inside)
        wheel = Container(
            path, "wheel", "x", "1.0", (), (), (), ("torch==2.4.0",), verdict, names, None, ("torch==2.4.0",)
        )
        loose = samples.an_artifact("lib/loose.so")
        report = replace(samples.a_report(loose, *inside), containers=(wheel,))
        lines = text.render(report, PIPE).splitlines()
        assert lines[:2] == ["loads     lib/loose.so", ""]
        # The wheel is named once; problems come first.
        assert [line for line in lines[3:] if path in line] == []
        labels = [line.split()[0] for line in lines[3:] if " x/" in line]
        assert labels == sorted(labels, key=lambda label: label == "loads")
        return lines[2]

    asked = "; declared: torch==2.4.0"
    fails, undecided, loads = ArtifactVerdict.FAILS, ArtifactVerdict.UNDECIDED, ArtifactVerdict.LOADS
    assert over(fails, *members) == f"FAILS {path}: 1 of 3 files does not load, 1 undecided{asked}"
    assert over(undecided, members[0], members[2]) == f"undecided {path}: 1 of 2 files undecided{asked}"
    good = replace(members[1], verdict=loads)
    # A file may need libtorch without torch imports (torchaudio 2.9.1's libctc_prefix_decoder.so).
    whole = f"loads {path}: 2 of 2 files use torch and load"
    assert over(loads, members[0], good) == f"{whole}{asked}"
    # torchaudio 2.8.0: `ldd` of libtorchaudio_sox.so prints `libsox.so => not found`.
    lacking = replace(good, needed=(NeededLibrary("libc.so.6", "libc.so.6"), NeededLibrary("libsox.so", None)))
    lacks = "; 1 needs libraries that were not checked: libsox.so"
    assert over(loads, members[0], lacking) == f"{whole}{lacks}{asked}"
    barred = replace(good, findings=(samples.a_finding("require-torch", None),))
    assert over(loads, members[0], barred) == f"FAILS {path}: 2 of 2 files load; 1 fails the check require-torch{asked}"


@pytest.mark.parametrize(("verbose", "times"), [(0, 1), (1, 3)])
def test_the_reason_why_a_wheel_is_undecided_is_printed_once(verbose: int, times: int) -> None:
    path, why = "demo-1.0+xpu-cp311-cp311-linux_x86_64.whl", "the label of its version names a build for XPU"
    files = tuple(
        samples.an_artifact(path, f"demo/{name}.so", verdict=ArtifactVerdict.UNDECIDED, notes=(why,)) for name in "abc"
    )
    names = tuple(file.display for file in files)
    wheel = Container(path, "wheel", "demo", "1.0", (), (), (), (), ArtifactVerdict.UNDECIDED, names)
    report = replace(samples.a_report(*files), containers=(wheel,))
    assert text.render(report, Style(width=None, verbose=verbose)).count(why) == times
    # A file that does not load before them prints few of its notes.
    fails = samples.an_artifact(path, "demo/0.so", verdict=ArtifactVerdict.FAILS, notes=("1", "2", why))
    wheel = replace(wheel, verdict=ArtifactVerdict.FAILS, artifacts=(fails.display, *names))
    report = replace(samples.a_report(fails, *files), containers=(wheel,))
    assert text.render(report, Style(width=None, verbose=verbose)).count(f"because: {why}") == times


def test_a_wheel_with_one_file_without_torch_is_named() -> None:
    paths = [f"dist/{name}-1.0-cp311-cp311-linux_x86_64.whl" for name in ("xgrammar", "torchvision")]
    files = [
        samples.an_artifact(path, "x/a.so", verdict=verdict)
        for path, verdict in zip(paths, (ArtifactVerdict.NOT_TORCH, ArtifactVerdict.LOADS), strict=True)
    ]
    containers = tuple(
        Container(file.path, "wheel", "x", "1.0", (), (), (), (), file.verdict, (file.display,)) for file in files
    )
    report = replace(samples.a_report(*files), containers=containers)
    shown = text.render(report, PIPE)
    assert f"not torch {paths[0]}: does not use torch\n" in shown
    assert paths[1] in shown
    assert text.render(report, replace(PIPE, quiet=True)) == ""


def test_inputs_notes_and_stale_entries_stand_at_the_end() -> None:
    assert text.render(samples.mixed(), PIPE).splitlines()[-4:] == [
        "unreadable dist/other.whl: not a zip archive: it ends after 3 bytes",
        "note: two torches are on the path; the first is used",
        "stale: missing-import of _Zgone in example/_C.so (baseline.json)",
        "  fix: Write the baseline again with --write-baseline FILE, or pass --allow-stale",
    ]


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (
            samples.mixed(),
            "fail: 6 files checked: 1 loads, 1 fails to load, 1 undecided, 1 unreadable, 1 not torch, 1 source "
            "(1 error, 2 warnings, 1 note, 1 accepted finding, 1 unused entry, 1 input could not be read)",
        ),
        (samples.empty(), "pass: 0 files checked"),
        (replace(samples.a_report(samples.an_artifact()), verdict=Verdict.PASS), "pass: 1 file checked: 1 loads"),
        (samples.a_report(errors=(InputError("x.whl", "gone"),)), "incomplete: 1 input could not be read"),
    ],
)
def test_the_line_at_the_end_of_a_run(report: Report, line: str) -> None:
    assert text.summary_line(report, PIPE) == line


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("color", [False, True])
def test_lines_keep_to_the_width(width: int, color: bool) -> None:
    long = replace(samples.failing(), notes=("word " * 60, "x" * 500))
    shown = text.render(samples.a_report(long), Style(width, color)).splitlines()
    # A longer line is a single word. The second line of a fix and counts are not wrapped; there are none here.
    wide = [line for line in (re.sub(r"\x1b\[[\d;]*m", "", each) for each in shown) if len(line) > width]
    assert [line for line in wide if len(line.split()) > 1] == []


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("label", ["  mangled: ", "- "])
def test_a_mangled_name_is_not_broken(width: int, label: str) -> None:
    """A name that does not fit after its label is on the next line, so that it can be copied."""
    name = "_ZNK2at10TensorBase14const_data_ptrIlTnNSt9enable_ifIXntsr3stdE10is_const_vIT_EEiE4typeELi0EEEPKS3_v"
    alone = [label.rstrip(), f"    {name}"] if len(label) > 4 else [f"{label}{name}"]
    assert wrap(name, Style(width), label, "    ") == alone
    lines = wrap(f"undefined symbol: {name}, version 1", Style(width), label, "    ")
    assert lines == [f"{label}undefined symbol:", f"    {name},", "    version 1"]


def test_sections_are_left_out_by_rank() -> None:
    sections = [LineGroup(0, ["verdict"]), LineGroup(5, ["x"] * 10), LineGroup(1, ["loader"]), LineGroup(2, ["y"] * 20)]
    assert fit_sections(sections, PIPE) == ["verdict", "loader", *["y"] * 20, "  more lines (-v)"]
    assert len(fit_sections(sections, replace(PIPE, verbose=1))) == 32
    assert fit_sections([LineGroup(0, ["z"] * 150)], replace(PIPE, verbose=1))[-1] == "  more lines (-vv)"
    assert len(fit_sections([LineGroup(0, ["z"] * 150)], replace(PIPE, verbose=2))) == 150


@pytest.mark.parametrize(("verbose", "most"), [(0, 25), (1, 100)])
@pytest.mark.parametrize("width", [None, 40, 80])
def test_a_file_has_no_more_lines_than_its_level_allows(verbose: int, most: int, width: int | None) -> None:
    bad = samples.failing()
    bad = replace(
        bad, causes=bad.causes * 30, findings=bad.findings * 200, imports=bad.imports * 300, notes=("note " * 30,) * 50
    )
    style = Style(width, verbose=verbose)
    lines = lines_of(bad, style=style)
    assert len(lines) <= most
    assert lines[-1].endswith(f" more lines ({style.more})")
    assert len(lines_of(bad, style=replace(style, verbose=2))) > 300


def test_colours_are_all_that_they_change() -> None:
    plain, colored = (text.render(samples.mixed(), Style(80, color)) for color in (False, True))
    assert colored != plain
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == plain


@pytest.mark.parametrize("verbose", [0, 1, 2])
@pytest.mark.parametrize("width", [None, 40, 80])
def test_no_name_can_steer_a_terminal(width: int | None, verbose: int) -> None:
    shown = text.render(samples.hostile(), Style(width, verbose=verbose))
    unsafe = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert {c for c in shown if unicodedata.category(c) in unsafe} == {"\n"}
    # Nothing is dropped: unsafe characters are escaped.
    flat = re.sub(r"\s+", "", shown)
    for escaped in (r"\x1b[31mred\x1b[0m\x07", r"\u202egnp.so\u2066", r"raw\xff\x80byte", "<script>alert(1)</script>"):
        assert escaped in flat
    assert not any(line.startswith("::error") for line in shown.splitlines())


def test_wrapping_breaks_at_words_and_chops_what_is_too_long() -> None:
    style = Style(width=40)
    assert wrap("one two three four five six seven eight", style, "  why: ", "    ") == [
        "  why: one two three four five six seven",
        "    eight",
    ]
    chopped = wrap("word " * 40, style, "- ", "  ", chop=True)
    assert len(chopped) == 2
    assert chopped[1].endswith(" ... (-v)")
    (whole,) = wrap("x" * 500, PIPE, "- ", "  ", chop=True)
    assert len(whole) == 407
    assert whole.endswith("... (-v)")


def test_evidence_and_places_are_not_left_out_silently() -> None:
    cause = CauseGroup(CauseId.CXX11_ABI_MISMATCH, Confidence.HIGH, "The cause.", tuple("abcde"), "Do it.", ("_Z1av",))
    places = tuple(Location(function=name, offset=16) for name in ("f", "g", "h"))
    finding = replace(samples.a_finding("const-data-ptr", symbol="_Z9otherv"), locations=places)
    file = samples.an_artifact(verdict=ArtifactVerdict.FAILS, causes=(cause,), findings=(finding,))
    brief = lines_of(file, style=Style(width=60))
    assert "    3 more facts (-v)" in brief
    assert "    at g (file offset 0x10) (1 more: -v)" in brief
    assert not any("more" in line for line in lines_of(file, style=Style(width=60, verbose=2)))


def test_a_dependent_failure_follows_its_reason() -> None:
    """neml2 3.1.0 on torch 2.15.0: `_aoti.so` needs `libneml2.so`, which has an undefined symbol."""
    why = "all its imports resolve on torch 2.15.0+cu132, but it needs libneml2.so, which does not load"
    derived = samples.an_artifact(
        "a/_aoti.so", verdict=ArtifactVerdict.FAILS, notes=("of another kind", why), failure_reasons=(why,)
    )
    found = lines_of(derived, replace(samples.failing(), path="b/libneml2.so", member=None))
    heads = [number for number, line in enumerate(found) if line.startswith("FAILS ")]
    assert [found[number].partition(":")[0] for number in heads] == ["FAILS b/libneml2.so", "FAILS a/_aoti.so"]
    assert found[heads[1] + 1] == f"  cause: {why}"
    assert sum(why in line for line in found) == 1
    assert "  note: of another kind" in found


def test_a_loader_error_is_printed_once_with_its_fix() -> None:
    refusal = replace(samples.a_finding("loader-refuses"), message="refused: libx.so: no", fix="do this")
    found = lines_of(samples.an_artifact(findings=(refusal,)))
    assert found[0] == f"FAILS {NAME}: refused: libx.so: no"
    assert found[1] == "  fix: do this"
    assert sum("refused" in line for line in found) == 1


def test_what_a_wheel_should_require_leads_its_members() -> None:
    wheel = "dist/a-1.0-cp311-cp311-linux_x86_64.whl"
    finding = replace(
        samples.a_finding("torch-requirement-too-wide", severity=Severity.WARNING),
        message="allows 2.15.0",
        fix="require `torch<2`",
    )
    members = tuple(
        replace(samples.an_artifact(wheel), member=f"a/m{number}.so", findings=(finding,) if number else ())
        for number in range(2)
    )
    container = Container(
        wheel, "wheel", "a", "1.0", (), (), (), ("torch",), ArtifactVerdict.LOADS, tuple(m.display for m in members)
    )
    for style in (PIPE, replace(PIPE, verbose=True)):
        found = text.render(replace(samples.a_report(*members), containers=(container,)), style).splitlines()
        assert found[1:3] == ["  warning[torch-requirement-too-wide]: allows 2.15.0", "    fix: require `torch<2`"]
        assert sum("allows 2.15.0" in line for line in found) == 1


def test_the_choice_of_the_torch_is_noted() -> None:
    """`merge` removes the note if no verdict used it."""
    target = replace(samples.TARGET, note="no torch here")
    judged = replace(samples.a_report(samples.an_artifact(verdict=ArtifactVerdict.LOADS)), torch_build=target)
    assert "note: no torch here" in text.render(judged, Style())
    assert "no torch here" not in text.render(judged, Style(quiet=True))


def test_what_a_wheel_of_one_file_should_require_is_behind_its_verdict() -> None:
    """However severe other findings of the file are, and whether or not it loads."""
    finding = replace(
        samples.a_finding("torch-requirement-too-wide", severity=Severity.WARNING),
        message="allows 2.15.0",
        fix="require `torch<2`",
    )
    graver = tuple(samples.a_finding(f"graver-{number}") for number in range(4))
    fails = replace(samples.failing(), findings=(*graver, finding))
    loads = samples.an_artifact("b.so", findings=(finding,))
    for found in (lines_of(fails), lines_of(fails, loads), lines_of(loads, loads)):
        heads = [number for number, line in enumerate(found) if line.startswith(("FAILS ", "loads "))]
        assert heads
        for head in heads:
            assert found[head + 1 : head + 3] == [
                "  warning[torch-requirement-too-wide]: allows 2.15.0",
                "    fix: require `torch<2`",
            ]
        assert sum("allows 2.15.0" in line for line in found) == len(heads)


def test_warnings_of_a_file_that_loads_say_how_they_are_shown() -> None:
    warning = samples.a_finding("layout-drift", severity=Severity.WARNING)
    one, two = (samples.an_artifact(path, findings=(warning,) * number) for number, path in ((1, "a.so"), (2, "b.so")))
    assert lines_of(one, two)[:2] == [
        "loads     a.so  (1 warning: layout-drift)",
        "loads     b.so  (2 warnings: layout-drift)",
    ]
