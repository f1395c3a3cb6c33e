"""Makes the stubs of a new rule, cause or format: `python tools/new.py rule|cause|format NAME`.

Every file that it takes is made, and every row is put into its table. What is then left to write is what the tests that
are named at the end say. NAME is the id: lower-case words with hyphens between. A file that is there is never changed
into a stub.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

RULE_TOML = '''\
summary = ""
why = """
"""
example = """
"""
use_instead = ""
references = []
since = ""
severity = "note"
confidence = "high"
message = ""
fix = ""

# Other patterns: abiscan/rules/rule.py. A rule that code computes has `computed = true` instead of patterns, and its
# function has a row in abiscan/rules/computed/__init__.py.
[[import]]
scope = []
base = []
'''
FIXTURE = """\
// NAME: declare what the headers of torch declare, and call it.
"""
CAUSE_MODULE = '''\
"""NAME: what is asked, and of which facts."""

from __future__ import annotations

from abiscan.diagnosis.missing_name import Inquiry
from abiscan.diagnosis.ranking import Candidates


def causes(inquiry: Inquiry) -> Candidates:
    """Computed from facts about the missing name, never from a list of known symbols."""
    raise NotImplementedError(inquiry.name)
'''
FORMAT_MODULE = '''\
"""NAME: who reads it, by which specification."""

from __future__ import annotations

from abiscan.model.report import Report


def render(report: Report) -> str:
    """The run, ending in a newline."""
    raise NotImplementedError(report.version)
'''
TEST = '''\
"""NAME."""

from __future__ import annotations

import pytest


def test_WORDS() -> None:
    pytest.fail("WHAT")
'''


@dataclass
class Stubs:
    """Files to make and rows to put into tables, written once all of them are known to fit.

    Attributes:
        root: of the repository.
        name: the id; `words` with underscores for its hyphens.
        texts: path below the root -> what will stand there.
        made: a line for each thing done.
    """

    root: Path
    name: str
    texts: dict[str, str] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        return self.name.replace("-", "_")

    def file(self, path: str, template: str, *, what: str = "") -> None:
        """A file of its own."""
        if (self.root / path).exists():
            sys.exit(f"{path} is there already")
        text = template.replace("NAME", self.name).replace("WORDS", self.words).replace("WHAT", what)
        self.texts[path] = text
        self.made.append(f"new file {path}")

    def row(self, path: str, table: str, row: str) -> None:
        """A row at the end of a table: a tuple or mapping that is assigned to a name, or the members of a class."""
        self._insert(path, _end_of(self._text(path), path, table), row)
        self.made.append(f"row in {table} of {path}")

    def write(self) -> None:
        for path, text in self.texts.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text, encoding="utf-8")

    def _text(self, path: str) -> str:
        return self.texts[path] if path in self.texts else (self.root / path).read_text(encoding="utf-8")

    def _insert(self, path: str, after: int, line: str) -> None:
        lines = self._text(path).splitlines()
        lines.insert(after, line)
        self.texts[path] = "\n".join(lines) + "\n"


def _end_of(text: str, path: str, table: str) -> int:
    """The number of the line behind which a new row of a table belongs."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and node.name == table:
            return node.body[-1].end_lineno or 0
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == table for target in targets):
            # The bracket that closes it stands on a line of its own.
            return (node.end_lineno or 0) - 1
    return sys.exit(f"{path}: no table is called {table}")


def rule(stubs: Stubs) -> str:
    """The tests that say what is left of a new rule."""
    stubs.file(f"abiscan/rules/catalogue/{stubs.name}.toml", RULE_TOML)
    stubs.file(f"tests/fixtures/src/{stubs.words}.cpp", FIXTURE)
    row = f'    Recipe("{stubs.name}.so", f"g++ {{CXX}} {stubs.words}.cpp {{TORCH_LINK}} -o {{{{out}}}}"),'
    stubs.row("tests/fixtures/build.py", "RECIPES", row)
    stubs.file(f"tests/rules/snapshots/{stubs.name}.so.txt", "")
    return "tests/rules tests/test_fixtures.py"


def cause(stubs: Stubs) -> str:
    """The tests that say what is left of a new cause."""
    member = stubs.words.upper()
    stubs.row("abiscan/model/cause.py", "CauseId", f'    {member} = "{stubs.name}"')
    stubs.file(f"abiscan/diagnosis/causes/{stubs.words}.py", CAUSE_MODULE)
    row = f'    CauseRow(\n        CauseId.{member},\n        "causes.{stubs.words}",\n        "",\n        "",\n    ),'
    stubs.row("abiscan/diagnosis/registry.py", "CAUSES", row)
    stubs.file(f"tests/diagnosis/test_{stubs.words}.py", TEST, what="a report that people wrote, and its cause")
    return "tests/diagnosis tests/report/test_json_report.py"


def format_(stubs: Stubs) -> str:
    """The tests that say what is left of a new format."""
    stubs.file(f"abiscan/report/{stubs.words}.py", FORMAT_MODULE)
    row = f'    "{stubs.name}": Format("abiscan.report.{stubs.words}", "text/plain", ".txt", ""),'
    stubs.row("abiscan/report/__init__.py", "FORMATS", row)
    stubs.file(f"tests/report/test_{stubs.words}.py", TEST, what="its own schema, and the hostile names of the samples")
    return "tests/report"


KINDS = {"rule": rule, "cause": cause, "format": format_}


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
    print(f"What is left: CONTRIBUTING.md, and what fails in `pytest {tests}`")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
