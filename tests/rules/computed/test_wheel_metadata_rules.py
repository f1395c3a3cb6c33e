"""Wheels and their members, as literal values. Expected values are from the PEPs that define tags, auditwheel's policy
for versions of libstdc++, and the package index for Pythons with torch wheels."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from abiscan.model.facts import VersionNeed
from abiscan.model.finding import Finding, Severity
from abiscan.model.loading import NeededLibrary
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Container
from abiscan.rules.computed.wheel_metadata_rules import findings_of_wheel
from abiscan.wheel.tags import fitting_platform
from tests.rules.computed.wheels import ALL, CP311, KNOWN, container, imported, member


def found(wheel: Container, *members: ArtifactReport) -> dict[str, tuple[str, Finding]]:
    return {f.rule: (m.member or "", f) for m, f in findings_of_wheel(wheel, members, lambda _machine: KNOWN)}


# --- tags -------------------------------------------------------------------------------------------------------


def test_a_wheel_that_keeps_its_word_is_silent() -> None:
    good = member("pkg/_C.cpython-311-x86_64-linux-gnu.so", imported("memcpy", "GLIBC_2.28"), torch_releases=ALL)
    assert found(container(CP311, "torch"), good) == {}
    pinned = member("pkg/_C.so", torch_releases=(("2.4.0", "2.4.1"),))
    assert found(container(CP311, "torch==2.4.0"), pinned) == {}
    assert found(container(CP311)) == {}


def test_a_newer_glibc_than_the_tag_promises_is_one_finding() -> None:
    wheel = container("py3-none-manylinux_2_24_x86_64")
    old = member("pkg/a.so", imported("memcpy", "GLIBC_2.24"))
    weak = member("pkg/b.so", imported("x", "GLIBC_2.35", weak=True))
    new = member("pkg/c.so", imported("dlsym", "GLIBC_2.34"))
    less = member("pkg/d.so", imported("fstat", "GLIBC_2.33"))
    assert found(wheel, old, weak) == {}
    ((identifier, (at, finding)),) = found(wheel, old, weak, less, new).items()
    assert identifier == "wheel-tag-too-old"
    assert at == "pkg/c.so"
    assert finding.severity is Severity.WARNING
    assert "GLIBC_2.34" in finding.message
    assert "pkg/d.so" in finding.message
    assert "pkg/b.so" not in finding.message
    assert "manylinux_2_34_x86_64" in finding.fix


def test_a_bundled_library_is_not_required_from_the_system() -> None:
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
        (["GLIBC_2.14", "GLIBCXX_3.4.30"], "manylinux_2_35_x86_64"),
        (["GLIBC_2.14", "GLIBCXX_3.4.99"], None),
        # Of glibc 2.36 (its NEWS), and auditwheel's first policy with it.
        (["GLIBC_2.14", "GLIBC_ABI_DT_RELR"], "manylinux_2_36_x86_64"),
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


@pytest.mark.parametrize(
    ("machine", "tag"),
    [("i386", "manylinux_2_17_i686"), ("arm", "manylinux_2_17_armv7l"), ("ppc64le", "manylinux_2_17_ppc64le")],
)
def test_the_machine_of_a_tag_is_spelled_as_installers_do(machine: str, tag: str) -> None:
    """packaging.tags: an i686 and an armv7l process accept these tags, and none for i386 or arm."""
    assert fitting_platform([VersionNeed("libc.so.6", "GLIBC_2.17", False)], machine) == tag


def test_members_of_another_c_library() -> None:
    """PEP 656: a musllinux wheel is for systems with musl alone, which has no symbol versions."""
    glibc = member("pkg/a.so", imported("memcpy", "GLIBC_2.14", "libc.so.6"))
    for tags in (("cp311-cp311-musllinux_1_2_x86_64",), (CP311, "cp311-cp311-musllinux_1_2_x86_64")):
        at, finding = found(replace(container(CP311), tags=tags), member("pkg/b.so"), glibc)["wheel-tag-other-machine"]
        assert (at, finding.severity) == ("pkg/a.so", Severity.WARNING)
        assert "pkg/a.so is built for glibc (GLIBC_2.14 of libc.so.6)" in finding.message
    assert found(container(CP311), glibc) == {}
    musl = replace(member("pkg/a.so"), needed=(NeededLibrary("libc.musl-x86_64.so.1", None),))
    assert (
        "built for another C library than glibc (libc.musl-x86_64.so.1)"
        in found(container(CP311), musl)["wheel-tag-other-machine"][1].message
    )
    # libgcc_s of Alpine on aarch64: __register_frame_info@@GLIBC_2.0 (readelf -V).
    gcc = imported("__register_frame_info", "GLIBC_2.0", "libgcc_s.so.1")
    assert found(container("cp311-cp311-musllinux_1_2_x86_64"), musl, replace(musl, imports=(gcc,))) == {}


def test_modules_of_another_python() -> None:
    """PEP 3149: CPython 3.11 imports `.cpython-311-*.so`, `.abi3.so` and `.so`, and no module named for 3.10."""
    wrong = member("pkg/_C.cpython-310-x86_64-linux-gnu.so")
    assert found(container(CP311), wrong)["wheel-tag-other-python"][1].severity is Severity.ERROR
    one = member("pkg/_C.cpython-39-x86_64-linux-gnu.so")
    abi3 = container("cp39-abi3-manylinux_2_28_x86_64")
    at, finding = found(abi3, member("pkg/_A.abi3.so"), one)["wheel-tag-other-python"]
    assert (at, finding.severity) == (one.member, Severity.WARNING)
    assert "only by CPython 3.9" in finding.message
    # torch.ops.load_library opens it by its path, in any Python (torchao 0.18.0).
    assert found(abi3, member("pkg/_C.cpython-310-x86_64-linux-gnu.so", is_module=False)) == {}
    # Builds for several Pythons.
    assert found(abi3, one, member("pkg/_C.cpython-310-x86_64-linux-gnu.so")) == {}


def test_names_beyond_the_stable_abi() -> None:
    """Misc/stable_abi.toml: PyErr_GetRaisedException was added in 3.12, PyList_New in 3.2, PyUnicode_AsUTF8 in 3.13."""
    late = imported("PyErr_GetRaisedException")
    abi3 = container("cp39-abi3-manylinux_2_28_x86_64")
    at, finding = found(abi3, member("pkg/_C.abi3.so", late, imported("PyList_New")))["wheel-tag-beyond-stable-abi"]
    assert at == "pkg/_C.abi3.so"
    assert finding.symbols == ("PyErr_GetRaisedException",)
    assert found(container("cp312-abi3-manylinux_2_28_x86_64"), member("pkg/_C.abi3.so", late)) == {}
    # `outside-limited-api` reports it for a module named abi3; for a plain one only this rule does.
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


def test_no_member_is_blamed_for_a_release_that_it_loads_on() -> None:
    """Each alone loads on some of them, and both only on 2.4."""
    old = member("pkg/old.so", torch_releases=(("1.13.0", "2.4.1"),))
    new = member("pkg/new.so", torch_releases=(("2.4.0", KNOWN[-1]),))
    _, finding = found(container(CP311, "torch"), old, new)["torch-requirement-too-wide"]
    assert "but at least one member does not load" in finding.message
    _, finding = found(container(CP311, "torch"), old)["torch-requirement-too-wide"]
    assert "but pkg/old.so does not load" in finding.message


def test_advice_does_not_pass_over_releases_with_another_layout() -> None:
    """`docs/explanation/layouts.md`: a warning if perhaps nothing reads the class, an error if all do."""
    narrow = member("pkg/_C.so", torch_releases=(("2.4.0", "2.6.0"),))
    warned = replace(narrow, drifting=(("2.5.1", Severity.WARNING), ("2.6.0", Severity.WARNING)))
    finding = requirement(container(CP311, "torch"), warned)[1]
    change = "may have changed on torch 2.5.1-2.6.0"
    assert f"load on torch 2.4.0-2.6.0, but the layout of a class {change}" in finding.message
    assert finding.fix == "Declare `torch>=2.4,<2.5.1`"
    everywhere = replace(warned, drifting=tuple((each, Severity.WARNING) for each in KNOWN))
    finding = requirement(container(CP311, "torch"), everywhere)[1]
    assert finding.fix == "Declare `torch>=2.4,<2.7` after a test: the layout of a class may have changed"
    barred = replace(narrow, drifting=(("2.6.0", Severity.ERROR),))
    finding = requirement(container(CP311, "torch"), barred)[1]
    assert "but the layout of a class changed on torch 2.6.0" in finding.message
    assert finding.fix == "Declare `torch>=2.4,<2.6`"
    missing = found(container(CP311), barred)["torch-requirement-missing"][1]
    assert missing.fix == "Declare `torch>=2.4,<2.6`"


def test_a_range_that_is_too_wide_by_another_layout_alone() -> None:
    """It loads on all allowed releases: an error of `layout-drift` is certain there, a warning is not."""
    good = member("pkg/_A.so", torch_releases=ALL)
    fits = member("pkg/_C.so", torch_releases=(("2.4.0", KNOWN[-1]),))
    error, warning = Severity.ERROR, Severity.WARNING
    late = tuple((release, error) for release in ("2.6.0", "2.7.0"))
    at, finding = requirement(container(CP311, "torch>=2.5,<2.7.1"), good, replace(fits, drifting=late))
    assert at == "pkg/_C.so"
    assert finding.severity is warning
    assert "but on torch 2.6.0-2.7.0 a class" in finding.message
    assert "headers has another layout (`layout-drift`)" in finding.message
    assert finding.fix == "Declare `torch>=2.5,<2.6`"
    # All allowed releases are wrong: the wheel works nowhere.
    _, finding = requirement(container(CP311, "torch>=2.6,<2.7.1"), replace(fits, drifting=late))
    assert finding.severity is error
    assert finding.fix == "Declare `torch>=2.7.1`"
    _, finding = requirement(container(CP311, "torch>=2.5,<2.6.1"), replace(fits, drifting=(("2.6.0", warning),)))
    assert finding.severity is Severity.NOTE
    assert "may have another layout" in finding.message
    assert finding.fix == "Declare `torch>=2.5,<2.6`"
    # Excluded releases, notes and alternative builds do not matter.
    assert found(container(CP311, "torch>=2.5,<2.6"), replace(fits, drifting=late)) == {}
    assert found(container(CP311, "torch>=2.5,<2.7.1"), replace(fits, drifting=(("2.6.0", Severity.NOTE),))) == {}


def test_a_requirement_of_an_extra_is_named() -> None:
    """The lines of deepmd-kit 3.2.0: an installer reads them for `deepmd-kit[torch]` only."""
    lines = ('torch; extra == "dpa-adapt"', 'torch==2.11.0.*; extra == "torch"')
    message = found(container(CP311, *lines), member("pkg/_C.so", torch_releases=ALL))["torch-requirement-missing"][
        1
    ].message
    assert message.startswith(
        "the wheel declares no torch requirement, except with an extra (`torch==2.11.0.*; extra =="
    )


def test_requirements_under_markers_count_where_they_hold() -> None:
    narrow = member("pkg/_C.so", torch_releases=(("2.4.0", "2.5.1"),))
    split = ('torch==2.4.0; python_version < "3.12"', 'torch>=2.5; python_version >= "3.12"')
    assert found(container(CP311, *split), narrow) == {}
    _, finding = requirement(container("cp312-cp312-manylinux_2_28_x86_64", *split), narrow)
    assert 'declares `torch>=2.5; python_version >= "3.12"`, but' in finding.message
    assert finding.fix == "Declare `torch>=2.5,<2.6`"
    _, finding = requirement(container("py3-none-manylinux_2_28_x86_64", *split), narrow)
    assert '`torch==2.4.0; python_version < "3.12"` and `torch>=2.5; python_version >= "3.12"`, ' in finding.message


def test_a_range_that_is_too_wide_names_the_right_one() -> None:
    narrow = member("pkg/_C.so", torch_releases=(("2.4.0", "2.5.1"),))
    at, finding = requirement(container(CP311, "torch"), member("pkg/_A.so", torch_releases=ALL), narrow)
    assert at == "pkg/_C.so"
    assert finding.severity is Severity.WARNING
    assert finding.fix == "Declare `torch>=2.4,<2.6`"
    assert "1.13.0-2.3.1 and 2.6.0-2.15.0" in finding.message
    # The author's own lower bound stays.
    assert requirement(container(CP311, "torch>=2.5"), narrow)[1].fix == "Declare `torch>=2.5,<2.6`"
    assert requirement(container(CP311, "torch==2.6.0"), narrow)[1].severity is Severity.ERROR
    assert requirement(container(CP311, "torch<2.6"), narrow)[1].fix == "Declare `torch>=2.4,<2.6`"
    assert found(container(CP311, "torch (>=2.4,<2.6)"), narrow) == {}
    assert found(container(CP311, "torch~=2.4.0; platform_system == 'Linux'"), narrow) == {}
    # An unknown release is no evidence.
    assert found(container(CP311, "torch==9.9"), narrow) == {}


def test_releases_without_wheels_for_the_tags_python_are_not_promised() -> None:
    """torch has wheels for CPython 3.12 since 2.2.0, for 3.13 since 2.5.0."""
    since = member("pkg/_C.so", torch_releases=(("2.2.0", KNOWN[-1]),))
    assert found(container("cp312-cp312-manylinux_2_28_x86_64", "torch"), since) == {}
    assert found(container("cp313-cp313-manylinux_2_28_x86_64", "torch"), since) == {}
    assert requirement(container(CP311, "torch"), since)[1].fix == "Declare `torch>=2.2`"
    assert requirement(container("py3-none-manylinux_2_28_x86_64", "torch"), since)[1].fix == "Declare `torch>=2.2`"


def test_builds_to_choose_from_promise_together() -> None:
    first, second = (
        member(f"pkg/_C_torch{n}.so", torch_releases=((f"2.{n[1]}.0", f"2.{n[1]}.1"),)) for n in ("24", "25")
    )
    assert found(container(CP311, "torch>=2.4,<2.6"), first, second) == {}
    finding = requirement(container(CP311, "torch"), first, second)[1]
    assert finding.severity is Severity.NOTE
    # Neither of the two loads on both releases.
    assert "but at least one module has no build that loads on torch 1.13.0-2.3.1 and 2.6.0-" in finding.message
    assert "its builds load on torch 2.4.0-2.5.1" in finding.message


def test_numbers_of_kernels_are_not_alternative_builds() -> None:
    """auto-gptq 0.7.1 has autogptq_cuda_256 and autogptq_cuda_64, kernels for two sizes, which are both loaded."""
    for numbers in (("64", "256"), ("120", "128")):
        files = [
            replace(each, provenance=replace(each.provenance, cuda="11"))
            for each in (member(f"x_cuda_{n}.so", torch_releases=(("2.2.0", "2.2.2"),)) for n in numbers)
        ]
        _, finding = requirement(container(CP311, "torch>=1.13"), *files)
        assert (finding.severity, finding.fix) == (Severity.WARNING, "Declare `torch>=2.2,<2.3`")
    # Builds for two CUDAs that load on one range are no alternatives either.
    same = (member(f"x_cuda{n}.so", torch_releases=(("2.2.0", "2.2.2"),)) for n in ("118", "121"))
    assert requirement(container(CP311, "torch>=1.13"), *same)[1].severity is Severity.WARNING


def test_releases_with_another_cuda_are_not_reported_as_loading() -> None:
    """All torch symbols are exported there, and no known build has the file's CUDA (`ReleaseState.OTHER_CUDA`)."""
    user = replace(member("pkg/_C.so", torch_releases=(("2.4.0", "2.5.1"),)), loads_on=())
    _at, finding = found(container(CP311, "numpy"), user)["torch-requirement-missing"]
    assert "symbols resolve on torch 2.4.0-2.5.1, but no known build of these loads every member" in finding.message
    assert finding.fix == "Declare the torch releases that it needs"
    _at, finding = found(container(CP311, "numpy"), replace(user, loads_on=("2.5.0", "2.5.1")))[
        "torch-requirement-missing"
    ]
    assert "all members load on torch 2.5.0-2.5.1" in finding.message
    assert finding.fix == "Declare `torch>=2.5,<2.6`"


