"""Files that crash the loader or the process by their relocations, initialisation functions, resolvers, TLS or notes,
and similar files that load: abiscan never predicts the wrong one of the two. Oracle: the loader. Its results are
recorded with its version; on glibc and x86-64 it runs again."""

from __future__ import annotations

import gc
import json
import platform
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from abiscan.elf import open_elf
from abiscan.environment.python import read_environment
from abiscan.loader import Loader, LoaderSettings
from abiscan.loader.file_problem import first_problem, unknown_elsewhere
from abiscan.model.loading import LoaderOutcome, LoaderStop
from tests.fixtures.loader_crash_cases import CASES, RECORD, write_files
from tests.fixtures.tiny_elf import (
    DATA,
    FUNCTION,
    LARGE,
    NOTES,
    OBJECT,
    PT_NOTE,
    PT_TLS,
    R_COPY,
    R_DTPMOD,
    R_DTPOFF,
    R_RELATIVE,
    R_TLSDESC,
    R_TPOFF,
    THREAD_LOCAL,
    TLS,
    UNDEFINED,
    VARIABLE,
    Header,
    Library,
    Relocation,
    Symbol,
    build,
    build_large,
)
from tests.loader import kit
from tests.processor_time import at_most
from tests.programs import run_abiscan, run_program
from tests.truth.oracle import ask

pytestmark = kit.needs_glibc

