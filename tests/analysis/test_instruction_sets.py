"""Levels of x86-64: macros that GCC defines for each option, compiled files, and glibc's folders."""

from __future__ import annotations

import functools
import json
import subprocess
from pathlib import Path

import pytest

from abiscan.elf import open_elf
from abiscan.model.facts import BuildMarks
from abiscan.provenance.instruction_sets import _OPTIONS, instruction_sets
from tests.programs import output_of, run_abiscan

LEVELS = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")


@functools.cache
def macros(*options: str) -> frozenset[str]:
    lines = output_of(["gcc", *options, "-dM", "-E", "-x", "c", "/dev/null"]).splitlines()
    # -mabm is AMD's name of LZCNT and POPCNT.
    return frozenset(line.split()[1] for line in lines) - {"__ABM__"}


@pytest.mark.parametrize(("level", "option"), [(level, o) for level, options in _OPTIONS.items() for o in options])
def test_an_option_is_of_the_first_level_that_has_its_macros(level: str, option: str) -> None:
    wanted = macros("-march=x86-64", f"-m{option}")
    assert next(each for each in LEVELS if wanted <= macros(f"-march={each}")) == level


@pytest.mark.parametrize(
    ("options", "level"),
    [
        *(((), None), (("-march=x86-64", "-mtune=haswell"), None), (("-march=x86-64-v3",), "x86-64-v3")),
        *((("-mavx2", "-mfma"), "x86-64-v3"), (("-mavx512bw", "-mavx2"), "x86-64-v4"), (("-msse4.2",), "x86-64-v2")),
        (("-mavx512f", "-mno-avx512f"), None),
        (("-march=x86-64-v4", "-mavx2"), "x86-64-v4"),
    ],
)
def test_what_a_file_was_compiled_with(options: tuple[str, ...], level: str | None, tmp_path: Path) -> None:
    source, out = tmp_path / "x.c", tmp_path / "x.so"
    source.write_text("int f(int x) { return x; }\n")
    subprocess.run(["gcc", "-g", "-shared", "-fPIC", *options, source, "-o", out], check=True)
    (artifact,) = json.loads(run_abiscan("--torch", "2.13.0", "-f", "json", "-q", out).stdout)["artifacts"]
    told = [fact["value"] for fact in artifact["provenance"]["facts"] if fact["topic"] == "instruction-set"]
    assert told == ([] if level is None else [level])


def test_every_compilation_is_checked(tmp_path: Path) -> None:
    objects = []
    for name, option in (("a", "-mno-avx2"), ("b", "-mavx2"), ("c", "-mavx512f")):
        (tmp_path / f"{name}.c").write_text(f"int {name}(int x) {{ return x; }}\n")
        objects.append(tmp_path / f"{name}.o")
        subprocess.run(["gcc", "-g", "-c", "-fPIC", option, tmp_path / f"{name}.c", "-o", objects[-1]], check=True)
    out = tmp_path / "x.so"
    subprocess.run(["gcc", "-shared", *objects, "-o", out], check=True)
    marks = open_elf(out).build_marks()
    assert [fact.value for fact in instruction_sets(marks, "x.so")] == ["x86-64-v4"]


def test_a_folder_of_glibc() -> None:
    """ld.so(8), "Hardware capabilities"."""
    marks = BuildMarks(executable_stack=False, x86_isa_needed=0, producers=())
    (fact,) = instruction_sets(marks, "lib/glibc-hwcaps/x86-64-v3/libx.so")
    assert fact.value == "x86-64-v3"
    assert not list(instruction_sets(marks, "lib/x86-64-v3/libx.so"))
