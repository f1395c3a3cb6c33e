"""The Python module that a project builds from a C++ source, from its setup.py (read, not run), CMakeLists.txt or
pyproject.toml."""

from __future__ import annotations

import ast
import posixpath
import re
import tomllib
import warnings
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

# A setup.py of known projects has less than 100 kB.
_MAX_SETUP = 1 << 20
_NAME = re.compile(r"[A-Za-z_][\w.]{0,200}", re.ASCII)
# aiter's own function that builds a module takes its name so, and puts it into the package with the table of modules.
_NAME_IN_PACKAGE = "md_name"


class _Module(Struct, frozen=True):
    """One call that makes an extension.

    Attributes:
        name: import name; None if it is computed.
        sources: strings in the arguments of the call.
    """

    name: str | None
    sources: tuple[str, ...]


def module_of_setup(setup: str, source: str, package: str = "") -> str | None:
    """The module that a setup.py builds from a source: `CUDAExtension("name", ["source"])`, or the only module; None if
    unknown.

    Args:
        setup: text of setup.py.
        source: path of the source.
        package: the package of the modules that the project compiles when it runs.
    """
    tree = parse_python(setup if len(setup) <= _MAX_SETUP else "")
    return None if tree is None else _chosen(list(_extensions(tree, package)), source)


def parse_python(text: str) -> ast.Module | None:
    """The syntax tree of a foreign file, which may be invalid or have invalid escapes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _chosen(made: Sequence[_Module], source: str) -> str | None:
    """The name of the module that is built from a source."""
    if len({each.name for each in made}) == 1:
        return made[0].name  # its sources may come from a glob
    # Several modules may have an `interface.cpp`.
    best = best_matching([each.sources for each in made], source)
    return made[best[0]].name if len(best) == 1 else None


def _extensions(tree: ast.Module, package: str) -> Iterator[_Module]:
    """The calls that make extensions: `CUDAExtension`, a variable with this class, or a function of the file that
    returns one (`make_cuda_ext(name=..., module=..., sources=[...])`)."""
    strings, classes = assigned(tree)
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and _makes(each, classes)]
    makers = {each.name: [argument.arg for argument in each.args.args] for each in functions}
    inner = {id(call) for each in ast.walk(tree) if _is_maker(each, makers) for call in ast.walk(each)}
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or id(call) in inner:
            continue
        called = last_name(call.func)
        if called in makers or _is_extension(called, classes):
            yield _module_of(call, makers.get(called, ["name"]), strings)
        elif (named := next((each for each in call.keywords if each.arg == _NAME_IN_PACKAGE), None)) is not None:
            made = _module_of(call, ["name"], strings)
            name = string_of(named.value, strings)
            yield replace(made, name=f"{package}.{name}" if package and name is not None else None)


def assigned(tree: ast.Module) -> tuple[dict[str, str], set[str]]:
    """Variables with one string value, and variables that are a class of extensions (`extension = CUDAExtension`)."""
    strings: dict[str, str | None] = {}
    classes: set[str] = set()
    for each in ast.walk(tree):
        if isinstance(each, ast.Assign) and len(each.targets) == 1 and isinstance(each.targets[0], ast.Name):
            name, value = each.targets[0].id, each.value
            text = value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
            strings[name] = text if strings.get(name, text) == text else None
            chosen = (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)
            if any(_is_extension(last_name(each), classes) for each in chosen):
                classes.add(name)
    return {name: text for name, text in strings.items() if text is not None}, classes


def _is_extension(name: str, classes: set[str]) -> bool:
    return name in classes or (name.endswith("Extension") and name != "BuildExtension")


def last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _makes(function: ast.FunctionDef, classes: set[str]) -> bool:
    """Whether a function gives its parameters to an extension: it has a parameter `name` and makes one extension."""
    parameters = {each.arg for each in (*function.args.args, *function.args.kwonlyargs)}
    calls = [each for each in ast.walk(function) if isinstance(each, ast.Call)]
    return "name" in parameters and sum(_is_extension(last_name(call.func), classes) for call in calls) > 0


def _is_maker(node: ast.AST, makers: Iterable[str]) -> bool:
    """Whether calls in a node make no extension of this project: the body of a maker, or of a class of extensions."""
    if isinstance(node, ast.ClassDef):
        return any(last_name(base).endswith("Extension") for base in node.bases)
    return isinstance(node, ast.FunctionDef) and node.name in makers


def _module_of(call: ast.Call, parameters: Sequence[str], strings: dict[str, str]) -> _Module:
    named = arguments_of(call, parameters)
    name = string_of(named.get("name"), strings)
    package = string_of(named.get("module"), strings) if "module" in named else ""
    whole = None if name is None or package is None else f"{package}.{name}".lstrip(".")
    sources = [text for argument in (*call.args[1:], *named.values()) for text in strings_in(argument)]
    # A maker joins them with the directory of the package.
    below = [f"{package.replace('.', '/')}/{each}" for each in sources] if package else []
    return _Module(whole if whole is not None and _NAME.fullmatch(whole) else None, (*sources, *below))


def arguments_of(call: ast.Call, parameters: Sequence[str]) -> dict[str | None, ast.expr]:
    """The arguments of a call by the names of the parameters."""
    return dict(zip(parameters, call.args, strict=False)) | {each.arg: each.value for each in call.keywords}


def strings_in(node: ast.expr) -> list[str]:
    """All strings in an expression."""
    return [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def string_of(node: ast.expr | None, strings: dict[str, str]) -> str | None:
    """The value of a string or of a variable with one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return strings.get(node.id) if isinstance(node, ast.Name) else None