def test_a_member_for_a_machine_without_torch_is_not_reported_as_loading() -> None:
    user = member("pkg/_C.so", torch_releases=(("2.4.0", "2.5.1"),))
    other = replace(user, member="pkg/_C_riscv.so", verdict=ArtifactVerdict.UNDECIDED, target=None)
    other = replace(other, provenance=replace(other.provenance, torch_releases=None))
    assert (
        "all checked members load on torch 2.4.0-2.5.1"
        in requirement(container(CP311, "torch"), user, other)[1].message
    )
    # Made for ROCm: its symbols were looked up.
    rocm = replace(user, verdict=ArtifactVerdict.UNDECIDED, target=None)
    assert "all members load on torch 2.4.0-2.5.1" in requirement(container(CP311, "torch"), rocm)[1].message


def test_a_wheel_that_requires_no_torch() -> None:
    user = member("pkg/_C.so", torch_releases=(("2.4.0", "2.5.1"),))
    for wheel in (
        container(CP311, "numpy"),
        container(CP311, "torch; extra == 'gpu'"),
        container(CP311, "torch-geometric"),
    ):
        _at, finding = found(wheel, user)["torch-requirement-missing"]
        assert finding.severity is Severity.NOTE
        assert finding.fix == "Declare `torch>=2.4,<2.6`"
    assert found(container(CP311, "numpy"), member("pkg/_C.so")) == {}
    nowhere = member("pkg/_C.so", torch_releases=())
    assert (
        found(container(CP311), nowhere)["torch-requirement-missing"][1].fix
        == "Declare the torch releases that it needs"
    )
    assert found(container(CP311, "torch"), nowhere) == {}
