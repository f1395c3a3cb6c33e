"""The Python module that a project builds from a C++ source, from its setup.py (read, not run) or CMakeLists.txt."""

from __future__ import annotations

import ast
import posixpath
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

# A setup.py of known projects has less than 100 kB.
_MAX_SETUP = 1 << 20
_NAME = re.compile(r"[A-Za-z_][\w.]{0,200}", re.ASCII)


class _Module(Struct, frozen=True):
    """One call that makes an extension.

    Attributes:
        name: import name; None if it is computed.
        sources: strings in the arguments of the call.
    """

    name: str | None
    sources: tuple[str, ...]


def module_of_setup(setup: str, source: str) -> str | None:
    """The module that a setup.py builds from a source: `CUDAExtension("name", ["source"])`, or the only module; None if
    unknown.

    Args:
        setup: text of setup.py.
        source: path of the source.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in a foreign file
            tree = ast.parse(setup if len(setup) <= _MAX_SETUP else "")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    made = list(_extensions(tree))
    if len({each.name for each in made}) == 1:
        return made[0].name  # its sources may come from a glob
    # Several modules may have an `interface.cpp`: take the one with the longest matching end of the path, if it is
    # unique.
    lengths = [_matching_end(each.sources, source) for each in made]
    best = max(lengths, default=0)
    return made[lengths.index(best)].name if best and lengths.count(best) == 1 else None


def _extensions(tree: ast.Module) -> Iterator[_Module]:
    """The calls that make extensions: `CUDAExtension`, a variable with this class, or a function of the file that
    returns one (`make_cuda_ext(name=..., module=..., sources=[...])`)."""
    strings, classes = _assigned(tree)
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and _makes(each, classes)]
    makers = {each.name: [argument.arg for argument in each.args.args] for each in functions}
    inner = {id(call) for each in ast.walk(tree) if _is_maker(each, makers) for call in ast.walk(each)}
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or id(call) in inner:
            continue
        called = _last_name(call.func)
        if called in makers or _is_extension(called, classes):
            yield _module_of(call, makers.get(called, ["name"]), strings)


def _assigned(tree: ast.Module) -> tuple[dict[str, str], set[str]]:
    """Variables with one string value, and variables that are a class of extensions (`extension = CUDAExtension`)."""
    strings: dict[str, str | None] = {}
    classes: set[str] = set()
    for each in ast.walk(tree):
        if isinstance(each, ast.Assign) and len(each.targets) == 1 and isinstance(each.targets[0], ast.Name):
            name, value = each.targets[0].id, each.value
            text = value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
            strings[name] = text if strings.get(name, text) == text else None
            chosen = (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)
            if any(_is_extension(_last_name(each), classes) for each in chosen):
                classes.add(name)
    return {name: text for name, text in strings.items() if text is not None}, classes


def _is_extension(name: str, classes: set[str]) -> bool:
    return name in classes or (name.endswith("Extension") and name != "BuildExtension")


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _makes(function: ast.FunctionDef, classes: set[str]) -> bool:
    """Whether a function gives its parameters to an extension: it has a parameter `name` and makes one extension."""
    parameters = {each.arg for each in (*function.args.args, *function.args.kwonlyargs)}
    calls = [each for each in ast.walk(function) if isinstance(each, ast.Call)]
    return "name" in parameters and sum(_is_extension(_last_name(call.func), classes) for call in calls) > 0


def _is_maker(node: ast.AST, makers: Iterable[str]) -> bool:
    """Whether calls in a node make no extension of this project: the body of a maker, or of a class of extensions."""
    if isinstance(node, ast.ClassDef):
        return any(_last_name(base).endswith("Extension") for base in node.bases)
    return isinstance(node, ast.FunctionDef) and node.name in makers


def _module_of(call: ast.Call, parameters: Sequence[str], strings: dict[str, str]) -> _Module:
    named: dict[str | None, ast.expr] = dict(zip(parameters, call.args, strict=False))
    named |= {each.arg: each.value for each in call.keywords}
    name = _string(named.get("name"), strings)
    package = _string(named.get("module"), strings) if "module" in named else ""
    whole = None if name is None or package is None else f"{package}.{name}".lstrip(".")
    values = [each for argument in (*call.args[1:], *named.values()) for each in ast.walk(argument)]
    sources = [each.value for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    # A maker joins them with the directory of the package.
    below = [f"{package.replace('.', '/')}/{each}" for each in sources] if package else []
    return _Module(whole if whole is not None and _NAME.fullmatch(whole) else None, (*sources, *below))


def _string(node: ast.expr | None, strings: dict[str, str]) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return strings.get(node.id) if isinstance(node, ast.Name) else None


def module_of_cmake(text: str, source: str) -> str | None:
    """The module that a CMakeLists.txt builds from a source: `pybind11_add_module(name source...)`, or the only module.

    Args:
        source: path of the source.
    """
    commands = r"(?im)^\s*(?:pybind11_add_module|python3?_add_library)\s*\(\s*([A-Za-z_]\w{0,200})\b([^)]{0,20000})"
    made = re.findall(commands, text)
    naming = [name for name, sources in made if posixpath.basename(source) in sources]
    found = {*naming} or {name for name, _sources in made}
    return found.pop() if len(found) == 1 else None


def _matching_end(given: tuple[str, ...], path: str) -> int:
    """Number of parts at the end of a path, including the file name, that one of the strings has."""
    parts = path.split("/")
    best = 0
    for each in given:
        names = posixpath.normpath(each).lstrip("./").split("/") if len(each) <= 300 else []
        if names and len(names) <= len(parts) and parts[-len(names) :] == names:
            best = max(best, len(names))
    return best
