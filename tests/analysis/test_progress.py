"""Progress of a run with any executor. Expected values are the contents of the archive."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from abiscan.analysis.executors import Executor, in_children, in_process
from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.errors import UsageError
from abiscan.loader import LoaderSettings
from abiscan.model.progress import BLOCK, ProgressStep, Relay, replay

FIXTURES = Path(__file__).parents[1] / "fixtures"


class Heard:
    """A `Progress` that records its calls."""

    def __init__(self) -> None:
        self.expected: dict[str, int] = {}
        self.blocks: set[int] = set()
        self.texts: list[str] = []
        self.files = 0

    def expect(self, sizes: Mapping[str, int]) -> None:
        self.expected |= sizes

    def read(self, path: str, offset: int, size: int) -> None:
        assert path in self.expected
        self.blocks |= set(range(offset // BLOCK, (offset + size - 1) // BLOCK + 1))

    def at(self, text: str, files: int = 1) -> None:
        self.texts.append(text)
        self.files += files if text else 0


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """Six files of 3 MiB each, stored."""
    path = tmp_path / "demo-1.0-cp311-abi3-manylinux_2_28_x86_64.whl"
    data = (FIXTURES / "stable-abi.so").read_bytes()
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(6):
            archive.writestr(f"demo/m{number}.abi3.so", data + bytes([number]) * (3 * BLOCK))
    return path


def options(folder: Path, heard: Heard | None) -> ScanOptions:
    return ScanOptions("2.10.0", None, LoaderSettings(cwd=str(folder)), progress=heard)


@pytest.mark.parametrize(
    ("executor", "jobs"), [(in_process, 1), (in_children(1), 1), (in_children(2), 2)], ids=["here", "child", "children"]
)
def test_every_byte_and_file_is_reported(wheel: Path, tmp_path: Path, executor: Executor, jobs: int) -> None:
    heard = Heard()
    found = scan([wheel.name], options(tmp_path, heard), jobs=jobs, executor=executor)
    assert heard.expected == {wheel.name: wheel.stat().st_size}
    assert heard.blocks == set(range(wheel.stat().st_size // BLOCK + 1))
    assert heard.files == 6
    assert {text.partition("!")[0] for text in heard.texts[:-1]} == {wheel.name}
    assert heard.texts[-1] == ""
    # Progress does not change the result.
    assert found == scan([wheel.name], options(tmp_path, None), jobs=jobs, executor=executor)


def test_the_end_of_a_failed_run_is_reported(tmp_path: Path) -> None:
    heard = Heard()
    with pytest.raises(UsageError):
        scan(["nothing.so"], options(tmp_path, heard))
    assert heard.texts == [""]


def test_a_relay_gathers_and_loses_nothing() -> None:
    """At most ten steps per second."""
    sent: list[ProgressStep] = []
    now = 0.0
    relay = Relay(sent.append, lambda: now)
    for number in range(200):
        relay.at(f"{number}.so")
        relay.read("a.whl", number * BLOCK, BLOCK)
    assert sent == []
    now = 1.0
    relay.read("a.whl", 0, 1)
    relay.at("last.so")
    assert len(sent) == 1
    relay.at("")
    heard = Heard()
    heard.expect({"a.whl": 200 * BLOCK})
    for step in sent:
        replay(step, heard)
    assert (heard.files, heard.blocks) == (201, set(range(200)))
    assert heard.texts == ["199.so", "last.so"]


def test_progress_does_not_change_the_run(tmp_path: Path) -> None:
    assert replace(options(tmp_path, Heard()), progress=None) == options(tmp_path, None)
