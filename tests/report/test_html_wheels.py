"""The page for a run over several wheels: heat map, common compatibility, and earlier runs. Expected cells were derived
by hand from `samples.wheels`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from abiscan.compare.earlier_runs import read_earlier_runs, read_run
from abiscan.compare.run_summary import find_run_compatibility, summarise_run
from abiscan.errors import UsageError
from abiscan.model.cause import Confidence
from abiscan.model.device_code import DeviceCode, GpuImage
from abiscan.model.operators import Operator, Registration
from abiscan.model.provenance import Provenance, ProvenanceFact, Topic
from abiscan.model.release import ReleaseState
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Container, InputError, Report, Verdict
from abiscan.model.target import TargetEnvironment
from abiscan.report import html, json_report
from abiscan.report.html.commands import steps_of
from tests.report import samples
from tests.report.test_html import ELEMENTS, Elements
from tests.tables import table_rows


def page(report: Report) -> Elements:
    return Elements(html.render(report, find_run_compatibility(report)))


def text_of(found: Elements) -> str:
    return " ".join("".join(found.words).split())


def matrix(found: Elements) -> list[tuple[str, list[str]]]:
    """The rows of the heat map: whether it is below a wheel's, and the classes of its cells."""
    rows: list[tuple[str, list[str]]] = []
    for tag, attributes in found.found:
        classes = attributes.get("class") or ""
        if tag == "tr" and "data-r" in attributes:
            rows.append((classes, []))
        elif tag == "td" and classes.startswith("cell "):
            rows[-1][1].append(classes.removeprefix("cell c-"))
    return rows


def test_the_cells_of_wheels_and_of_their_files() -> None:
    """A wheel loads if all of its files do; its cell is that of the worst file; the range is the requirement's
    (`torch>=2.8,<2.9` allows 2.8.0 only), and 2.8.0 is the target."""
    rows = matrix(page(samples.wheels()))
    assert rows == [
        ("", ["fails minor", "loads minor range from to target", "other-layout minor"]),
        ("sub", ["fails minor", "loads minor target", "other-layout minor"]),
        # Two files with equal outcomes have one row.
        ("sub", ["loads minor", "loads minor target", "loads minor"]),
        ("", ["other-cuda minor", "fails minor range from target", "loads minor range to"]),
        ("sub", ["other-cuda minor", "fails minor target", "loads minor"]),
    ]


def test_the_page_on_each_wheel_and_on_all() -> None:
    words = text_of(page(samples.wheels()))
    assert "1 of 3 wheels fails on torch 2.8.0 (cu128)." in words
    # 2.8.0 is the only release for the first, 2.9.0 for the second.
    assert "No known release of torch loads all of them together." in words
    assert "alpha 1.0" in words
    assert "cp311 · loads on 2.8.0" in words
    assert "Requires-Dist allows torch 2.8.0-2.9.0" in words
    assert "admitted, and does not work there 2.8.0" in words
    assert "one.so and 1 more" in words
    assert "imports nothing of torch: gamma 3.0" in words
    assert "the file was built for a newer torch" in words


def test_the_common_releases_are_named() -> None:
    container, members = samples.a_wheel(
        "delta", "1.0", samples.an_artifact("", "d.so", releases=samples.on_builds(*[ReleaseState.LOADS] * 3))
    )
    report = samples.wheels()
    alone = replace(
        report,
        artifacts=tuple(a for a in report.artifacts if "beta" not in a.path) + members,
        containers=(report.containers[0], container),
    )
    # alpha's requirement allows 2.8.0, delta loads everywhere.
    assert "Together they load on torch 2.8.0." in text_of(page(alone))


def test_two_versions_of_one_project_have_no_common_releases() -> None:
    """They are never in one environment: no common releases."""
    one = samples.a_wheel(
        "p", "1.0", samples.an_artifact("", "p.so", releases=samples.on_builds(*[ReleaseState.LOADS] * 3))
    )
    two = samples.a_wheel(
        "p", "2.0", samples.an_artifact("", "p.so", releases=samples.on_builds(*[ReleaseState.LOADS] * 3))
    )
    report = replace(samples.a_report(*one[1], *two[1]), containers=(one[0], two[0]), verdict=Verdict.PASS)
    assert "ogether" not in text_of(page(report))


