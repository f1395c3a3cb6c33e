"""What `diff` says of one file, typed in."""

from __future__ import annotations

from msgspec.structs import replace

from abiscan.compare.file_changes import changes_of_file
from abiscan.model.reach import Aspect
from abiscan.model.release import ReleaseState, ReleaseVerdict
from abiscan.model.report import ArtifactReport
from tests.compare.typed import report


def on(**drift: tuple[str, ...]) -> ArtifactReport:
    """`on(v2_4=("c10::X",))`: a file that binds on 2.4 with another c10::X."""
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
    return [c.text for c in changes_of_file("x.so", old, new, str) if c.aspect is Aspect.LAYOUT]


def test_a_line_for_each_record_that_lies_otherwise() -> None:
    old = on(v2_4=("c10::A", "c10::B", "c10::D"), v2_5=())
    new = on(v2_4=("c10::B",), v2_5=("c10::B", "c10::C"))
    assert told(old, new) == [
        "no mismatch of c10::A on torch 2.4.0 any more",
        "c10::B lies otherwise than it was compiled for on torch 2.4.0 - 2.5.0; did on torch 2.4.0",
        "c10::C lies otherwise than it was compiled for on torch 2.5.0",
        "no mismatch of c10::D on torch 2.4.0 any more",
    ]
    assert told(old, old) == []
    # On a release on which the new file does not bind, nothing fits.
    assert told(old, on(v2_5=())) == []
