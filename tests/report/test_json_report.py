"""The JSON report against its shipped schema and the field names that users rely on."""

from __future__ import annotations

import copy
import enum
import json
from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from msgspec import Struct
from msgspec.structs import replace

from abiscan.model.cause import CauseId, Confidence
from abiscan.model.facts import SymbolBinding
from abiscan.model.finding import Severity
from abiscan.model.imports import Owner, Status
from abiscan.model.report import ArtifactVerdict, Report, Verdict
from abiscan.model.subject import SubjectKind
from abiscan.report import comparisons, json_report, ndjson
from tests.report import samples

SCHEMA: dict[str, Any] = json.loads(resources.files("abiscan").joinpath("data/report.schema.json").read_text())
REPORTS = {
    "mixed": samples.mixed(),
    "hostile": samples.hostile(),
    "empty": samples.empty(),
    "large": samples.large(files=4, imports=200),
}

# The field names of the contract, from the design, not from the schema or the code.
CONTRACT = {
    "": "schema_version tool torch_build verdict summary artifacts errors",
    "tool": "name version",
    "torch_build": "kind version variant cuda hip cxx11_abi path note",
    "summary": "artifacts loads fails undecided unreadable not_torch findings suppressed stale",
    "summary.findings": "error warning note",
    "artifacts": "path member kind sha256 size machine build_id verdict loader needed imports releases provenance "
    "findings",
    "artifacts.loader": "outcome error",
    "artifacts.needed": "soname found",
    "artifacts.imports": "mangled demangled demangled_by binding version owner status provider exported_in causes",
    "artifacts.imports.causes": "cause confidence evidence fix",
    "artifacts.releases": "build torch variant cxx11_abi verdict missing drift",
    "artifacts.findings": "rule severity confidence symbol message fix locations fingerprint suppressed",
    "artifacts.findings.locations": "function file line offset",
    "errors": "path message",
}


def strict(schema: Any) -> Any:
    """The schema without unknown fields: users' validators must accept them, this test must not."""
    if isinstance(schema, dict):
        changed = {key: strict(value) for key, value in schema.items()}
        if "properties" in changed:
            changed["additionalProperties"] = False
        return changed
    return [strict(item) for item in schema] if isinstance(schema, list) else schema


def at(document: Any, path: str) -> Iterator[dict[str, Any]]:
    values = [document]
    for key in filter(None, path.split(".")):
        values = [v[key] for v in values]
        values = [item for v in values for item in (v if isinstance(v, list) else [v])]
    yield from values


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", REPORTS)
def test_documents_are_valid_and_every_field_is_described(name: str) -> None:
    document = json.loads(json_report.render(REPORTS[name]))
    Draft202012Validator(strict(SCHEMA)).validate(document)


