"""The search for a library, file by file. Oracle: LD_DEBUG=libs of glibc."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from abiscan.elf import open_elf
from abiscan.errors import UnreadableFile
from abiscan.loader.opened_files import Files
from tests.fixtures.loader_cases import CASES, Case
from tests.loader import kit

pytestmark = kit.needs_glibc

# Cases of the search; each has its own directory of committed libraries. `nodeflib` is not among them: glibc prints
# results of its cache before it rejects them.
NAMES = (
    "plain",
    "missing-needed",
    "rpath-transitive",
    "runpath-not-transitive",
    "rpath-blocked-by-runpath",
    "rpath-past-runpath",
    "rpath-and-runpath",
    "library-path-after-rpath",
    "library-path-before-runpath",
    "library-path-list",
    "library-path-origin",
    "preload-serves-soname",
    "preload-serves-soname-not-file-name",
    "loaded-by-soname-wins",
    "origin-of-symlink",
    "origin-braces",
    "origin-no-token",
    "origin-twice",
    "token-unknown",
    "token-lib",
    "token-platform",
    "hwcaps-x86-64-v2",
    "hwcaps-x86-64-v3",
    "hwcaps-x86-64-v4",
    "hwcaps-best-first",
    "legacy-hwcaps-haswell",
    "wrong-machine-skipped",
    "wrong-class-skipped",
    "wrong-machine-only",
    "dependency-is-text",
    "dependency-is-directory",
    "needed-default-directory",
    "needed-twice",
)
SEARCHES = [case for case in CASES if case.name in NAMES]
_OPEN = "import ctypes, os, sys; ctypes.CDLL(sys.argv[1], os.RTLD_NOW)"


def test_every_case_is_there() -> None:
    assert {case.name for case in SEARCHES} == set(NAMES)


def looked_at(paths: Iterable[str], wanted: set[str], named: set[str]) -> list[str]:
    """The tried files for the wanted libraries, in order, without duplicates and without libraries given by path. glibc
    also prints attempts in directories not yet known to be missing; these are ignored."""
    tried = (p for p in paths if os.path.basename(p) in wanted and p not in named)
    return list(dict.fromkeys(p for p in tried if os.path.isdir(os.path.dirname(p) or ".")))


def tried_by_glibc(target: Path, env: Mapping[str, str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _OPEN, str(target)],
        capture_output=True,
        env=kit.clean_environ(env) | {"LD_DEBUG": "libs"},
        cwd="/",
        check=False,
    )
    assert b"search" in done.stderr, done.stderr
    return re.findall(r"^\s*\d+:\s+trying file=(.*)$", os.fsdecode(done.stderr), re.MULTILINE)


def tried_by_the_model(target: Path, env: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    tried: list[str] = []
    probe = Files.probe

    def recorded(files: Files, path: str) -> object:
        tried.append(path)
        return probe(files, path)

    monkeypatch.setattr(Files, "probe", recorded)
    kit.loader(env, with_torch=False).predict(open_elf(str(target)), str(target))
    return tried


@pytest.mark.parametrize("case", SEARCHES, ids=lambda case: case.name)
def test_it_looks_where_glibc_looks(case: Case, fixtures_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = fixtures_dir / "loader" / case.name
    target = directory / case.target
    env = {name: value.replace("{dir}", str(directory)) for name, value in case.env.items()}
    named = {str(target), env.get("LD_PRELOAD", "")}
    wanted = {name for path in directory.rglob("*.so*") if path.is_file() for name in needed(path)}
    assert wanted
    real = looked_at(tried_by_glibc(target, env), wanted, named)
    assert looked_at(tried_by_the_model(target, env, monkeypatch), wanted, named) == real
    if case.name == "plain":
        assert real == [str(directory / "libdep.so")]


def needed(path: Path) -> tuple[str, ...]:
    """The DT_NEEDED entries of a crafted file; empty if it is no shared object."""
    try:
        return open_elf(str(path)).needed
    except UnreadableFile:
        return ()
