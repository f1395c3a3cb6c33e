"""Changes that `diff` reports for one file, from literal values."""

from __future__ import annotations

from msgspec.structs import replace

from abiscan.compare.file_changes import compare_files
from abiscan.model.cause import Confidence
from abiscan.model.compatibility import Aspect
from abiscan.model.facts import Export, SymbolBinding, SymbolType, Visibility
from abiscan.model.loading import NeededLibrary
from abiscan.model.operators import Operator, Registration
from abiscan.model.provenance import Provenance, ProvenanceFact, Topic
from abiscan.model.release import ReleaseState, ReleaseVerdict
from abiscan.model.report import ArtifactReport
from tests.compare.typed import report
from tests.report.samples import an_import


def on(**drift: tuple[str, ...]) -> ArtifactReport:
    """`on(v2_4=("c10::X",))`: a file that resolves on 2.4, with another layout of c10::X."""
    releases = tuple(
        ReleaseVerdict(
            f"{name}-x86_64",
            f"{name[1:].replace('_', '.')}.0",
            "cu121",
            True,
            ReleaseState.OTHER_LAYOUT if records else ReleaseState.LOADS,
            (),
            records,
            "",
        )
        for name, records in drift.items()
    )
    return replace(report("x.so"), releases=releases)


def told(old: ArtifactReport, new: ArtifactReport) -> list[str]:
    return [c.text for c in compare_files("x.so", old, new, str) if c.aspect is Aspect.LAYOUT]


def test_one_line_per_changed_layout() -> None:
    old = on(v2_4=("c10::A", "c10::B", "c10::D"), v2_5=())
    new = on(v2_4=("c10::B",), v2_5=("c10::B", "c10::C"))
    assert told(old, new) == [
        "layout of c10::A matches again; differed on torch 2.4.0",
        "layout of c10::B differs from the one compiled in on torch 2.4.0-2.5.0; before: torch 2.4.0",
        "layout of c10::C differs from the one compiled in on torch 2.5.0",
        "layout of c10::D matches again; differed on torch 2.4.0",
    ]
    assert told(old, old) == []
    # On a release with unresolved symbols, nothing fits.
    assert told(old, on(v2_5=())) == []


def needing(*sonames: str) -> ArtifactReport:
    return replace(report("x.so"), needed=tuple(NeededLibrary(soname, None) for soname in sonames))


def test_a_library_from_nowhere_is_a_regression() -> None:
    """Like torchdata 0.8.0, which needs OpenSSL 3. libz is on every system of a tag, CUDA has a line of its own."""
    old = needing("libdl.so.2")
    new = needing("libssl.so.3", "libz.so.1", "libcudart.so.12", "libjpeg-944920e9.so.8", "libc10.so", "libm.so.6")
    told = list(compare_files("x.so", old, new, str, {"libjpeg-944920e9.so.8"}))
    assert [(c.aspect, c.regresses, c.added) for c in told] == [
        (Aspect.SYSTEM, True, ("libssl.so.3",)),
        (Aspect.LIBRARY, False, ("libc10.so", "libcudart.so.12", "libjpeg.so.8", "libm.so.6", "libz.so.1")),
    ]
    # For single files, libraries in their directory are unknown.
    assert not any(c.regresses for c in compare_files("x.so", old, new, str))


def registering(**confidences: Confidence) -> ArtifactReport:
    operators = tuple(
        Operator(f"ns::{name}", Registration.TORCH_LIBRARY, "", "schema" if sure is Confidence.HIGH else None, sure)
        for name, sure in confidences.items()
    )
    return replace(report("x.so"), operators=operators)


def test_an_operator_with_a_split_text_is_unchanged() -> None:
    """Like torchaudio 2.8.0 and 2.9.1, which both register _lfilter_core_loop."""
    whole, part = Confidence.HIGH, Confidence.MEDIUM
    old = registering(lfilter=whole, gone=whole, kept=part, torn_in_two_parts_here=Confidence.LOW)
    new = registering(lfilter=part, kept=whole, torn_in_two_parts=whole, come=whole, perhaps=part)
    assert [c.text for c in compare_files("x.so", old, new, str)] == [
        "no longer registers ns::gone",
        "now registers ns::come",
    ]


def made(built_for: str, *facts: ProvenanceFact) -> ArtifactReport:
    return replace(on(v2_4=()), provenance=Provenance(built_for=built_for, facts=facts))


def test_provenance_is_not_reported_twice() -> None:
    library = ProvenanceFact(Topic.CXX_LIBRARY, "libstdc++", "libstdc++.so.6")
    inline = ProvenanceFact(Topic.CXX_LIBRARY, "libc++", "_ZNSt3__14coutE")
    old = replace(made("2.4"), needed=())
    new = replace(made("2.5", library, inline), needed=(NeededLibrary("libstdc++.so.6", None),))
    assert [c.text for c in compare_files("x.so", old, new, str)] == [
        "now also needs libstdc++.so.6",
        "C++ library: libc++; was unknown",
        "made for torch: 2.5; was 2.4",
    ]
    elsewhere = replace(new, releases=on(v2_5=()).releases)
    assert not any("made for" in c.text for c in compare_files("x.so", old, elsewhere, str))


def test_many_vtables_have_one_line() -> None:
    def exporting(count: int, size: int) -> ArtifactReport:
        names = [f"_ZTV1{chr(ord('A') + number)}" for number in range(count)]
        how = (SymbolBinding.WEAK, SymbolType.OBJECT, Visibility.DEFAULT, 0, size, None, False)
        exports = tuple(Export(name, *how) for name in names)
        return replace(report("x.so"), exports=exports)

    assert told(exporting(1, 64), exporting(1, 72)) == ["the _ZTV1A is 72 bytes; was 64: rebuild what derives from it"]
    assert len(told(exporting(3, 64), exporting(3, 72))) == 3
    assert told(exporting(4, 64), exporting(4, 72)) == [
        "4 vtables changed size, for example the _ZTV1A: rebuild what derives from them"
    ]
    assert told(exporting(4, 64), exporting(4, 64)) == []


def test_names_are_counted_among_those_before() -> None:
    """Three of four are removed, one stays, two are added."""

    def importing(*names: str) -> ArtifactReport:
        return replace(report("x.so"), imports=tuple(an_import(name) for name in names))

    old, new = importing("a", "b", "c", "d"), importing("d", "e", "f")
    texts = [c.text for c in compare_files("x.so", old, new, str)]
    assert texts == ["imports of torch: 2 added, 3 removed (of 4 before)"]


def test_another_schema_is_a_change_and_other_spaces_are_none() -> None:
    """Like `_lfilter_core_loop` in torchaudio 2.9.1 and 2.10.0, where it has no namespace."""
    was, now = "torchaudio::f(Tensor a, Tensor(a!) b) -> ()", "f(Tensor a,Tensor(a!) b) -> Tensor(a!)"
    for new, expected in ((now, [((was,), (now,))]), ("f(Tensor a,Tensor(a!)  b) ->()", [])):
        files = [
            replace(report("x.so"), operators=(Operator("torchaudio::f", Registration.TORCH_LIBRARY, "", schema),))
            for schema in (was, new)
        ]
        changes = compare_files("x.so", *files, str)
        found = [(c.removed, c.added) for c in changes if c.aspect is Aspect.OPERATOR]
        assert found == expected
