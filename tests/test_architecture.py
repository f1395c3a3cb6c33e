"""The layout of docs/architecture.md: direction of imports, and one place for each dependency on the outside."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

import abiscan

pytestmark = pytest.mark.one_python

PACKAGE = Path(abiscan.__file__).parent

# The floors of docs/architecture.md, lowest first: a module may import from floors below its own and from its own room.
FLOORS: tuple[set[str], ...] = (
    {"child_processes", "errors", "filesystem", "model", "data", "zstd"},
    {"file_buffer"},
    {"elf", "macho", "mangling", "pe"},
    {"binary"},
    {"ownership", "wheel"},
    {"releases", "inputs"},
    {"environment"},
    {"loader", "target"},
    {"diagnosis", "rules"},
    {"source", "provenance"},
    {"analysis"},
    {"compare", "gate", "report"},
    {"registry"},
    {"cli", "library"},
    {"__init__", "__main__"},
)
# The folders of diagnosis, lowest first, as in docs/architecture.md: a module imports from those before its own.
# Modules outside the folders are of a missing name.
STEPS = ("catalogue", "text", "fixes", "templates", "libraries", "causes", "facts", "readers", "readings")
RANK = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# These may import only values and errors, whatever their floor.
ONLY_VALUES = {"gate", "report"}
VALUES = FLOORS[0]

# Module -> the stages that may import it.
HOMES = {
    "elftools": {"elf"},
    # Text is checked against the limits first.
    "packaging": {"model"},
    "struct": {"elf", "file_buffer", "macho", "pe"},
    # The room that starts a child process also isolates it from local modules.
    "subprocess": {"child_processes"},
    "pty": {"cli"},
    "cxxfilt": {"mangling"},
    "pycxxfilt": {"mangling"},
    "click": {"cli"},
    "jinja2": {"report"},
    "tqdm": {"cli"},
    "torch": set(),
    "requests": {"inputs"},
    "pypi_simple": {"inputs"},
    "fsspec": {"inputs"},
    "pebble": {"registry"},
    "ray": {"registry"},
    "pyarrow": {"registry"},
}


def stage_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0].removesuffix(".py")


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def imports_of(path: Path) -> list[str]:
    tree = _tree(path)
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; imports are written in full"
            assert node.module is not None
            found.append(node.module)
            # `from abiscan import elf` has the room in the alias.
            if node.module == "abiscan":
                found += [f"abiscan.{alias.name}" for alias in node.names]
    return found


MODULES = sorted(PACKAGE.rglob("*.py"))
ROOMS = sorted({stage_of(path) for path in MODULES})


def _imports_run_one_way(path: Path) -> None:
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


@pytest.mark.parametrize("room", ROOMS)
def test_imports_run_one_way(room: str) -> None:
    for path in MODULES:
        if stage_of(path) == room:
            _imports_run_one_way(path)


def test_the_steps_of_diagnosis_run_one_way() -> None:
    found = {path.parent.name for path in MODULES if path.parent.parent == PACKAGE / "diagnosis"}
    assert found == set(STEPS)
    text = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = text.partition("<!-- steps -->")[2].partition("<!-- end of steps -->")[0]
    assert tuple(line.split("`")[1] for line in table.splitlines() if line.startswith("| `")) == STEPS
    for path in MODULES:
        if path.parent.parent == PACKAGE / "diagnosis":
            for name in imports_of(path):
                parts = name.split(".")
                if parts[:2] == ["abiscan", "diagnosis"] and parts[2:3] and parts[2] in STEPS:
                    assert STEPS.index(parts[2]) <= STEPS.index(path.parent.name), f"{path}: imports {name}"


def _outside_powers_have_one_home(path: Path) -> None:
    stage = stage_of(path)
    for name in imports_of(path):
        home = HOMES.get(name.split(".")[0])
        assert home is None or stage in home, f"{stage} imports {name}; its home is {sorted(home or ())}"


@pytest.mark.parametrize("room", ROOMS)
def test_outside_powers_have_one_home(room: str) -> None:
    for path in MODULES:
        if stage_of(path) == room:
            _outside_powers_have_one_home(path)


def _dependency_parsers(tree: ast.AST) -> set[str]:
    """Names in a module that parse dependency text, from `packaging` or its copies; without its own classes."""
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    # Values of other modules of the package are not packaging's (`loader.definitions.Version`).
    own = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("abiscan")
        for alias in node.names
    }
    calls = {ast.unparse(n.func).rpartition(".")[2] for n in ast.walk(tree) if isinstance(n, ast.Call)}
    texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    modules = {name for name in texts if name in ("packaging", "pkg_resources") or name.startswith("packaging.")}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module or "")
    copies = {name for name in modules if {"packaging", "pkg_resources"} & set(name.split("."))}
    return copies | (calls & _DEPENDENCY_TEXT) - defined - own


# The classes and functions of packaging and importlib.metadata that read text.
_DEPENDENCY_TEXT = {"Requirement", "SpecifierSet", "Specifier", "Version", "Marker"} | {
    *("parse_tag", "parse_wheel_filename", "parse_sdist_filename", "parse_email", "from_email", "requires")
}


def _dependency_text_is_read_in_one_module(path: Path) -> None:
    """Text of a file is parsed as a requirement, version or marker only after the limits in `model/limits.py` were
    checked."""
    found = _dependency_parsers(_tree(path))
    if path == PACKAGE / "model" / "dependency_specifiers.py":
        # The classes are passed to `_read`, which checks the text first, and are not called elsewhere.
        assert found == {"packaging.markers", "packaging.requirements", "packaging.specifiers"}
    else:
        assert not found, path


@pytest.mark.parametrize("room", ROOMS)
def test_dependency_text_is_read_in_one_module(room: str) -> None:
    for path in MODULES:
        if stage_of(path) == room:
            _dependency_text_is_read_in_one_module(path)


def test_a_second_reader_of_dependency_text_is_found() -> None:
    for text in (
        "from packaging.requirements import Requirement",
        "def f(x):\n    import packaging.version as v\n    return v.parse(x)",
        "from pip._vendor.packaging.version import parse",
        "import importlib\nm = importlib.import_module('packaging.version')",
        "def f(m, x):\n    return m.Version(x)",
    ):
        assert _dependency_parsers(ast.parse(text))
    assert not _dependency_parsers(ast.parse("class Version: ...\nVersion('1')"))


def test_formats_are_known_to_their_own_rooms_and_the_registry_alone() -> None:
    """All others use `abiscan.binary`."""
    rooms = ("abiscan.elf", "abiscan.pe", "abiscan.macho")
    knowing = {
        str(path.relative_to(PACKAGE))
        for path in MODULES
        if any(name in rooms or name.startswith(tuple(f"{room}." for room in rooms)) for name in imports_of(path))
    }
    others = {name for name in knowing if not name.startswith(("elf/", "pe/", "macho/", "loader/", "binary/"))}
    assert others == set()
    assert "binary/formats.py" in knowing


def _calls(path: Path) -> list[str]:
    tree = _tree(path)
    return [ast.unparse(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)] + [
        ast.unparse(n) for n in ast.walk(tree) if isinstance(n, ast.Attribute)
    ]


def _only_the_command_prints_and_reads_the_environment(path: Path) -> None:
    if stage_of(path) in ("child_processes", "cli", "library", "__main__", "__init__"):
        return
    calls = set(_calls(path))
    if path == PACKAGE / "mangling" / "demangle.py":
        # It opens the C++ runtime of the process by a constant name, never one from a file.
        assert "_LIBSTDCXX" in path.read_text(encoding="utf-8").partition("ctypes.CDLL(")[2][:12]
        calls -= {"ctypes.CDLL"}
    assert not calls & {"print", "os.environ", "os.getenv", "sys.exit", "os.getcwd", "ctypes.CDLL", "os.dlopen"}


@pytest.mark.parametrize("room", ROOMS)
def test_only_the_command_prints_and_reads_the_environment(room: str) -> None:
    for path in MODULES:
        if stage_of(path) == room:
            _only_the_command_prints_and_reads_the_environment(path)


def test_every_stage_is_there() -> None:
    """Each room in the table exists, so the test cannot pass on an empty package."""
    stages = {stage_of(p) for p in MODULES}
    assert set(RANK) == stages


def test_no_two_modules_have_one_name() -> None:
    """Two files with one name are two things, or one thing in two places. A command is named after its action, so
    `cli/schema.py` and others may share a word with a module in another room."""
    names = [p.name for p in MODULES if p.name != "__init__.py" and stage_of(p) != "cli"]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_the_picture_of_the_code_names_every_room_on_its_floor() -> None:
    """docs/architecture.md lists the rooms floor by floor, lowest first, as the table above has them."""
    text = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = text.partition("<!-- rooms -->")[2].partition("<!-- end of rooms -->")[0]
    floors: list[set[str]] = []
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 3 and cells[1].isdigit():
            if int(cells[1]) >= len(floors):
                floors.append(set())
            floors[-1] |= {word.strip("` ") for word in cells[2].split(",")}
    assert floors == [rooms - {"__init__", "__main__"} for rooms in FLOORS if rooms - {"__init__", "__main__"}]


# Import circles that are still to be removed: (importing, imported module), without "abiscan.". The list only gets
# shorter: a pair that is no longer part of a circle fails the test too.
KNOWN_CIRCLES: set[tuple[str, str]] = set()


def _module_of(path: Path) -> str:
    parts = ("abiscan", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def _imported_modules(path: Path, known: set[str], *, types: bool) -> set[str]:
    """The modules of the package that one imports, including imports in functions.

    Args:
        types: include imports for type checkers only.
    """
    found: set[str] = set()
    waiting: list[ast.AST] = [_tree(path)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and _is_type_checking(node) and not types:
            waiting += node.orelse
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & known
            if not names <= known:
                found.add(node.module)
    # Importing any module imports the root package first: its name among the imports (`__version__`) adds nothing.
    return (found & known) - {_module_of(path), "abiscan"}


def _import_graph(*, types: bool) -> dict[str, set[str]]:
    known = {_module_of(path) for path in MODULES}
    return {_module_of(path): _imported_modules(path, known, types=types) for path in MODULES}


def _circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Groups of two or more modules that all reach each other."""
    reached = {}
    for start in graph:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for each in graph[waiting.pop()] - seen:
                seen.add(each)
                waiting.append(each)
        reached[start] = seen
    groups = {frozenset({a} | {b for b in reached[a] if a in reached[b]}) for a in graph if a in reached[a]}
    return sorted((set(group) for group in groups), key=sorted)


