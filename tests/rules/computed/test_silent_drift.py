"""One source compiled with the headers of torch 2.8 and of 2.13 (tests/fixtures/drift/build.py), run with torch 2.13.

Oracle: the process. It loads both files, and libtorch calls a virtual function of their derived class. The sizes are
from `readelf -sW` for _ZTVN5myext17CountingGeneratorE, and `nm -D -S` for libc10 and libtorch."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.elf import open_elf
from abiscan.elf.typeinfo import derived_classes
from abiscan.loader import LoaderSettings
from abiscan.model.cause import Confidence
from abiscan.model.report import ArtifactReport, ArtifactVerdict
from tests.forking_process import Run

FIXTURES = Path(__file__).parents[2] / "fixtures" / "drift"
DRIFTED, TWIN = FIXTURES / "generator-torch-2.8.so", FIXTURES / "generator-torch-2.13.so"

CALL = """
import ctypes, json, sys, torch
library = ctypes.CDLL(sys.argv[1], 2)  # RTLD_NOW: every import binds, or this raises
message = ctypes.create_string_buffer(4096)
library.set_state_through_torch.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
answer = library.set_state_through_torch(message, len(message))
print(json.dumps([torch.__version__, answer, message.value.decode()]))
"""


@pytest.fixture
def call(run_with_torch: Run) -> Callable[[Path], list[object]]:
    def run(file: Path) -> list[object]:
        done = run_with_torch(CALL, str(file))
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer[0].startswith("2.13.0"), "the fixtures are about torch 2.13.0"
        return list(answer[1:])

    return run


@pytest.mark.torch
def test_libtorch_calls_set_state_and_reaches_it(call: Callable[[Path], list[object]]) -> None:
    assert call(TWIN) == [1, ""]


@pytest.mark.torch
def test_libtorch_calls_set_state_and_reaches_another_function(call: Callable[[Path], list[object]]) -> None:
    # Slot 11 is set_state() in torch 2.13 and graphsafe_get_state() in the file's vtable.
    assert call(DRIFTED) == [-1, "graphsafe_get_state is not supported in this Generator"]


def scanned(file: Path, torch: str) -> ArtifactReport:
    options = ScanOptions(torch=torch, environment=None, settings=LoaderSettings(cwd=str(FIXTURES)))
    (artifact,) = scan([str(file)], options).artifacts
    return artifact


def test_the_drifted_file_binds_and_is_warned_of() -> None:
    artifact = scanned(DRIFTED, "2.13.0")
    assert not any(bound.status in ("missing", "unreachable") for bound in artifact.imports if bound.owner == "torch")
    (finding,) = [f for f in artifact.findings if f.rule == "vtable-drift"]
    assert finding.confidence is Confidence.HIGH
    for told in (
        "c10::GeneratorImpl",
        "144 bytes in torch 2.13.0 and 120 in torch 2.4.0-2.9.1",
        "the vtable of the class in the file has 120 bytes",
        "3 virtual functions added (c10::intrusive_ptr_target::decref_pyobject, "
        "c10::intrusive_ptr_target::incref_pyobject, c10::intrusive_ptr_target::try_incref_pyobject)",
        "`c10::GeneratorImpl::graphsafe_set_state` is in slot 10 of the file's vtable and in slot 13 of the target's",
    ):
        assert told in finding.message


@pytest.mark.parametrize(
    ("file", "torch"), [(TWIN, "2.13.0"), (TWIN, "2.10.0"), (DRIFTED, "2.8.0"), (DRIFTED, "2.9.1")]
)
def test_no_finding_where_the_tables_agree(file: Path, torch: str) -> None:
    artifact = scanned(file, torch)
    # Unknown for a file without derived classes.
    assert artifact.verdict is not ArtifactVerdict.NOT_TORCH
    assert [f for f in artifact.findings if f.rule == "vtable-drift"] == []


def test_a_table_without_a_symbol_is_read_all_the_same(tmp_path: Path) -> None:
    """Hidden visibility and strip remove the vtable's symbol, not its relocations."""
    source = tmp_path / "x.cpp"
    source.write_text(
        "namespace c10 { struct Base { virtual ~Base(); virtual void f(); virtual void g(); }; }\n"
        "namespace { struct Own : c10::Base { void f() override; }; void Own::f() {} }\n"
        "c10::Base* make() { return new Own(); }\n"
    )
    subprocess.run(
        ["g++", "-shared", "-fPIC", "-s", "-fvisibility=hidden", source, "-o", tmp_path / "x.so"], check=True
    )
    (derived,) = derived_classes(open_elf(tmp_path / "x.so"), {"_ZTIN3c104BaseE"})
    assert (derived.base, derived.name, derived.vtable_size) == ("_ZTIN3c104BaseE", None, None)
    # Two words, two destructors, its own f(), g() of the base.
    assert derived.slots == (0, 0, None, None, None, "_ZN3c104Base1gEv")
