"""Wheels against their members, typed in. Expected values are those of the PEPs that define tags, of auditwheel's
policy for the versions of libstdc++, and of the package index for which torch has wheels for which Python."""

from __future__ import annotations

import json

import pytest

from abiscan.model.binding import (
    BoundImport,
    DemangledBy,
    Owner,
    Status,
)
from abiscan.model.facts import (
    Import,
    SymbolBinding,
    SymbolType,
    VersionNeed,
    Visibility,
)
from abiscan.model.finding import Finding, Severity
from abiscan.model.provenance import Provenance
from abiscan.model.report import (
    ArtifactKind,
    ArtifactReport,
    ArtifactVerdict,
    Container,
    Report,
)
from abiscan.model.versions import Windows
from abiscan.releases import open_index
from abiscan.report import json_v1, text
from abiscan.rules.computed.wheel_promises import container_of, findings_of_wheel, with_containers
from abiscan.wheel.metadata import ContainerFacts, ContainerKind
from abiscan.wheel.tags import fitting_platform

KNOWN = tuple(dict.fromkeys(build.torch for build in open_index().builds("x86_64")))
WHEEL = "dist/pkg-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"
ALL: Windows = ((KNOWN[0], KNOWN[-1]),)


def imported(name: str, version: str | None = None, library: str = "libc.so.6", weak: bool = False) -> BoundImport:
    need = VersionNeed(library, version, weak) if version is not None else None
    symbol = Import(name, SymbolBinding.GLOBAL, SymbolType.FUNC, Visibility.DEFAULT, need, True, 1)
    owner = Owner.PYTHON if name.startswith(("Py", "_Py")) else Owner.LIBC
    return BoundImport(symbol, None, DemangledBy.NONE, owner, Status.RESOLVED, None)


def member(
    name: str,
    *imports: BoundImport,
    window: Windows | None = None,
    machine: str = "x86_64",
    verdict: ArtifactVerdict = ArtifactVerdict.LOADS,
    path: str = WHEEL,
) -> ArtifactReport:
    return ArtifactReport(
        path,
        name,
        ArtifactKind.SHARED_OBJECT,
        1,
        machine,
        verdict,
        imports=imports,
        provenance=Provenance(torch_window=window),
    )


def container(tag: str, *requires: str, metadata: tuple[str, ...] | None = None) -> Container:
    pythons, rest = tag.split("-", 1)
    tags = tuple(f"{python}-{rest}" for python in pythons.split("."))
    facts = ContainerFacts(
        WHEEL, ContainerKind.WHEEL, "pkg", "1.0", tags, tags if metadata is None else metadata, requires_dist=requires
    )
    made = container_of(facts, ())
    assert made is not None
    return made


def found(wheel: Container, *members: ArtifactReport) -> dict[str, tuple[str, Finding]]:
    return {f.rule: (m.member or "", f) for m, f in findings_of_wheel(wheel, members, lambda _machine: KNOWN)}


CP311 = "cp311-cp311-manylinux_2_28_x86_64"


# --- tags -------------------------------------------------------------------------------------------------------


def test_a_wheel_that_keeps_its_word_is_silent() -> None:
    good = member("pkg/_C.cpython-311-x86_64-linux-gnu.so", imported("memcpy", "GLIBC_2.28"), window=ALL)
    assert found(container(CP311, "torch"), good) == {}
    pinned = member("pkg/_C.so", window=(("2.4.0", "2.4.1"),))
    assert found(container(CP311, "torch==2.4.0"), pinned) == {}
    assert found(container(CP311)) == {}


def test_a_newer_glibc_than_the_tag_promises_is_told_once() -> None:
    wheel = container("py3-none-manylinux_2_24_x86_64")
    old = member("pkg/a.so", imported("memcpy", "GLIBC_2.24"))
    weak = member("pkg/b.so", imported("x", "GLIBC_2.35", weak=True))
    new = member("pkg/c.so", imported("dlsym", "GLIBC_2.34"))
    less = member("pkg/d.so", imported("fstat", "GLIBC_2.33"))
    assert found(wheel, old, weak) == {}
    told = found(wheel, old, weak, less, new)
    assert list(told) == ["wheel-tag-too-old"]
    at, finding = told["wheel-tag-too-old"]
    assert at == "pkg/c.so"
    assert finding.severity is Severity.WARNING
    assert "GLIBC_2.34" in finding.message
    assert "pkg/d.so" in finding.message
    assert "pkg/b.so" not in finding.message
    assert "manylinux_2_34_x86_64" in finding.fix


def test_a_library_that_the_wheel_brings_is_not_asked_of_the_system() -> None:
    user = member("pkg/_C.so", imported("_Znwm", "GLIBCXX_3.4.30", "libstdc++-12345678.so.6"))
    bundled = member("pkg.libs/libstdc++-12345678.so.6")
    assert "wheel-tag-too-old" in found(container("py3-none-manylinux2014_x86_64"), user)
    assert found(container("py3-none-manylinux2014_x86_64"), user, bundled) == {}


