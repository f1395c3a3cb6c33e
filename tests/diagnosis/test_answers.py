"""Texts and what their answers have: the rows of the files of `_FILES`.

A row has `text`, `texts` with the same answer, or a `thread`, the place on GitHub of a text in `*_cases.jsonl`. Its
other keys are compared with the subject (the only one, unless `several`), its first cause (`fix_`, `evidence_`) and the
whole answer (`has`, `lacks`). Oracles are in the comments of the files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from abiscan.analysis.explanation import explain_text
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from tests.diagnosis.reported import FILES
from tests.tables import sampled

_OPTIONS = ScanOptions(None, None, LoaderSettings("/"))
_DATA = Path(__file__).parent / "data"
_FILES = {
    "answers.toml": "answer",
    "in_full.toml": "answer",
    "confidence.toml": "answer",
    "topics.toml": "answer",
    "source_builds.toml": "answer",
    "retellings.toml": "text",
}
# Values of the subject and of its first cause.
_EXPECTED = {
    *("subject", "mangled", "demangled", "message", "kind", "owner", "title", "needed_by", "location", "near"),
    *("is_exported", "exported_in", "causes", "cause", "confidence"),
}
_KEYS = {
    *("text", "texts", "thread", "torch", "several", "unanswered", "only_cause", "causes_have", "causes_lack"),
    *("has", "lacks"),
    *("fix_begins", "fix_has", "fix_lines", "fix_lacks", "fix_ends", "notes_have", "title_has", "title_lacks"),
    *("evidence_begins_with", "evidence_has", "evidence_lines", "evidence_lacks", *_EXPECTED),
}


def _rows() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, table in _FILES.items():
        for row in tomllib.loads((_DATA / name).read_text(encoding="utf-8"))[table]:
            assert row.keys() <= _KEYS, row
            assert row.keys() - {"text", "texts", "thread", "several"}, row
            texts = row.get("texts") or [_text_of(row["thread"]) if "thread" in row else row["text"]]
            yield from ((text, row) for text in texts)


def _text_of(thread: str) -> str:
    rows = (json.loads(line) for path in FILES for line in path.read_text(encoding="utf-8").splitlines() if line)
    (row,) = (row for row in rows if row["url"] == f"https://github.com/{thread}" and row["cause_confirmed"])
    return str(row["text"])


@pytest.mark.parametrize(("text", "row"), sampled(list(_rows()), mark=pytest.mark.one_python))
def test_answer(text: str, row: dict[str, Any]) -> None:
    options = ScanOptions(row["torch"], None, LoaderSettings("/")) if "torch" in row else _OPTIONS
    if row.get("unanswered"):
        assert explain_text(text, options).subjects == ()
        return
    subject, *others = explain_text(text, options).subjects
    first = subject.causes[0]
    fix, evidence = first.fix, "\n".join(first.evidence)
    answer = "\n".join(part for cause in subject.causes for part in (*cause.evidence, cause.fix))
    assert not others or row.get("several")
    assert len(subject.causes) == 1 or not row.get("only_cause")
    exported = subject.exported_in
    found = {
        "subject": subject.text,
        "mangled": subject.mangled,
        "demangled": subject.demangled,
        "message": subject.message,
        "kind": subject.kind,
        "owner": subject.owner,
        "title": subject.title,
        "needed_by": subject.needed_by,
        "location": subject.location and f"{subject.location.file}:{subject.location.line}",
        "near": list(subject.near),
        "is_exported": bool(exported),
        "exported_in": exported and exported.text(),
        "causes": [cause.cause for cause in subject.causes],
        "cause": first.cause,
        "confidence": first.confidence,
    }
    expected = row.keys() & _EXPECTED
    assert {name: found[name] for name in expected} == {name: row[name] for name in expected}
    causes = set(found["causes"])
    assert set(row.get("causes_have", ())) <= causes
    assert not causes & set(row.get("causes_lack", ()))
    assert set(row.get("fix_lines", ())) <= set(fix.splitlines())
    assert set(row.get("evidence_lines", ())) <= set(first.evidence)
    assert fix.startswith(row.get("fix_begins", ""))
    assert fix.endswith(row.get("fix_ends", ""))
    assert [part for part in row.get("evidence_begins_with", []) if part not in first.evidence[0]] == []
    assert [part for part in row.get("notes_have", []) if part not in "\n".join(subject.notes)] == []
    for where, words in (("fix", fix), ("evidence", evidence), ("title", subject.title)):
        assert [part for part in row.get(f"{where}_has", []) if part not in words] == []
        assert [part for part in row.get(f"{where}_lacks", []) if part in words] == []
    assert [part for part in row.get("has", []) if part not in answer] == []
    whole = "\n".join((answer, *subject.notes, *subject.history))
    assert [part for part in row.get("lacks", []) if part in whole] == []