def object_keys(schema: Any, name: str = "") -> Iterator[tuple[str, set[str]]]:
    """(name, keys) of each object in a schema."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield name, set(schema["properties"])
        for key, item in schema.items():
            yield from object_keys(item, name if key in ("items", "properties", "$defs") else key)


def test_the_objects_of_the_schema_are_types_of_the_model() -> None:
    """Those that functions write are in samples."""
    fields = {**{each: each.__struct_fields__ for each in Struct.__subclasses__()}, **json_report._FIELDS}
    types = [set(each) for each in (*fields.values(), *comparisons._FIELDS.values())]
    head = {"schema_version", "tool", "outcome"}
    others = {name for name, keys in object_keys(SCHEMA) if keys not in types and keys - head not in types}
    parts = {"artifact", "import", "import_counts", "cause"}
    assert others == {"", "tool", "summary", "findings", "event", "explain", *parts}


@pytest.mark.parametrize("name", REPORTS)
def test_one_line_json_has_the_spacing_of_the_standard_library(name: str) -> None:
    lines = [line.strip().removesuffix(",") for line in json_report.render(REPORTS[name]).split("\n")]
    whole = [line for line in lines if line.startswith("{") and line.endswith("}") and len(line) > 2]
    assert whole or name == "empty"
    assert whole == [json.dumps(json.loads(line), ensure_ascii=False) for line in whole]


@pytest.mark.parametrize("path", CONTRACT)
def test_the_contract_is_there(path: str) -> None:
    found = list(at(json.loads(json_report.render(samples.mixed())), path))
    assert found, "the sample must have one"
    for value in found:
        assert set(CONTRACT[path].split()) <= set(value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("schema_version", 1),
        ("verdict", "passed"),
        ("summary.findings.error", -1),
        ("summary.loads", "3"),
        ("artifacts.0.verdict", "ok"),
        ("artifacts.0.machine", None),
        ("artifacts.1.sha256", "xyz"),
        ("artifacts.1.imports.0.status", "found"),
        ("artifacts.1.imports.0.exported_in", [["2.1.0"]]),
        ("artifacts.1.releases.0.verdict", "maybe"),
        ("artifacts.1.findings.0.severity", "fatal"),
        ("artifacts.1.findings.0.locations", [{"function": None, "file": None, "line": 0, "offset": None}]),
        ("errors", None),
    ],
)
def test_the_schema_refuses(path: str, value: object) -> None:
    document = json.loads(json_report.render(samples.mixed()))
    *way, last = path.split(".")
    place: Any = document
    for key in way:
        place = place[int(key)] if key.isdigit() else place[key]
    place[last] = value
    assert not Draft202012Validator(SCHEMA).is_valid(document)


@pytest.mark.parametrize("path", CONTRACT)
def test_the_schema_requires_every_field_of_the_contract(path: str) -> None:
    whole = json.loads(json_report.render(samples.mixed()))
    for field in CONTRACT[path].split():
        document = copy.deepcopy(whole)
        next(at(document, path)).pop(field)
        assert not Draft202012Validator(SCHEMA).is_valid(document), field


def test_two_runs_differ_in_nothing_whatever_the_order() -> None:
    report = samples.mixed()
    turned = replace(report, artifacts=report.artifacts[::-1], errors=report.errors[::-1], rules=report.rules[::-1])
    assert json_report.render(report) == json_report.render(turned)


def test_different_invalid_utf8_stays_different() -> None:
    text = json_report.render(samples.hostile())
    text.encode("utf-8")  # no lone surrogate is left
    names = {i["mangled"] for a in json.loads(text)["artifacts"] for i in a["imports"]}
    assert r"raw\xff\x80byte" in names
    assert len(names) == len(samples.HOSTILE)
    assert "<script>alert(1)</script>" in names


def test_an_import_takes_one_line() -> None:
    lines = json_report.render(samples.mixed()).splitlines()
    assert [line for line in lines if samples.TENSOR_PTR in line and '"status": "resolved"' in line]


def test_suppressed_findings_are_not_counted_as_standing() -> None:
    summary = json.loads(json_report.render(samples.mixed()))["summary"]
    # By hand: one missing import; const-data-ptr in a binary and in a source, and one ignored; one note.
    assert summary["findings"] == {"error": 1, "warning": 2, "note": 1}
    assert (summary["suppressed"], summary["stale"], summary["errors"]) == (1, 1, 1)
    assert (summary["artifacts"], summary["loads"], summary["fails"], summary["unreadable"]) == (6, 2, 1, 1)


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        (("properties", "verdict"), Verdict),
        (("$defs", "artifact", "properties", "verdict"), ArtifactVerdict),
        (("$defs", "import", "properties", "status"), Status),
        (("$defs", "import", "properties", "owner"), Owner),
        (("$defs", "import", "properties", "binding"), SymbolBinding),
        (("$defs", "cause", "properties", "cause"), CauseId),
        (("$defs", "cause_group", "properties", "cause"), CauseId),
        (("$defs", "subject", "properties", "kind"), SubjectKind),
        (("$defs", "severity"), Severity),
        (("$defs", "confidence"), Confidence),
    ],
)
def test_the_schema_knows_every_state(place: tuple[str, ...], kind: type[enum.StrEnum]) -> None:
    part: Any = SCHEMA
    for key in place:
        part = part[key]
    assert sorted(part["enum"]) == sorted(member.value for member in kind)


def test_explain() -> None:
    document = json.loads(json_report.render_explanation(samples.SUBJECTS))
    schema = strict({"$defs": SCHEMA["$defs"], "$ref": "#/$defs/explain"})
    Draft202012Validator(schema).validate(document)
    fields = ["text", "kind", "mangled", "demangled", "demangled_by", "owner", "exported_in", "causes"]
    assert all(set(fields) <= set(subject) for subject in document["subjects"])
    document["subjects"][0]["kind"] = "thing"
    assert not Draft202012Validator(schema).is_valid(document)


@pytest.mark.parametrize("name", REPORTS)
def test_ndjson_has_a_line_for_the_run_and_for_each_artifact(name: str) -> None:
    report: Report = REPORTS[name]
    run, *artifacts = [json.loads(line) for line in ndjson.render(report).split("\n")[:-1]]
    whole = json.loads(json_report.render(report))
    assert run["record"] == "run"
    assert run["summary"] == whole["summary"]
    assert [(a["path"], a["member"], a["verdict"]) for a in artifacts] == [
        (a["path"], a["member"], a["verdict"]) for a in whole["artifacts"]
    ]
    assert all(a["run_verdict"] == report.verdict.value for a in artifacts)
    assert not any(i["status"] == "resolved" for a in artifacts for i in a["imports"])


def test_imports_that_resolve_are_left_out_where_a_user_wants_it() -> None:
    whole = json.loads(json_report.render(REPORTS["mixed"]))
    short = json.loads(json_report.render(replace(REPORTS["mixed"], imports_shown="unresolved")))
    assert (whole["imports_shown"], short["imports_shown"]) == ("all", "unresolved")
    assert not list(Draft202012Validator(SCHEMA).iter_errors(short))
    resolved = 0
    for old, new in zip(whole["artifacts"], short["artifacts"], strict=True):
        assert new["imports"] == [each for each in old["imports"] if each["status"] != "resolved"]
        resolved += len(old["imports"]) - len(new["imports"])
        assert {**old, "imports": []} == {**new, "imports": []}
    assert resolved