class Project(Struct, frozen=True):
    """A pyproject.toml.

    Attributes:
        name: of the project; empty if it has none.
        folder: of `[tool.scikit-build]`, where the files that CMake installs go below site-packages.
        modules: of `[tool.setuptools]`.
    """

    name: str = ""
    folder: str = ""
    modules: tuple[_Module, ...] = ()

    def module_of(self, source: str) -> str | None:
        """The module that `ext-modules` of setuptools 74 and later builds from a source."""
        return _chosen(self.modules, source)


def read_project(text: str) -> Project:
    """Parse a pyproject.toml; without what is missing or malformed.

    Source: https://setuptools.pypa.io/en/latest/userguide/ext_modules.html,
    https://scikit-build-core.readthedocs.io/en/latest/reference/configs.html
    """
    try:
        table = tomllib.loads(text if len(text) <= _MAX_SETUP else "")
    except (ValueError, RecursionError):
        return Project()
    rows = _value(table, "tool", "setuptools", "ext-modules")
    made = []
    for row in rows if isinstance(rows, list) else ():
        sources = _value(row, "sources")
        given = tuple(each for each in sources if isinstance(each, str)) if isinstance(sources, list) else ()
        name = _value(row, "name")
        made.append(_Module(name if isinstance(name, str) and _NAME.fullmatch(name) else None, given))
    name, folder = _value(table, "project", "name"), _value(table, "tool", "scikit-build", "wheel", "install-dir")
    return Project(name if isinstance(name, str) else "", folder if isinstance(folder, str) else "", tuple(made))


def _value(table: object, *keys: str) -> object:
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table


_MODULE = re.compile(
    r"(?im)^\s*(?:pybind11_add_module|python3?_add_library)\s*\(\s*([A-Za-z_]\w{0,200})\b([^)]{0,20000})"
)
_SET = re.compile(r"(?im)^\s*(?:set\s*\(\s*(\w{1,200})\s+\"?([\w./-]{1,200})\"?\s*\)|project\s*\(\s*([\w-]{1,200})\b)")
_VARIABLE = re.compile(r"\$\{(\w{1,200})\}")
_INSTALL = re.compile(r"(?i)\binstall\s*\(\s*TARGETS\s+([^)]{1,2000}?)\s+(?:\w+\s+)?DESTINATION\s+\"?([^\s)\"]{1,300})")


def module_of_cmake(text: str, source: str, project: Project | None = None) -> str | None:
    """The module that a CMakeLists.txt builds from a source: `pybind11_add_module(name source...)`, or the only module;
    with the package below which `install(TARGETS name DESTINATION package)` puts it.

    Args:
        source: path of the source.
        project: the pyproject.toml around it.
    """
    project = project or Project()
    known = {"SKBUILD_PLATLIB_DIR": ".", "SKBUILD_PROJECT_NAME": project.name}
    for name, value, named in _SET.findall(text[:_MAX_SETUP]):
        known.setdefault(name or "PROJECT_NAME", value or named)
    # Values that refer to other variables are not followed.
    text = _VARIABLE.sub(lambda match: known.get(match[1]) or match[0], text[:_MAX_SETUP])
    made = _MODULE.findall(text)
    naming = [name for name, sources in made if posixpath.basename(source) in sources]
    found = {*naming} or {name for name, _sources in made}
    if len(found) != 1:
        return None
    module = found.pop()
    folders = {folder for targets, folder in _INSTALL.findall(text) if module in targets.split()}
    package = posixpath.normpath(f"{project.folder}/{folders.pop() if len(folders) == 1 else '.'}".lstrip("/"))
    whole = module if package == "." else f"{package.replace('/', '.')}.{module}"
    return whole if _NAME.fullmatch(whole) else module


def best_matching(sources: Sequence[tuple[str, ...]], path: str) -> list[int]:
    """The indices of the lists with a string that has most parts at the end of a path, at least the file name."""
    lengths = [_matching_end(each, path) for each in sources]
    best = max(lengths, default=0)
    return [at for at, length in enumerate(lengths) if length == best] if best else []


def _matching_end(given: tuple[str, ...], path: str) -> int:
    """Number of parts at the end of a path, including the file name, that one of the strings has."""
    parts = path.split("/")
    best = 0
    for each in given:
        names = posixpath.normpath(each).lstrip("./").split("/") if len(each) <= 300 else []
        if names and len(names) <= len(parts) and parts[-len(names) :] == names:
            best = max(best, len(names))
    return best
