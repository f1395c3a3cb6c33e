"""Make the stubs of a new rule, cause, message, format or pass: `python tools/new.py KIND NAME`.

Creates every file and inserts every row, so that the package runs with the stub at once. `TODO` marks missing parts;
`tests/test_new.py` rejects it, and the tests that are printed at the end check the rest. NAME is the id: lower-case
words with hyphens. No file is overwritten.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

RULE_TOML = """\
summary = "TODO: what is found, as a noun phrase"
why = "TODO: what goes wrong, and on which releases"
example = "TODO: code or a message that shows it"
use_instead = "TODO: what to write or to do"
references = ["https://docs.pytorch.org/docs/stable/cpp_extension.html"]
since = "0.1.0"
severity = "note"
confidence = "high"
message = "calls `{qualified}`; {status}; exported by {exported_in}"
fix = "TODO: the imperative"

# Other patterns: abiscan/rules/rule.py. A rule that code computes has `computed = true` instead of patterns, and a
# function in abiscan/rules/computed/.
[[import]]
scope = ["todo_scope"]
base = ["WORDS"]
"""
FIXTURE = """\
// TODO: declare what the headers of torch declare, and call it.
namespace todo_scope { void WORDS(); }
void caller() { todo_scope::WORDS(); }
"""
CAUSE_TOML = """\
title = "TODO: what is wrong with the file beside {torch}."
explanation = "TODO: a paragraph of more than 40 words: why it happens, and to whom."
detection = "TODO: the facts from which it is concluded."
prevention = "TODO: what a publisher does so that nobody meets it."
references = ["https://docs.pytorch.org/docs/stable/cpp_extension.html"]

[[confirm]]
text = "TODO: what the command shows."
commands = "abiscan FILE.so"

[fix.wheel]
text = "TODO"

[fix.source]
text = "TODO"

[fix.conda]
text = "TODO"

[fix.container]
text = "TODO"

[fix.binary]
text = "TODO"
"""
MESSAGE_TOML = """\
# TODO: the family of messages; a single row may go into another file of this folder.

[message.NAME]
anchors = ["TODO NAME"]
after = ''': (?P<what>[\\w.-]{1,64})'''
kind = "runtime-error"
text = "{what}"
source = "TODO: the program and the file that print it"
examples = [{ text = "error: TODO NAME: libfoo.so", captures = { what = "libfoo.so" }, causes = ["unusable-file"] }]
cause = "unusable-file"
score = 0.5
evidence = "TODO: what the message means for {what}."
fix = "TODO: the imperative, or a command"
"""
CAUSE_MODULE = """\
\"\"\"NAME: TODO: what is asked, and of which facts.\"\"\"

from __future__ import annotations

from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidates
from abiscan.diagnosis.templates.code_causes import row_causes


def causes(missing: MissingName) -> Candidates:
    \"\"\"Computed from facts about the missing name, never from a list of known symbols.\"\"\"
    # TODO: the condition.
    if missing.name == "TODO":
        yield from row_causes("NAME", missing)
"""
CAUSE_ROW = """\

[causes.NAME]
cause = "NAME"
# TODO: a score that the facts support: high confidence from 0.8.
score = 0.5
evidence = ["TODO: the fact that shows it, about {shown_name}.", "{exported_text}"]
fix = "{rebuild_file}"
"""
FORMAT_MODULE = """\
\"\"\"NAME: TODO: who reads it, by which specification.\"\"\"

from __future__ import annotations

from abiscan.model.report import Report
from abiscan.report.escape import printable
from abiscan.report.order import sorted_artifacts


def render(report: Report) -> str:
    \"\"\"The run, ending in a newline.\"\"\"
    # TODO: the format. Every name is made safe for it: abiscan/report/escape.py.
    return "".join(f"{printable(each.display)}: {each.verdict}\\n" for each in sorted_artifacts(report.artifacts))
"""
FORMAT_TEST = """\
\"\"\"The format NAME.\"\"\"

from __future__ import annotations

import pytest

from abiscan.report import render
from tests.report import samples


@pytest.mark.parametrize("report", [samples.mixed(), samples.hostile(), samples.empty()])
def test_every_line_is_printable(report: samples.Report) -> None:
    # TODO: the schema of the format, or what its specification asks for.
    assert all(line.isprintable() for line in render("NAME", report).splitlines())
"""
PASS_MODULE = """\
\"\"\"TODO: one line, as docs/architecture.md shows it.\"\"\"

from __future__ import annotations

from abiscan.analysis.file_record import FileRecord


def WORDS(record: FileRecord) -> None:
    \"\"\"TODO: what it concludes from the fields that it reads.\"\"\"
    record.WORDS_found = bool(record.binary)