@pytest.mark.parametrize("state", list(ReleaseState))
def test_every_state_has_a_colour_a_sign_and_words(state: ReleaseState) -> None:
    report = samples.a_report(samples.an_artifact(releases=samples.on_builds(state, state, state)))
    text = html.render(report, find_run_compatibility(report))
    assert f'class="cell c-{state}' in text
    assert re.search(rf"^\.c-{state} {{ --field: var\(--[a-z-]+\); color: ", text, re.MULTILINE)
    signs = re.findall(r'^\.c-([a-z-]+)::before { content: "(.)"; }', text, re.MULTILINE)
    assert len({sign for _, sign in signs}) == len(signs) == 7
    assert f"<i>{state}</i>" in text


def test_what_could_not_be_read_leaves_a_wheel_undecided() -> None:
    """A member of the first wheel is broken: the wheel is undecided where the others load, and fails where one
    fails."""
    report = samples.wheels()
    path = report.containers[0].path
    broken = replace(report, errors=(InputError(f"{path}!alpha/broken.so", "it ends after 3 bytes"),))
    first = matrix(page(broken))[0][1]
    assert [cell.split()[0] for cell in first] == ["fails", "undecided", "other-layout"]


def test_a_wheel_without_a_known_build_of_its_kind_is_not_checked() -> None:
    """`FileTarget.has_no_known_build`: builds for other accelerators say nothing of it."""
    container, members = samples.a_wheel(
        "torchcodec-xpu", "1.0", samples.an_artifact("", "a.so", verdict=ArtifactVerdict.UNDECIDED)
    )
    loads = samples.on_builds(*[ReleaseState.LOADS] * 3)
    known = samples.a_wheel("b", "1.0", samples.an_artifact("", "b.so", releases=loads))
    report = replace(samples.a_report(*members, *known[1]), containers=(container, known[0]))
    rows = matrix(page(report))
    assert {cell.split()[0] for name, cells in rows for cell in cells} == {"loads", "unknown"}
    assert sum("not checked" in text for text in text_of(page(report)).splitlines()) >= 1


def test_an_unknown_torch_build_has_its_own_column() -> None:
    """The release 2.8.0 of PyPI loads it; the target is the installed CPU build of 2.8.0, which does not."""
    here = replace(samples.RELEASE, variant="cpu")
    file = samples.an_artifact(
        "",
        "a.so",
        releases=samples.on_builds(*[ReleaseState.LOADS] * 3),
        target=TargetEnvironment(torch_build=here),
        verdict=ArtifactVerdict.FAILS,
    )
    container, members = samples.a_wheel("a", "1.0", file)
    report = replace(samples.a_report(*members), containers=(container,), torch_build=here)
    found = page(report)
    assert found.data["columns"] == ["2.7.1+cu128", "2.8.0+cu128", "2.8.0+cpu", "2.9.0+cu128"]
    assert next(cells for _, cells in matrix(found)) == ["loads minor", "loads minor", "fails target", "loads minor"]


def test_wheels_for_several_platforms_share_a_column_for_each_release() -> None:
    """No file is checked against two builds of a release. Where they load on other releases the rows say so."""

    def wheel(machine: str, variant: str, *states: ReleaseState) -> tuple[Container, ArtifactReport]:
        verdicts = [replace(each, variant=variant) for each in samples.on_builds(*states)]
        file = samples.an_artifact(
            f"dist/a-{machine}.whl",
            "a/_C.so",
            machine=machine,
            releases=tuple(verdicts),
            loads_on=tuple(each.torch for each in verdicts if each.loads),
        )
        container, (member,) = samples.a_wheel("a", "1.0", file)
        path = f"dist/a-{machine}.whl"
        member = replace(member, path=path)
        return replace(container, path=path, artifacts=(member.display,)), member

    loads, fails = ReleaseState.LOADS, ReleaseState.FAILS
    wheels = [wheel("x86_64", "cu128", loads, loads, fails), wheel("win_amd64", "cpu", fails, loads, fails)]
    report = samples.a_report(*(file for _, file in wheels))
    found = page(replace(report, containers=tuple(container for container, _ in wheels)))
    assert found.data["columns"] == ["2.7.1", "2.8.0", "2.9.0"]
    wheel_rows = [[cell.split()[0] for cell in cells] for kind, cells in matrix(found) if kind != "sub"]
    assert sorted(wheel_rows) == [["fails", "loads", "fails"], ["loads", "loads", "fails"]]
    assert text_of(found).count("differs by platform") == 2