_RECORDED = json.loads(RECORD.read_text())
OUTCOMES: dict[str, str] = _RECORDED["outcomes"]
_PARTS = "part of the address depends on where the file is mapped"
_ELSEWHERE = "what lies beside the file in memory is unknown"
_RESOLVED = "what a resolver returns is not followed"
_LIBRARY = "what a function of another library does is not followed"
_TABLE = "relocations of the loader's own tables are not followed"
_STACK = "what the stack has is unknown"
_TEMPLATE = "first values of thread-local variables outside of the file are not followed"
# Crashing files that are left undecided, and why this is accepted.
OPEN = {
    "init-overlap-before": "half of the address depends on where the file is mapped",
    "init-overlap-after": "the same",
    "relr-init-overlap": "the same",
    "init-overwritten-by-descriptor": "which function of the loader a descriptor names is not followed",
    "relr-size-9": "what lies a TiB behind the file is unknown",
    "start-in-executable-bss": "behind the zero bytes the memory of another library may follow",
    "irelative-bss": "the same",
    "start-zeros-then-return": "whether zero bytes can be executed depends on a register",
    "start-in-executable-data-overwritten": "code that relocations write is not followed",
    "start-negative": _ELSEWHERE,
    "ia-size-beyond-page": _ELSEWHERE,
    "copy-huge": _ELSEWHERE,
    "ia-libc-function-far": _LIBRARY,
    "ia-ifunc-addend": _RESOLVED,
    "ia-irelative-returns-data": _RESOLVED,
    "ia-irelative-returns-0": _RESOLVED,
    "slot-0": "another library may write to it",
    "slot-weak-undefined": "the same",
    "slot-0-call": "the same",
    "slot-unrelocated": "the same",
    "code-lretq": _STACK,
    "code-iretq": _STACK,
    "code-push-lret": _STACK,
    "code-monitor": "some processors allow it",
    "code-mwait": "the same",
    "ia-tlsdesc-second-word": "what a descriptor names is not followed",
    "ia-tpoff-huge": "how far from the thread pointer static TLS begins is unknown",
    "ia-32-over-low-half": _PARTS,
    "ia-32-over-high-half": _PARTS,
    "relr-odd-unaligned": _PARTS,
    "ia-copy-own-bad-pointer": "relocations of what is copied are not followed",
    "ia-copy-environ": _LIBRARY,
    "tls-unmapped-init": _TEMPLATE,
}
_DISPATCH_KEYS = Symbol("_ZN3c104impl26raw_local_dispatch_key_setE", type=TLS, section=UNDEFINED)
_ONCE = Symbol("_ZSt11__once_call", type=TLS, section=UNDEFINED)
_ERRNO = Symbol("errno", type=TLS, section=UNDEFINED)
# Those that end the process and pass, and why that is borne.
MISSED = {"slot-0-of-second": "the first function may have stored an address there"}
# Those that are open and load.
OPEN_THOUGH_SOUND = {
    "ia-libc-function": _LIBRARY,
    "ia-ifunc": _RESOLVED,
    "ia-ifunc-got": _RESOLVED,
    "ia-irelative": _RESOLVED,
    "ia-plt-irelative": _RESOLVED,
    "ia-textrel-overwrites-code": "code that relocations write is not followed",
    "ia-copy-own-function-pointer": "relocations of what is copied are not followed",
    "relr-over-own-table": _TABLE,
    "tls-filesz-over-memsz": _TEMPLATE,
    "tls-far-unreferenced": _TEMPLATE,
    "tls-align-3": _TEMPLATE,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_files(tmp_path_factory.mktemp("crashes"))


def test_the_record_is_what_this_loader_does(files: dict[str, Path], plain_python: Path) -> None:
    if "-".join(platform.libc_ver()) != _RECORDED["loader"]:
        pytest.skip(f"recorded with {_RECORDED['loader']}; the other tests ask it in its place")
    answers = ask(files.values(), python=plain_python, torch=False, retry=False)
    assert {name: answers[str(path)].outcome for name, path in files.items()} == OUTCOMES
    assert set(CASES) == set(OUTCOMES)


def test_nothing_that_dies_loads_and_nothing_that_loads_fails(files: dict[str, Path], plain_python: Path) -> None:
    model = Loader(LoaderSettings(cwd="/"), read_environment(str(plain_python)))
    wrong, left_open = [], set()
    for name, path in files.items():
        said = model.predict(open_elf(path), str(path))
        if said.outcome is None:
            left_open.add(name)
        elif (said.outcome is LoaderOutcome.LOADS) != (OUTCOMES[name] == "loads" or name in MISSED):
            wrong.append(f"{name}: loader {OUTCOMES[name]}, abiscan {said}")
    assert not wrong, "\n".join(wrong)
    assert left_open == OPEN.keys() | OPEN_THOUGH_SOUND.keys()


def test_the_file_alone_tells_most_of_it(files: dict[str, Path]) -> None:
    problems = {name: first_problem(open_elf(path)) for name, path in files.items()}
    sound = [name for name, outcome in OUTCOMES.items() if outcome == "loads"]
    # The file does not show whether libc, which defines `malloc`, has thread-local variables, nor the definition of a
    # weak one.
    left_open = {"tpoff-malloc", "tpoff-weak-undefined-anywhere", "tpoff-environ", "dtpmod-weak-beyond"}
    assert {name for name in sound if problems[name] is not None} == left_open | OPEN_THOUGH_SOUND.keys()
    assert not any(isinstance(problems[name], LoaderStop) for name in left_open)
    dead = [name for name, outcome in OUTCOMES.items() if outcome == "crash"]
    silent = [name for name in dead if problems[name] is None]
    # Whether another library defines a weak symbol is not in the file.
    assert set(silent) == MISSED.keys() | {"slot-weak-undefined"}
    certain = [name for name in dead if isinstance(problems[name], LoaderStop)]
    assert len(certain) >= 158


def test_another_process_may_refuse_what_this_one_refuses(files: dict[str, Path]) -> None:
    """Static TLS and the CPU count against a release of torch too, where the process is unknown."""
    found = {name for name, path in files.items() if unknown_elsewhere(open_elf(path)) is not None}
    refused = {name for name, outcome in OUTCOMES.items() if outcome == "fails" and name.startswith("tpoff")}
    assert refused == {"tpoff-align-128", "tpoff-large", "tpoff-two-last-large"}
    assert refused | {"version-own-of-undefined"} < found
    assert all(OUTCOMES[name] != "loads" for name in found)


def _scan_on_release(path: Path) -> subprocess.CompletedProcess[str]:
    return run_abiscan("--torch", "2.9.0", path, env=kit.clean_environ())


@pytest.mark.parametrize(
    ("name", "library", "status", "note"),
    [
        (_DISPATCH_KEYS, "libc10.so", 3, "a static TLS block for the library that defines _ZN3c104impl26raw_local_dis"),
        (_ONCE, "libstdc++.so.6", 3, "a static TLS block for the library that defines _ZSt11__once_call"),
        (_ERRNO, "libc.so.6", 0, None),
    ],
)
def test_static_tls_against_a_release(
    tmp_path: Path, name: Symbol, library: str, status: int, note: str | None
) -> None:
    """The loader refuses the first two after `import torch` (below), and takes the third, whose block is there from
    the start."""
    path = tmp_path / "x.so"
    path.write_bytes(_uses(name, R_TPOFF, library))
    done = _scan_on_release(path)
    assert done.returncode == status
    assert note is None or note in done.stdout


def test_static_tls_of_a_library_of_the_package(tmp_path: Path, plain_python: Path) -> None:
    """The block is that of the library that defines the variable."""
    variable = Symbol("variable_of_b", 0, TLS)
    (tmp_path / "a.so").write_bytes(_uses(Symbol("variable_of_b", type=TLS, section=UNDEFINED), R_TPOFF, "./b.so"))
    found: dict[int, str | None] = {}
    for size in (512, 8192):
        header = Header(PT_TLS, THREAD_LOCAL, 0, size, 8)
        (tmp_path / "b.so").write_bytes(build(Library(symbols=(variable,), headers=(header,))))
        found[size] = unknown_elsewhere(open_elf(tmp_path / "a.so"), [open_elf(tmp_path / "b.so")])
        done = run_program([str(plain_python), "-c", "import ctypes; ctypes.CDLL('./a.so')"], cwd=tmp_path)
        assert ("cannot allocate memory in static TLS block" in done.stderr) is (found[size] is not None), done.stderr
    assert found == {512: None, 8192: "it needs 8192 bytes of static TLS, and all libraries share 1664"}


def test_a_cpu_above_the_baseline_against_a_release(tmp_path: Path) -> None:
    """x86-64-v3 in GNU_PROPERTY_X86_ISA_1_NEEDED, as `ld -z x86-64-v3` writes it."""
    note = struct.pack("<III4sIII4x", 4, 16, 5, b"GNU", 0xC0008002, 4, 0b100)
    words = {NOTES + at: int.from_bytes(note[at : at + 8], "little") for at in range(0, len(note), 8)}
    path = tmp_path / "x.so"
    path.write_bytes(build(Library(words=words, headers=(Header(PT_NOTE, NOTES, len(note), len(note), 8),))))
    done = _scan_on_release(path)
    assert done.returncode == 3
    assert "it requires a CPU above the x86-64 baseline" in done.stdout


@pytest.mark.torch
def test_exit_status_whoever_the_file_belongs_to(files: dict[str, Path]) -> None:
    """None of these files uses torch."""
    command = [
        sys.executable,
        "-m",
        "abiscan",
        "scan",
        "--python",
        sys.executable,
        "-f",
        "json",
        *map(str, files.values()),
    ]
    done = run_program(command, env=kit.clean_environ())
    failing = {
        Path(artifact["path"]).stem
        for artifact in json.loads(done.stdout)["artifacts"]
        if artifact["verdict"] in ("fails", "undecided")
        or any(finding["severity"] == "error" for finding in artifact["findings"])
    }
    bad = {name for name, outcome in OUTCOMES.items() if outcome != "loads"}
    assert failing == bad - MISSED.keys() | OPEN_THOUGH_SOUND.keys()


def _uses(symbol: Symbol, kind: int, library: str) -> bytes:
    relocation = Relocation(DATA + 0x800, kind, symbol.name)
    return build(Library((relocation,), symbols=(symbol,), needed=(library, "libc.so.6")))


@pytest.mark.torch
def test_static_tls_of_a_library_whose_variables_are_used(tmp_path: Path, torch_python: Path) -> None:
    """`-ftls-model=initial-exec` against variables that `import torch` has used; other models."""
    cases = {
        tmp_path / f"{symbol.name}-{kind}.so": (kind != R_TPOFF, library, _uses(symbol, kind, library))
        for symbol, library in ((_DISPATCH_KEYS, "libc10.so"), (_ONCE, "libstdc++.so.6"))
        for kind in (R_TPOFF, R_TLSDESC, R_DTPMOD, R_DTPOFF)
    }
    for path, (_, _, content) in cases.items():
        path.write_bytes(content)
    answers = ask(cases, python=torch_python, torch=True)
    model = kit.loader()
    for path, (loads, library, _) in cases.items():
        answer, said = answers[str(path)], model.predict(open_elf(path), str(path))
        assert (answer.outcome == "loads") is loads
        assert (said.outcome is LoaderOutcome.LOADS) is loads
        assert (said.error or "") == answer.text
        assert loads or f"{library}: cannot allocate memory in static TLS block" in answer.text


@pytest.mark.torch
def test_doubt_about_a_file_fails_no_less_than_its_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file shows whether the variables of another library were used: the outcome is undecided, with a reason."""
    monkeypatch.setattr("abiscan.loader.tls._USED_BY_IMPORT", ())
    path = tmp_path / "initial_exec.so"
    path.write_bytes(_uses(_ONCE, R_TPOFF, "libstdc++.so.6"))
    elf, model = open_elf(path), kit.loader()
    assert first_problem(elf) is None
    assert model.predict(elf, str(path)).outcome is None
    assert "needs a static TLS block" in (model.doubt(elf) or "")
    sound = open_elf(Path(__file__).parents[1] / "fixtures" / "good-extension.so")
    assert model.predict(sound, "/x/good-extension.so").outcome is LoaderOutcome.LOADS
    assert model.doubt(sound) is None


def test_time_does_not_grow_with_pairs(tmp_path: Path) -> None:
    """Relocations that write a whole table of functions repeatedly, and many calls into writable memory."""
    once = Relocation(DATA + 0x800, R_RELATIVE, "", FUNCTION)
    whole = Symbol("variable", LARGE, OBJECT, size=8 * 8000)
    copying = Library((once,), symbols=(whole,), dynamic=((25, LARGE), (27, 8 * 8000)))
    # 0xC3 is `ret`.
    calling = Library((once,), dynamic=((25, LARGE), (27, 8 * 16000)), words={VARIABLE: 0xC3}, data_flags=7)
    calls = [(LARGE + 8 * at, R_RELATIVE, VARIABLE) for at in range(16000)]
    for content in (
        build_large(copying, [(LARGE, 1 << 32 | R_COPY, 0)] * 2000, 8 * 8000, 6),
        build_large(calling, calls, 8 * 16000, 6),
    ):
        path = tmp_path / "x.so"
        path.write_bytes(content)
        elf = open_elf(path)
        gc.disable()  # a collection walks all that earlier tests of this process left
        try:
            with at_most(2):
                first_problem(elf)
        finally:
            gc.enable()