"""


@dataclass
class Stubs:
    """Files to create and rows to insert, written once all of them are known to be possible.

    Attributes:
        root: of the repository.
        name: the id; `words` with underscores instead of hyphens.
        texts: path below the root -> new contents.
        made: a line for each change.
    """

    root: Path
    name: str
    texts: dict[str, str] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        return self.name.replace("-", "_")

    def file(self, path: str, template: str) -> None:
        """Add a file."""
        if (self.root / path).exists():
            sys.exit(f"{path} is there already")
        self.texts[path] = self._filled(template)
        self.made.append(f"new file {path}")

    def append(self, path: str, template: str) -> None:
        """Add a row at the end of a file."""
        self.texts[path] = self._text(path) + self._filled(template)
        self.made.append(f"row at the end of {path}")

    def row(self, path: str, table: str, row: str) -> None:
        """Add a row at the end of a table: a tuple or mapping that is assigned to a name, or the members of a class."""
        self._insert(path, _end_of(self._text(path), path, table), row)
        self.made.append(f"row in {table} of {path}")

    def write(self) -> None:
        for path, text in self.texts.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text, encoding="utf-8")

    def _filled(self, template: str) -> str:
        return template.replace("NAME", self.name).replace("WORDS", self.words)

    def _text(self, path: str) -> str:
        return self.texts[path] if path in self.texts else (self.root / path).read_text(encoding="utf-8")

    def _insert(self, path: str, after: int, line: str) -> None:
        lines = self._text(path).splitlines()
        lines.insert(after, line)
        self.texts[path] = "\n".join(lines) + "\n"


def _end_of(text: str, path: str, table: str) -> int:
    """The number of the line after which a new row of a table belongs."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and node.name == table:
            members = [each for each in node.body if isinstance(each, ast.Assign | ast.AnnAssign)]
            return members[-1].end_lineno or 0
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == table for target in targets):
            # The closing bracket has a line of its own.
            return (node.end_lineno or 0) - 1
    return sys.exit(f"{path}: no table is called {table}")


def rule(stubs: Stubs) -> str:
    """Add a rule. Return the tests that check the rest."""
    stubs.file(f"abiscan/rules/catalogue/{stubs.name}.toml", RULE_TOML)
    stubs.file(f"tests/fixtures/src/{stubs.words}.cpp", FIXTURE)
    row = f'    Recipe("{stubs.name}.so", f"g++ {{CXX}} {stubs.words}.cpp {{TORCH_LINK}} -o {{{{out}}}}"),'
    stubs.row("tests/fixtures/build.py", "RECIPES", row)
    stubs.file(f"tests/rules/snapshots/{stubs.name}.so.txt", "")
    return "tests/rules tests/test_fixtures.py"


def cause(stubs: Stubs) -> str:
    """Add a cause. Return the tests that check the rest."""
    stubs.row("abiscan/model/cause.py", "CauseId", f'    {stubs.words.upper()} = "{stubs.name}"')
    stubs.file(f"abiscan/diagnosis/catalogue/causes/{stubs.name}.toml", CAUSE_TOML)
    stubs.file(f"abiscan/diagnosis/causes/{stubs.words}.py", CAUSE_MODULE)
    stubs.append("abiscan/diagnosis/catalogue/code_causes.toml", CAUSE_ROW)
    stubs.row("abiscan/diagnosis/causes/__init__.py", "MODULES", f'    "{stubs.words}",')
    return "tests/diagnosis tests/report/test_json_report.py"


def message(stubs: Stubs) -> str:
    """Add a message. Return the tests that check the rest."""
    stubs.file(f"abiscan/diagnosis/catalogue/messages/{stubs.words}.toml", MESSAGE_TOML)
    return "tests/diagnosis/test_message_catalogue.py"


def format_(stubs: Stubs) -> str:
    """Add a format. Return the tests that check the rest."""
    stubs.file(f"abiscan/report/{stubs.words}.py", FORMAT_MODULE)
    row = f'    "{stubs.name}": Format("abiscan.report.{stubs.words}"),'
    stubs.row("abiscan/report/__init__.py", "FORMATS", row)
    stubs.file(f"tests/report/test_{stubs.words}.py", FORMAT_TEST)
    return "tests/report"


def pass_(stubs: Stubs) -> str:
    """Add a pass. Return the tests that check the rest."""
    stubs.file(f"abiscan/analysis/passes/{stubs.words}.py", PASS_MODULE)
    row = f'    Pass("{stubs.words}", reads=("binary",), writes=("{stubs.words}_found",)),'
    stubs.row("abiscan/analysis/passes/__init__.py", "PASSES", row)
    stubs.row("abiscan/analysis/file_record.py", "FileRecord", f"    {stubs.words}_found: bool")
    return "tests/analysis/test_passes.py"


KINDS = {"rule": rule, "cause": cause, "message": message, "format": format_, "pass": pass_}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("name", metavar="NAME")
    options = parser.parse_args()
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", options.name):
        parser.error(f"{options.name!r}: lower-case words with hyphens between")
    stubs = Stubs(ROOT, options.name)
    tests = KINDS[options.kind](stubs)
    stubs.write()
    print("\n".join(stubs.made))
    print(f"Next: `python tools/generate.py`, then what fails in `pytest tests/test_new.py {tests}`; CONTRIBUTING.md")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
