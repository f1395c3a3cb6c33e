"""A container with many members: the work per member does not depend on their number."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import pytest

from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from tests.inputs.kit import DIST_INFO, WHEEL_NAME, tar_bytes, zip_bytes

_METADATA = b"Metadata-Version: 2.1\nName: demo\nVersion: 1\n" + b"Requires-Dist: torch>=2.4\n" * 100


def _calls(target: Path) -> int:
    """Number of Python function calls in a scan: deterministic, unlike time."""
    options = ScanOptions(torch="2.9.0", environment=None, settings=LoaderSettings(cwd=str(target.parent)))
    count = 0

    def watch(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        report = scan([target.name], options)
    finally:
        sys.setprofile(before)
    assert report.errors
    return count


def _write(tmp_path: Path, form: str, members: dict[str, bytes]) -> Path:
    if form == "directory":
        place = tmp_path / f"{form}{len(members)}"
        place.mkdir()
        for name, content in members.items():
            (place / name.replace("/", "-")).write_bytes(content)
        return place
    place = tmp_path / str(len(members)) / ("demo.tar.gz" if form == "tar" else WHEEL_NAME)
    place.parent.mkdir()
    place.write_bytes(tar_bytes(members, "w:gz") if form == "tar" else zip_bytes(members))
    return place


@pytest.mark.parametrize("form", ["wheel", "tar", "directory"])
def test_the_work_grows_no_faster_than_the_number_of_members(form: str, tmp_path: Path) -> None:
    def calls(number: int) -> int:
        cut_off = {f"demo/f{n}.so": b"\x7fELF" for n in range(number)}
        return _calls(_write(tmp_path, form, {**DIST_INFO, "demo-1.0.dist-info/METADATA": _METADATA, **cut_off}))

    calls(1)  # imports
    few, more, most = calls(20), calls(120), calls(620)
    assert most - few < 1.2 * 6 * (more - few)
    # Neither is the metadata read for each member, nor anything else of that cost.
    assert most - more < 500 * 500
