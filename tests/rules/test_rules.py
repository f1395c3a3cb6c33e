"""The rules that are shipped: lawful, true, and each at work on a fixture."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

import abiscan.rules
from abiscan.model.binding import BoundImport, NeededLibrary, Status
from abiscan.model.finding import Severity
from abiscan.rules import (
    Rule,
    load_rules,
    rule,
    rule_infos,
    run,
)
from abiscan.rules.validate import read_rule_file
from tests.rules.snapshots import file_of, fixtures, snapshot
from tests.rules.subjects import FIXTURES, index, subject, windows

ROOT = Path(__file__).parents[2]
FILES = sorted(Path(abiscan.rules.__file__).parent.glob("catalogue/*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_file_is_lawful_and_compiled(path: Path) -> None:
    assert read_rule_file(path) == rule(path.stem)


def test_every_file_is_loaded_and_described() -> None:
    assert [each.id for each in load_rules()] == [path.stem for path in FILES]
    assert [info.id for info in rule_infos()] == [path.stem for path in FILES]


@pytest.mark.parametrize("tool", ["compile_rules.py", "generate_docs.py"])
def test_generated_files_are_current(tool: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / tool, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("each", [r for r in load_rules() if r.facts], ids=lambda each: each.id)
def test_facts_agree_with_the_release_index(each: Rule) -> None:
    newest = index().builds("x86_64")[-1].torch
    for fact in each.facts:
        found = windows(fact.symbol)
        # A fact that is open at its end stays true when a release is added.
        last = fact.windows[-1][1] if fact.windows else None
        if found and last is not None and found[-1][1] == newest:
            assert found[:-1] == fact.windows[:-1], fact.symbol
            assert found[-1][0] == fact.windows[-1][0], fact.symbol
        else:
            assert found == fact.windows, fact.symbol


@pytest.mark.parametrize("path", fixtures(), ids=lambda path: path.name)
def test_snapshot(path: Path) -> None:
    assert snapshot(path) == file_of(path).read_text(encoding="utf-8")


def test_no_snapshot_is_left_over() -> None:
    wanted = {file_of(path).name for path in fixtures()}
    assert {path.name for path in file_of(FIXTURES / "x").parent.glob("*.txt")} == wanted


def test_every_rule_over_binaries_fires_on_a_fixture() -> None:
    fired = {finding.rule for path in fixtures() for finding in run(load_rules(), subject(path))}
    assert {each.id for each in load_rules() if each.imports or each.libraries} - fired == set()


def test_good_extension_is_quiet() -> None:
    findings = run(load_rules(), subject(FIXTURES / "good-extension.so"))
    assert {finding.rule for finding in findings if finding.severity is not Severity.NOTE} == set()


@pytest.mark.parametrize("path", fixtures(), ids=lambda path: path.name)
def test_no_error_where_every_import_binds(path: Path) -> None:
    before = subject(path)
    bound = tuple(
        BoundImport(each.symbol, each.demangled, each.demangled_by, each.owner, Status.RESOLVED, "libtorch_cpu.so")
        for each in before.imports
    )
    libraries = tuple(NeededLibrary(library.soname, "/lib/x") for library in before.needed)
    findings = run(load_rules(), replace(before, imports=bound, needed=libraries))
    assert [finding for finding in findings if finding.severity is Severity.ERROR] == []


def test_fingerprints_tell_findings_apart() -> None:
    findings = run(load_rules(), subject(FIXTURES / "clang-const-data-ptr.so"))
    assert len({finding.fingerprint for finding in findings}) == len(findings)


def test_two_runs_say_the_same() -> None:
    path = FIXTURES / "old-string-extension.so"
    assert run(load_rules(), subject(path)) == run(load_rules(), subject(path))