@pytest.mark.parametrize("types", [False, True], ids=["runtime", "with types"])
def test_modules_are_free_of_circles(types: bool) -> None:
    graph = _import_graph(types=types)
    listed = {(f"abiscan.{a}", f"abiscan.{b}") for a, b in KNOWN_CIRCLES}
    circles = _circles(graph)
    for pair in listed:
        assert any(set(pair) <= circle for circle in circles), (
            f"{pair} is in no circle any more: remove it from the list"
        )
        graph[pair[0]].discard(pair[1])
    assert [sorted(circle) for circle in _circles(graph)] == []


def test_rooms_are_free_of_circles() -> None:
    """`test_imports_run_one_way` checks that no import goes up a floor; this, that no two rooms import each other,
    including types."""
    rooms: dict[str, set[str]] = {room: set() for room in RANK}
    for module, imported in _import_graph(types=True).items():
        if module != "abiscan":
            room = module.split(".")[1]
            rooms[room] |= {other.split(".")[1] for other in imported} - {room}
    assert [sorted(circle) for circle in _circles(rooms)] == []


def test_a_circle_is_found() -> None:
    """The search itself, on a graph with known circles."""
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert _circles(graph) == [{"a", "b", "c"}, {"d", "e"}]


# Calls with a path of the scanned system go through `filesystem`, so that `--root` confines them.
_ASKS = {
    "listdir",
    "scandir",
    "walk",
    "isfile",
    "isdir",
    "exists",
    "lexists",
    "realpath",
    "samefile",
    "readlink",
    "glob",
}
_CONFINED = {"environment", "inputs", "loader", "target", "analysis"}
# Path inside of the package -> allowed calls: with a path from `FileSystem.host`, or without another root.
_ASKED_OF_THIS_MACHINE = {
    "environment/python.py": {"isfile", "realpath"},  # the target of a shim on this machine
    "inputs/packages.py": {"walk"},
    "inputs/tree.py": {"scandir", "readlink"},
    "analysis/explanation.py": {"exists"},  # paths in a log
}


@pytest.mark.parametrize("room", sorted(_CONFINED))
def test_the_scanned_system_is_read_through_the_file_system(room: str) -> None:
    for path in sorted((PACKAGE / room).rglob("*.py")):
        allowed = _ASKED_OF_THIS_MACHINE.get(path.relative_to(PACKAGE).as_posix(), set())
        for node in ast.walk(_tree(path)):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ASKS):
                continue
            if ast.unparse(node.func).partition(".")[0] in ("os", "glob"):
                assert node.func.attr in allowed, f"{path}:{node.lineno}: {ast.unparse(node.func)}"


def test_a_class_has_a_name_of_its_own() -> None:
    """Public classes only; `library` has those for users of abiscan, made from the ones below."""
    found: dict[str, list[str]] = {}
    for path in MODULES:
        if path.parent.name != "library":
            for node in _tree(path).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found.setdefault(node.name, []).append(path.name)
    assert {name: homes for name, homes in found.items() if len(homes) > 1} == {}
