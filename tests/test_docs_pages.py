"""The documentation: valid links, commands that run, one place for the repository's address."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.programs import output_of
from tests.test_docs_commands import blocks, checkout, shell  # noqa: F401 - the fixture
from tools import cause_docs, release_check, repository, rule_docs
from tools.generate import GENERATED, ROOT, gone

DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in DOCS.rglob("*.md"))


@pytest.mark.parametrize("page", [*PAGES, "README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_lead_to_files(page: str) -> None:
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\((?!https?://)([^)\s]+)\)", text):
        path = link.partition("#")[0]
        assert not path or (ROOT / page).parent.joinpath(path).exists(), link


@pytest.mark.parametrize("page", PAGES)
def test_headers_are_code(page: str) -> None:
    """Python-Markdown passes `<ATen/cuda/Atomic.cuh>` on as an HTML tag, which no browser shows."""
    text = re.sub(
        r"^ *```.*?^ *```|^    .*?$", "", (DOCS.parent / page).read_text(encoding="utf-8"), flags=re.DOTALL | re.M
    )
    assert re.findall(r"<[A-Za-z]\w*/[^<>\s]*>", re.sub(r"`[^`\n]*`", "", text)) == []


@pytest.mark.parametrize("page", [*PAGES, "README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_tests_that_a_page_names_exist(page: str) -> None:
    """`tests/diagnosis/test_texts.py`, `test_growth.py`, `test_package.py::test_it`."""
    by_name = {path.name: path for path in (ROOT / "tests").rglob("test_*.py")}
    text = (ROOT / page).read_text(encoding="utf-8")
    for name in re.findall(r"(?<![\w/])tests/[\w/.-]*\w", text):
        assert (ROOT / name).exists(), name
    for name, function in re.findall(r"(?<!\w)(test_\w+\.py)(?:::(\w+))?", text):
        assert name in by_name, name
        assert not function or f"def {function}(" in by_name[name].read_text(encoding="utf-8"), function


def test_the_site_names_pages_that_are_there() -> None:
    """tools/site_hooks.py adds those below `project/`."""
    named = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(named) > 20
    for page in named:
        assert (ROOT / page.removeprefix("project/") if page.startswith("project/") else DOCS / page).exists(), page


def test_each_rule_and_cause_has_a_page_and_no_other_is_there(tmp_path: Path) -> None:
    assert {f"docs/rules/{path.name}" for path in (DOCS / "rules").iterdir()} == rule_docs.pages().keys()
    assert {f"docs/causes/{path.name}" for path in (DOCS / "causes").iterdir()} == cause_docs.pages().keys()
    left = tmp_path / "docs" / "rules" / "of-yesterday.md"
    left.parent.mkdir(parents=True)
    left.write_text("")
    assert gone(tmp_path, check=True) == ["docs/rules/of-yesterday.md"]
    assert left.exists()
    gone(tmp_path, check=False)
    assert not left.exists()


def test_the_address_is_spelled_in_one_place() -> None:
    """In `pyproject.toml`; other files are generated from it."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        files = [path for path in ROOT.rglob("*") if path.is_file() and path.suffix in (".md", ".cff", ".yml", ".py")]
    else:
        listed = output_of([git, "ls-files", "-z"], cwd=ROOT)
        files = [ROOT / name for name in listed.split("\0") if name]
    spelled = re.compile(r"github\.com/[\w-]+/abiscan\b|uses: [\w-]+/abiscan@")
    found = set()
    for path in files:
        if path.suffix not in (".md", ".cff", ".yml", ".yaml", ".toml", ".py", ".sh", ".j2", ".html"):
            continue
        if spelled.search(path.read_text(encoding="utf-8", errors="replace")):
            found.add(path.relative_to(ROOT).as_posix())
    made = {name for name, render in GENERATED.items() if render is repository.render}
    assert found - made <= {"pyproject.toml", "tools/repository.py"}
    who = "someone"
    text = f"uses: {who}/abiscan@v1\nrepo: https://github.com/{who}/abiscan\n"
    short = repository.address().removeprefix("https://github.com/")
    assert repository.render(text) == f"uses: {short}@v1\nrepo: https://github.com/{short}\n"


@pytest.mark.slow
def test_recipes_run_as_written(checkout: Path) -> None:  # noqa: F811 - the fixture
    """In order, as by a reader."""
    (checkout / "build").mkdir()
    shutil.copy(ROOT / "tests" / "fixtures" / "good-extension.so", checkout / "build" / "lib.so")
    for script in blocks((DOCS / "how-to" / "recipes.md").read_text(encoding="utf-8"), "sh"):
        for line in script.splitlines():
            done = shell(checkout, line)
            assert done.returncode in (0, 1), (line, done.stderr)
    # The ratchet: accepted calls pass, others fail.
    (write, hold) = re.findall(r"^abiscan build/lib.so --require-stable-abi .*$", _recipes(), re.MULTILINE)
    assert shell(checkout, write).returncode == 0
    assert shell(checkout, hold).returncode == 0
    shutil.copy(ROOT / "tests" / "fixtures" / "gcc-const-data-ptr.so", checkout / "build" / "lib.so")
    assert shell(checkout, hold).returncode == 1


def _recipes() -> str:
    return (DOCS / "how-to" / "recipes.md").read_text(encoding="utf-8")


def test_a_release_that_is_not_ready_is_refused(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "CITATION.cff", "CHANGELOG.md", "abiscan/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        text = (ROOT / name).read_text(encoding="utf-8").replace("/OWNER/", "/someone/")
        (tmp_path / name).write_text(text.replace("## [Unreleased]", "## [0.1.0] - 2027-01-01"), encoding="utf-8")
    assert list(release_check.problems(tmp_path)) == []
    citation = tmp_path / "CITATION.cff"
    citation.write_text(citation.read_text(encoding="utf-8").replace("version: 0.1.0", "version: 0.0.9"))
    (tmp_path / "CHANGELOG.md").write_text("")
    project = tmp_path / "pyproject.toml"
    project.write_text(project.read_text(encoding="utf-8").replace("/someone/", "/OWNER/"))
    assert len(list(release_check.problems(tmp_path))) == 3
