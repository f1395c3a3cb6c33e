"""Every cause has a usable page, and a text for which `explain` finds it."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import jsonschema
import pytest

import abiscan.diagnosis.causes
from abiscan.diagnosis.catalogue.cause_catalogue import cause_pages, load_causes, title
from abiscan.diagnosis.causes import MODULES, NOT_OF_TORCH
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, ranked
from abiscan.diagnosis.reference import Reference
from abiscan.model.cause import CauseId
from abiscan.model.cause_page import CausePage, Situation
from abiscan.model.target import TorchBuild, TorchKind
from abiscan.releases import ReleaseIndex
from tests.diagnosis.reported import DATA
from tests.programs import output_of, run_program
from tests.tables import table_rows
from tools import cause_docs
from tools.cause_data import CATALOGUE, InvalidCause, causes, read_cause_file

PAGES = causes()
TEXTS = tomllib.loads((DATA / "texts.toml").read_text(encoding="utf-8"))["text"]


@cache
def abiscan_output(*words: str) -> str:
    return output_of([sys.executable, "-m", "abiscan", *words], cwd=DATA)


def _commands(page: CausePage) -> list[str]:
    found = [*(check.commands for check in page.confirm), *(remedy.commands for remedy in page.fix)]
    return [commands for commands in found if commands]


def test_every_cause_has_a_page_in_the_order_of_the_enumeration() -> None:
    assert [page.id for page in PAGES] == list(CauseId)
    assert list(load_causes().values()) == PAGES
    assert cause_pages(()) == ()
    two = cause_pages((CauseId.UNUSABLE_FILE, CauseId.ROCM_NAMING, CauseId.UNUSABLE_FILE))
    assert [page.id for page in two] == [CauseId.ROCM_NAMING, CauseId.UNUSABLE_FILE]


@pytest.mark.parametrize("cause", CauseId)
def test_a_labelled_text_shows_the_cause(cause: CauseId) -> None:
    """`test_texts.py` explains each text and compares the cause."""
    assert any(cause in (row["cause"], row.get("also")) for row in TEXTS.values())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.id)
def test_a_page_has_a_fix_for_every_situation(page: CausePage) -> None:
    assert [remedy.situation for remedy in page.fix] == list(Situation)
    assert len(page.explanation.split()) > 40
    assert page.confirm


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.id)
def test_the_commands_of_a_page_can_be_pasted(page: CausePage) -> None:
    """bash parses them, Python compiles its code, and abiscan accepts its options."""
    for commands in _commands(page):
        parsed = run_program(["bash", "-n"], input=commands)
        assert (parsed.returncode, parsed.stderr) == (0, ""), commands
        for code in re.findall(r"""python -c (?:"([^"]*)"|'([^']*)')""", commands):
            ast.parse("".join(code))
        for words in re.findall(r"^abiscan ([^|<>\n#]*)", commands, re.MULTILINE):
            asked = [word.strip("\"'") for word in re.findall(r"\"[^\"]*\"|\S+", words)]
            options = [word for word in asked if word.startswith("--") or re.fullmatch(r"-[a-z]", word)]
            command = asked[:1] if asked[0] in ("explain", "fix", "env", "releases") else ["scan"]
            shown = abiscan_output(*command, "--help")
            assert [option for option in options if option not in shown] == [], words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.id)
def test_no_advice_that_a_check_of_abiscan_refutes(page: CausePage) -> None:
    """The real libtorch 2.13 exports no name made by -fclang-abi-compat=17: the flag is advised only with its
    releases."""
    for remedy in page.fix:
        if "-fclang-abi-compat" in remedy.text + remedy.commands:
            assert "for torch 2.3 to 2.11" in remedy.text
            assert "-fclang-abi-compat" not in remedy.commands


@table_rows
def test_a_wrong_file_is_named(tmp_path: Path, old: str, new: str, problem: str) -> None:
    path = tmp_path / "cxx11-abi-mismatch.toml"
    text = (CATALOGUE / path.name).read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InvalidCause, match=rf"^cxx11-abi-mismatch\.toml: .*{re.escape(problem)}"):
        read_cause_file(path)


def test_a_page_has_no_markdown_link() -> None:
    """A terminal prints it as it is."""
    texts = [text for page in PAGES for text in (page.explanation, page.detection, page.prevention)]
    texts += [part.text for page in PAGES for part in (*page.confirm, *page.fix)]
    assert [text for text in texts if "](" in text] == []


def test_explain_prints_the_page() -> None:
    shown = abiscan_output("explain", "cxx11-abi-mismatch")
    for words in (
        "Detected from",
        "Confirm it by hand",
        "  Prebuilt wheel",
        "  Only the binary is available",
        "Prevention",
    ):
        assert f"\n{words}\n" in shown
    assert "torch.compiled_with_cxx11_abi()" in shown
    assert "https://gcc.gnu.org/onlinedocs/libstdc++/manual/using_dual_abi.html" in shown