def test_nothing_is_red_on_a_pass_and_what_is_noted_comes_last() -> None:
    file = samples.an_artifact(
        findings=(samples.a_finding("unstable-abi", None, severity=samples.Severity.NOTE),),
        imports=(samples.an_import(samples.TENSOR_PTR),),
        causes=samples.failing().causes,
    )
    text = html.render(replace(samples.a_report(file), verdict=Verdict.PASS))
    body = text[text.index("<body") :]
    assert 'class="card find red' not in body
    assert "s-error" not in body
    headings = re.findall(r'<h2 id="([a-z]+)"', body)
    assert headings[-1] == "noted"
    assert "causes" not in headings
    failed = html.render(replace(samples.a_report(samples.failing()), verdict=Verdict.FAIL))
    assert re.findall(r'<h2 id="([a-z]+)"', failed)[:2] == ["releases", "causes"]


@table_rows
def test_a_command_is_taken_out_of_its_prose(line: str, text: str, commands: list[str], remark: str) -> None:
    (step,) = steps_of(line)
    assert (step.text, list(step.commands), step.remark) == (text, commands, remark)


def test_each_copy_button_has_one_command() -> None:
    text = html.render(samples.wheels())
    copied = re.findall(r"<code>([^<]*)</code></pre><button[^>]*data-copy", text)
    assert set(copied) == {"pip install &#34;torch&gt;=2.9&#34;"}


def test_how_a_file_was_made_its_images_and_its_operators() -> None:
    made = Provenance(
        facts=(ProvenanceFact(Topic.COMPILER, "GCC 13.2.1", ".comment", Confidence.MEDIUM),),
        gpu_images=(
            GpuImage("sm_90a", DeviceCode.MACHINE_CODE, 3, 2),
            GpuImage("compute_90", DeviceCode.PTX, 1, 0, ptx_version="8.4"),
        ),
    )
    operators = (
        Operator("ns::f", Registration.TORCH_LIBRARY, schema="ns::f(Tensor x)   ->\n Tensor"),
        Operator("ns::g", Registration.STABLE_TORCH_LIBRARY),
    )
    ((how, gpu, listed),) = page(samples.a_report(samples.an_artifact(provenance=made, operators=operators))).data[
        "lists"
    ]
    assert how == ["How it was made: 1 fact", "", [["compiler", "GCC 13.2.1", ".comment (medium confidence)"]]]
    assert gpu[0] == "GPU code: 2 kinds of images"
    assert gpu[2] == [
        ["sm_90a", "machine-code", "3 images, 2 compressed"],
        ["compute_90", "ptx", "1 image, PTX ISA 8.4"],
    ]
    assert listed[0] == "2 operators"
    assert listed[2] == [
        ["", "ns::f(Tensor x) -> Tensor", "torch-library"],
        ["", "ns::g (schema not found)", "stable-torch-library"],
    ]


