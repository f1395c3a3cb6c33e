"""The layout of docs/architecture.md, held: imports run one way, and each outside power has one home."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import abiscan

PACKAGE = Path(abiscan.__file__).parent

# A module may import from stages of a lower rank, or from its own stage.
RANK = {
    "__init__": 0,
    "errors": 0,
    "model": 0,
    "fingerprint": 0,
    "value": -1,
    "elf": 1,
    "names": 2,
    "libtorch": 3,
    "loader": 4,
    "artifact": 4,
    "diagnosis": 5,
    "rules": 5,
    "source": 6,
    "provenance": 6,
    "surroundings": 6,
    "world": 7,
    "findings": 8,
    "declared": 8,
    "scan": 9,
    "parallel": 10,
    "gate": 10,
    "report": 10,
    "cli": 11,
    "__main__": 12,
}
# These see the values and the errors alone, whatever their rank.
ONLY_VALUES = {"gate", "report"}
VALUES = {"errors", "model", "fingerprint", "value", "__init__"}

# Module -> the stages that may import it.
HOMES = {
    "elftools": {"elf"},
    "struct": {"elf"},
    "cxxfilt": {"names"},
    "pycxxfilt": {"names"},
    "click": {"cli"},
    "jinja2": {"report"},
    "torch": set(),
}


def stage_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0].removesuffix(".py")


def imports_of(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; imports are written in full"
            assert node.module is not None
            found.append(node.module)
            # `from abiscan import elf` names a stage in the alias.
            if node.module == "abiscan":
                found += [f"abiscan.{alias.name}" for alias in node.names]
    return found


MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_run_one_way(path: Path) -> None:
    stage = stage_of(path)
    assert stage in RANK, f"{stage}: a new stage needs a rank here and a line in docs/architecture.md"
    for name in imports_of(path):
        parts = name.split(".")
        if parts[0] != "abiscan" or len(parts) == 1 or parts[1] == "__version__":
            continue
        other = parts[1]
        assert other in RANK, f"{path}: imports {name}"
        if other == stage:
            continue
        if stage in ONLY_VALUES:
            assert other in VALUES, f"{stage} sees the values alone, and imports {name}"
        assert RANK[other] < RANK[stage], f"{stage} imports {name}, which comes after it or beside it"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_outside_powers_have_one_home(path: Path) -> None:
    stage = stage_of(path)
    for name in imports_of(path):
        home = HOMES.get(name.split(".")[0])
        assert home is None or stage in home, f"{stage} imports {name}; its home is {sorted(home or ())}"


def _calls(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [ast.unparse(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)] + [
        ast.unparse(n) for n in ast.walk(tree) if isinstance(n, ast.Attribute)
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_the_command_prints_and_reads_the_environment(path: Path) -> None:
    if stage_of(path) in ("cli", "__main__"):
        return
    calls = set(_calls(path))
    assert not calls & {"print", "os.environ", "os.getenv", "sys.exit", "os.getcwd", "ctypes.CDLL", "os.dlopen"}


def test_every_stage_is_there() -> None:
    """The table above is no wish: each stage named in it exists, so that the test cannot pass on an empty package."""
    stages = {stage_of(p) for p in MODULES}
    assert {"elf", "names", "libtorch", "loader", "diagnosis", "rules", "source", "scan", "report", "cli"} <= stages