@pytest.mark.parametrize(
    ("needs", "tag"),
    [
        (["GLIBC_2.14"], "manylinux_2_17_x86_64"),
        (["GLIBC_2.34"], "manylinux_2_34_x86_64"),
        (["GLIBC_2.14", "GLIBCXX_3.4.21"], "manylinux_2_24_x86_64"),  # auditwheel: 2_17 ends at 3.4.19, 2_24 at 3.4.22
        (["GLIBC_2.14", "GLIBCXX_3.4.30"], None),
    ],
)
def test_the_tag_that_would_fit(needs: list[str], tag: str | None) -> None:
    assert fitting_platform([VersionNeed("libc.so.6", need, False) for need in needs], "x86_64") == tag


def test_members_of_another_machine() -> None:
    here, other = member("pkg/a.so"), member("pkg/b.so", machine="aarch64")
    at, finding = found(container(CP311), here, other)["wheel-tag-other-machine"]
    assert (at, finding.severity) == ("pkg/b.so", Severity.WARNING)
    assert found(container(CP311), other)["wheel-tag-other-machine"][1].severity is Severity.ERROR
    assert found(container("py3-none-any"), here)["wheel-tag-other-machine"][1].severity is Severity.WARNING


def test_modules_of_another_python() -> None:
    """PEP 3149: CPython 3.11 imports `.cpython-311-*.so`, `.abi3.so` and `.so`, and no module named for 3.10."""
    wrong = member("pkg/_C.cpython-310-x86_64-linux-gnu.so")
    assert found(container(CP311), wrong)["wheel-tag-other-python"][1].severity is Severity.ERROR
    one = member("pkg/_C.cpython-39-x86_64-linux-gnu.so")
    abi3 = container("cp39-abi3-manylinux_2_28_x86_64")
    at, finding = found(abi3, member("pkg/_A.abi3.so"), one)["wheel-tag-other-python"]
    assert (at, finding.severity) == (one.member, Severity.WARNING)
    assert "CPython 3.9 alone" in finding.message
    # One build for each of several Pythons serves them.
    assert found(abi3, one, member("pkg/_C.cpython-310-x86_64-linux-gnu.so")) == {}


def test_names_beyond_the_stable_abi() -> None:
    """Misc/stable_abi.toml: PyErr_GetRaisedException joined in 3.12, PyList_New in 3.2, PyUnicode_AsUTF8 is not in it
    before 3.13."""
    late = imported("PyErr_GetRaisedException")
    abi3 = container("cp39-abi3-manylinux_2_28_x86_64")
    at, finding = found(abi3, member("pkg/_C.abi3.so", late, imported("PyList_New")))["wheel-tag-beyond-stable-abi"]
    assert at == "pkg/_C.abi3.so"
    assert finding.symbols == ("PyErr_GetRaisedException",)
    assert found(container("cp312-abi3-manylinux_2_28_x86_64"), member("pkg/_C.abi3.so", late)) == {}
    # `outside-limited-api` says it of a module that is called abi3; of a plain one nobody else does.
    outside = imported("_PyObject_GetMethod")
    assert found(abi3, member("pkg/_C.abi3.so", outside)) == {}
    assert "wheel-tag-beyond-stable-abi" in found(abi3, member("pkg/_C.so", outside))
    assert found(container(CP311), member("pkg/_C.so", outside)) == {}


def test_tags_of_the_file_name_and_of_the_wheel_file() -> None:
    so = member("pkg/a.so")
    other = container("py3-none-manylinux_2_28_x86_64", metadata=("cp38-cp38-linux_x86_64",))
    assert found(other, so)["wheel-tags-differ"][1].severity is Severity.WARNING
    renamed = container(CP311, metadata=("cp311-cp311-linux_x86_64",))
    assert found(renamed, so)["wheel-tags-differ"][1].severity is Severity.NOTE
    assert (
        found(container("py2.py3-none-manylinux_2_28_x86_64", metadata=("py2.py3-none-manylinux_2_28_x86_64",)), so)
        == {}
    )


# --- torch ------------------------------------------------------------------------------------------------------


def requirement(wheel: Container, *members: ArtifactReport) -> tuple[str, Finding]:
    return found(wheel, *members)["torch-requirement-too-wide"]