def test_hostile_names_of_wheels_facts_and_operators_stay_text() -> None:
    each = []
    for name in samples.HOSTILE:
        fact = ProvenanceFact(Topic.COMPILER, name, name)
        file = samples.an_artifact(
            "",
            f"{name}.so",
            releases=samples.on_builds(*[ReleaseState.FAILS] * 3),
            provenance=Provenance(
                facts=(fact,), gpu_images=(GpuImage(name, DeviceCode.PTX, 1, ptx_version=name),), gpu_not_read=name
            ),
            operators=(Operator(name, Registration.LEGACY, schema=name),),
        )
        container, members = samples.a_wheel(name.replace("/", ""), "1", file, requires=(name, f"torch{name}"))
        each.append((replace(container, tags=(name,), metadata_tags=(name,), requires_python=name), members))
    report = samples.a_report(*(member for _, members in each for member in members))
    report = replace(report, containers=tuple(container for container, _ in each))
    together = find_run_compatibility(report)
    runs = [summarise_run(report, together, name) for name in samples.HOSTILE[:3]]
    text = html.render(report, together, runs)
    found = Elements(text)
    assert {tag for tag, _ in found.found} <= ELEMENTS
    assert len(found.scripts) == 2
    assert re.fullmatch(r"[A-Za-z0-9+/]*=*", found.scripts[0])
    assert not [a for _, attributes in found.found for a in attributes if a.startswith("on") or a == "style"]
    # Every plain id in a link belongs to one element, so no name can replace it.
    ids = [attributes["id"] for _, attributes in found.found if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_thirty_wheels_make_a_page_of_less_than_a_megabyte() -> None:
    report = samples.many_wheels(30, files=7, imports=200)
    text = html.render(report, find_run_compatibility(report))
    assert len(text.encode()) < 1_000_000
    # 42,000 imports, with each name once.
    names = [mangled for mangled, _ in Elements(text).data["symbols"]]
    assert names.count("_ZN2at6native5op0001ERKNS_6TensorE") == 1


# --- earlier runs -----------------------------------------------------------------------------------------------


def test_a_report_is_the_same_after_reading_it_back() -> None:
    report = samples.wheels()
    read = read_run(json_report.render(report).encode(), "1")
    assert read == summarise_run(report, find_run_compatibility(report), "1")
    assert [(w.name, w.version, w.verdict.value, w.errors, w.notes) for w in read.wheels] == [
        ("alpha", "1.0", "loads", 0, 0),
        ("beta", "2.0", "fails", 1, 1),
        ("gamma", "3.0", "not-torch", 0, 0),
    ]


def test_the_runs_of_a_directory_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    text = json_report.render(samples.wheels())
    for name in ("run-10.json", "run-9.json", "notes.txt"):
        (tmp_path / name).write_text(text)
    assert [run.label for run in read_earlier_runs(str(tmp_path))] == ["run-9", "run-10"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b'{"schema_version": 2}',
        b"[" * 200_000,
        b'{"schema_version": 1, "verdict": "pass", "artifacts": []}',
        b'{"schema_version": 2, "verdict": "pass", "artifacts": [{"path": 3, "verdict": "loads"}]}',
        b'{"schema_version": 2, "verdict": "pass", "artifacts": [], "x": ' + b"[" * 200_000 + b"}",
    ],
    ids=["empty", "no-utf-8", "list", "bare", "deep", "other-version", "type", "deep-inside"],
)
def test_an_invalid_report_is_a_usage_error_of_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(UsageError, match=r"a\.json: not a JSON report of abiscan: ") as error:
        read_earlier_runs(str(tmp_path))
    assert "\n" not in str(error.value)


def test_releases_and_findings_run_by_run() -> None:
    """beta loads on 2.9.0 in the earlier run and everywhere now: one rectangle, then three; one error, then none."""
    report = samples.wheels()
    then = read_run(json_report.render(report).encode(), "2026-01")
    fixed = replace(
        report,
        artifacts=tuple(
            replace(
                a, releases=samples.on_builds(*[ReleaseState.LOADS] * 3), findings=(), verdict=ArtifactVerdict.LOADS
            )
            for a in report.artifacts
        ),
        verdict=Verdict.PASS,
    )
    together = find_run_compatibility(fixed)
    text = html.render(fixed, together, [then, summarise_run(fixed, together, "now")])
    (beta,) = re.findall(r"<figcaption><b>beta</b>.*?</figure>", text, re.DOTALL)
    assert beta.count('<rect class="window"') == 4
    assert beta.count('<rect class="error"') == 1
    assert "loads on 2.7.1-2.9.0; 2.9.0 in the run before" in beta
    assert ">2026-01</th>" in beta
    assert 'id="trends"' in text
    assert 'id="trends"' not in html.render(fixed, together)


def test_a_run_without_the_releases_is_not_shown_as_one_that_loads_nowhere() -> None:
    report = samples.wheels()
    together = find_run_compatibility(report)
    bare = replace(report, artifacts=tuple(replace(a, releases=None) for a in report.artifacts))
    then = read_run(json_report.render(bare).encode(), "2026-01")
    now = summarise_run(report, together, "now")
    text = html.render(report, together, [then, now])
    (beta,) = re.findall(r"<figcaption><b>beta</b>.*?</figure>", text, re.DOTALL)
    assert beta.count('<rect class="unchecked"') == 1
    assert "1 of 2 runs not checked against the releases: 2026-01" in beta
    assert "in the run before" not in beta
    assert "the report of the run was written without <code>--matrix</code>" in text
    assert 'class="unchecked"' not in html.render(report, together, [now, now])


def test_a_wheel_that_fails_without_an_error_of_a_rule_is_counted() -> None:
    """A build for another CUDA has no rule: the file fails, and its only finding is a warning."""
    warned = samples.an_artifact(
        "", "d.so", verdict=ArtifactVerdict.FAILS, findings=(samples.a_finding(severity=samples.Severity.WARNING),)
    )
    container, members = samples.a_wheel("delta", "1.0", warned)
    report = samples.wheels()
    more = replace(report, artifacts=report.artifacts + members, containers=(*report.containers, container))
    assert "2 of 4 wheels fail on torch 2.8.0" in text_of(page(more))
