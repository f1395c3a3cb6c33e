"""The shipped rules: well-formed, true, and each with a fixture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

import abiscan
import abiscan.rules
from abiscan.elf import open_elf
from abiscan.mangling import parse
from abiscan.model.finding import Severity
from abiscan.model.fingerprint import module_key
from abiscan.model.imports import Status
from abiscan.rules import Rule, RuleSubject, load_rules, rule, rule_infos, run
from abiscan.rules.computed.build_provenance_rules import PROVENANCE_RULES
from abiscan.rules.computed.wheel_metadata_rules import WHEEL_RULES
from tests.rules.reports import FIXTURES, index, report, reports
from tests.rules.snapshots import HERE, file_of, snapshot
from tools.read_rule_file import read_rule_file

FILES = sorted(Path(abiscan.rules.__file__).parent.glob("catalogue/*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_file_is_well_formed_and_in_the_data(path: Path) -> None:
    assert read_rule_file(path) == rule(path.stem)


def test_every_file_is_loaded_and_described() -> None:
    assert [each.id for each in load_rules()] == [path.stem for path in FILES]
    assert [info.id for info in rule_infos()] == [path.stem for path in FILES]


def test_computed_rules_are_those_with_a_function() -> None:
    named = [
        name
        for path in Path(abiscan.__file__).parent.rglob("*.py")
        for name in re.findall(r'\b(?:rule\(|rule\.id == )"([a-z-]+)"', path.read_text("utf-8"))
    ]
    assert sorted([*named, *PROVENANCE_RULES, *WHEEL_RULES]) == [r.id for r in load_rules() if r.computed]


@pytest.mark.parametrize("each", [r for r in load_rules() if r.facts], ids=lambda each: each.id)
def test_facts_agree_with_the_release_index(each: Rule) -> None:
    newest = index().builds("x86_64")[-1].torch
    for fact in each.facts:
        history = index().history(fact.symbol)
        found = () if history is None else history.exported_in
        # A fact with an open end stays true when a release is added.
        last = fact.exported_in[-1][1] if fact.exported_in else None
        if found and last is not None and found[-1][1] == newest:
            assert found[:-1] == fact.exported_in[:-1], fact.symbol
            assert found[-1][0] == fact.exported_in[-1][0], fact.symbol
        else:
            assert found == fact.exported_in, fact.symbol


def test_the_snapshots_are_of_the_fixtures() -> None:
    assert {path.name for path in HERE.glob("*.txt")} == {file_of(name).name for name in reports()}


@pytest.mark.parametrize("path", sorted(HERE.glob("*.txt")), ids=lambda path: path.stem)
def test_snapshot(path: Path) -> None:
    assert snapshot(path.stem) == path.read_text(encoding="utf-8")


def test_every_rule_over_binaries_fires_on_a_fixture() -> None:
    fired = {finding.rule for each in reports().values() for finding in each.findings}
    assert {each.id for each in load_rules() if each.imports or each.libraries} - fired == set()


def test_good_extension_is_quiet() -> None:
    findings = report("good-extension.so").findings
    assert {finding.rule for finding in findings if finding.severity is not Severity.NOTE} == set()


def test_no_error_where_every_import_binds() -> None:
    rules = load_rules()
    for each in reports().values():
        path = FIXTURES / each.path
        subject = RuleSubject(
            facts=open_elf(path, each.path).facts(),
            imports=tuple(replace(b, status=Status.RESOLVED, provider="libtorch_cpu.so") for b in each.imports),
            needed=tuple(replace(library, found="/lib/x") for library in each.needed),
            module=module_key(each.path),
            parse=parse,
        )
        findings = run(rules, subject)
        assert [finding for finding in findings if finding.severity is Severity.ERROR] == [], each.path


def test_fingerprints_tell_findings_apart() -> None:
    findings = report("clang-const-data-ptr.so").findings
    assert len({finding.fingerprint for finding in findings}) == len(findings)