def test_explain_writes_the_page_as_json() -> None:
    document = json.loads(abiscan_output("explain", "-f", "json", "signature-changed"))
    definitions = json.loads(abiscan_output("schema"))["$defs"]
    jsonschema.validate(document, {"$defs": definitions, "$ref": "#/$defs/explain"})
    cause = document["cause"]
    assert (cause["id"], cause["fix"][0]["situation"]) == ("signature-changed", "wheel")
    assert cause["title"].startswith("A function that the file calls has another signature in the installed torch")
    assert "{torch}" not in json.dumps(cause)


def test_reports_of_a_file_hold_the_pages_of_its_causes(tmp_path: Path) -> None:
    """A file with the old std::string and torch 2.13.0."""
    file = DATA.parents[1] / "fixtures" / "old-string-extension.so"
    formats = [f"--format={name}:{tmp_path / name}" for name in ("sarif", "html")]
    words = [sys.executable, "-m", "abiscan", "--torch", "2.13.0", *formats, str(file)]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 1
    (run,) = json.loads((tmp_path / "sarif").read_text())["runs"]
    (rule,) = [rule for rule in run["tool"]["driver"]["rules"] if rule["id"] == "missing-import"]
    assert "\n## cxx11-abi-mismatch\n" in rule["help"]["markdown"]
    assert "torch.compiled_with_cxx11_abi()" in rule["help"]["text"]
    (unused,) = [rule for rule in run["tool"]["driver"]["rules"] if rule["id"] == "thc-api"]
    assert "cxx11-abi-mismatch" not in unused["help"]["markdown"]
    assert {"cxx11-abi-mismatch"} in [set(each["properties"].get("causes", ())) for each in run["results"]]
    page = (tmp_path / "html").read_text()
    assert page.count("Confirm it by hand") == 1
    assert "Fix: Only the binary is available" in page


def test_every_module_of_causes_is_run() -> None:
    folder = Path(abiscan.diagnosis.causes.__file__).parent
    assert set(MODULES) == {path.stem for path in folder.glob("*.py") if path.stem != "__init__"}
    assert all(callable(importlib.import_module(f"abiscan.diagnosis.causes.{name}").causes) for name in MODULES)


def test_modules_that_are_not_run_for_symbols_of_torch_have_no_causes_for_them(index: ReleaseIndex) -> None:
    symbols = [
        each for prefix in ("_ZN2at", "_ZNK3c10", "_ZN5torch", "_ZTV") for each in list(index.prefix(prefix))[::9]
    ]
    missing = [MissingName(Reference(name), Knowledge(releases=index)) for name in symbols]
    of_torch = [each for each in missing if each.cxx is not None and each.is_torch_name]
    assert len(of_torch) > 200
    for name in sorted(NOT_OF_TORCH):
        module = importlib.import_module(f"abiscan.diagnosis.causes.{name}")
        assert [each.name for each in of_torch if list(module.causes(each))] == [], name


def test_the_table_of_the_documentation_is_made_of_the_pages() -> None:
    text = cause_docs.TARGET.read_text(encoding="utf-8")
    assert cause_docs.render(text) == text
    assert all(text.count(f"| [`{page.id}`](causes/{page.id}.md) |") == 1 for page in PAGES)
    with pytest.raises(ValueError, match="end of causes"):
        cause_docs.render("a page without the table")


def test_a_title_names_the_target() -> None:
    target = TorchBuild(TorchKind.RELEASE, "2.6.0", "cu124", None, None, None, None, None)
    assert title(CauseId.DISTRIBUTION_VARIANT, target).startswith("torch 2.6.0 (cu124) is")
    assert title(CauseId.DISTRIBUTION_VARIANT).startswith("The installed torch is")
    assert title(CauseId.OP_NOT_REGISTERED, target).startswith("torch.compile ")


def test_the_order_of_the_causes_settles_a_tie() -> None:
    all_alike = [Candidate(cause, 0.5, (), "") for cause in CauseId]
    assert [candidate.cause for candidate in ranked(reversed(all_alike))] == list(CauseId)
    assert ranked([*all_alike, Candidate(CauseId.HALF_INTRINSIC, 0.6, (), "")])[0].cause is CauseId.HALF_INTRINSIC


def test_a_scan_without_a_missing_name_loads_no_causes(fixtures_dir: Path) -> None:
    file, options = str(fixtures_dir / "good-extension.so"), "abiscan.ScanOptions(torch='2.13.0', environment=None)"
    scan = f"assert abiscan.scan({file!r}, {options}).verdict == 'pass'"
    code = f"import sys, abiscan; {scan}; print(*(m for m in sys.modules if m.startswith('abiscan.diagnosis')))"
    assert output_of([sys.executable, "-c", code]).split() == []