def test_a_range_that_is_too_wide_names_the_right_one() -> None:
    narrow = member("pkg/_C.so", window=(("2.4.0", "2.5.1"),))
    at, finding = requirement(container(CP311, "torch"), member("pkg/_A.so", window=ALL), narrow)
    assert at == "pkg/_C.so"
    assert finding.severity is Severity.WARNING
    assert finding.fix == "require `torch>=2.4,<2.6`"
    assert "1.13.0 - 2.3.1 and 2.6.0 - 2.15.0" in finding.message
    # The author's own lower bound stays.
    assert requirement(container(CP311, "torch>=2.5"), narrow)[1].fix == "require `torch>=2.5,<2.6`"
    assert requirement(container(CP311, "torch==2.6.0"), narrow)[1].severity is Severity.ERROR
    assert requirement(container(CP311, "torch<2.6"), narrow)[1].fix == "require `torch>=2.4,<2.6`"
    assert found(container(CP311, "torch (>=2.4,<2.6)"), narrow) == {}
    assert found(container(CP311, "torch~=2.4.0; platform_system == 'Linux'"), narrow) == {}
    # A release that nobody has read says nothing.
    assert found(container(CP311, "torch==9.9"), narrow) == {}


def test_releases_without_wheels_for_the_tags_python_are_not_promised() -> None:
    """torch has wheels for CPython 3.12 from 2.2.0 on, for 3.13 from 2.5.0 on."""
    since = member("pkg/_C.so", window=(("2.2.0", KNOWN[-1]),))
    assert found(container("cp312-cp312-manylinux_2_28_x86_64", "torch"), since) == {}
    assert found(container("cp313-cp313-manylinux_2_28_x86_64", "torch"), since) == {}
    assert requirement(container(CP311, "torch"), since)[1].fix == "require `torch>=2.2`"
    assert requirement(container("py3-none-manylinux_2_28_x86_64", "torch"), since)[1].fix == "require `torch>=2.2`"


def test_builds_to_choose_from_promise_together() -> None:
    first, second = (member(f"pkg/_C_torch{n}.so", window=((f"2.{n[1]}.0", f"2.{n[1]}.1"),)) for n in ("24", "25"))
    assert found(container(CP311, "torch>=2.4,<2.6"), first, second) == {}
    assert requirement(container(CP311, "torch"), first, second)[1].severity is Severity.NOTE


def test_a_wheel_that_requires_no_torch() -> None:
    user = member("pkg/_C.so", window=(("2.4.0", "2.5.1"),))
    for wheel in (
        container(CP311, "numpy"),
        container(CP311, "torch; extra == 'gpu'"),
        container(CP311, "torch-geometric"),
    ):
        _at, finding = found(wheel, user)["torch-requirement-missing"]
        assert finding.severity is Severity.NOTE
        assert finding.fix == "declare `torch>=2.4,<2.6`"
    assert found(container(CP311, "numpy"), member("pkg/_C.so")) == {}
    nowhere = member("pkg/_C.so", window=())
    assert found(container(CP311), nowhere)["torch-requirement-missing"][1].fix == "declare which torch it needs"
    assert found(container(CP311, "torch"), nowhere) == {}


# --- the report -------------------------------------------------------------------------------------------------


def whole(*members: ArtifactReport) -> Report:
    wheel = container(CP311, "torch==2.4.0")
    wheel = container_of(
        ContainerFacts(WHEEL, ContainerKind.WHEEL, "pkg", "1.0", wheel.tags, wheel.tags, ("torch==2.4.0",)),
        [m.display for m in members] + [f"{WHEEL}!gone.so"],
    )  # type: ignore[assignment]
    return with_containers(Report("0", None, members, (), (), containers=(wheel,)), lambda _machine: KNOWN)


def test_verdicts_roll_up() -> None:
    fails = member("pkg/b.so", verdict=ArtifactVerdict.FAILS)
    others = [member("pkg/a.so"), member("pkg/c.so", verdict=ArtifactVerdict.UNDECIDED)]
    assert whole(fails, *others).containers[0].verdict is ArtifactVerdict.FAILS
    assert whole(*others).containers[0].verdict is ArtifactVerdict.UNDECIDED
    assert whole(others[0]).containers[0].verdict is ArtifactVerdict.LOADS
    assert whole(others[0]).containers[0].artifacts == (f"{WHEEL}!pkg/a.so",)
    report = whole(fails, *others)
    assert (
        f"{WHEEL}: 1 of 3 shared objects fails, 1 cannot be decided (torch==2.4.0)"
        in text.render(report, text.Style(width=None)).splitlines()
    )
    (entry,) = json.loads(json_v1.render(report))["containers"]
    assert (entry["verdict"], entry["requires_torch"], len(entry["artifacts"])) == ("fails", ["torch==2.4.0"], 3)


def test_a_finding_of_a_wheel_keeps_its_fingerprint_at_another_member() -> None:
    prints = set()
    for name in ("pkg/a.so", "pkg/z.so"):
        report = whole(member(name, window=(("2.6.0", "2.6.0"),)))
        ((finding,),) = [artifact.findings for artifact in report.artifacts]
        assert finding.rule == "torch-requirement-too-wide"
        prints.add(finding.fingerprint)
    assert len(prints) == 1
