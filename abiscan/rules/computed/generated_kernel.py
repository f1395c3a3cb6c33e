"""Generated Triton kernels: names in `triton_meta` that nothing defines. Parsed, never run.

TorchInductor writes one Python module for a graph; a kernel stands in it as a string that is compiled later
(`async_compile.triton(name, '''...''')`), or as a module of its own in the compile cache.
"""

from __future__ import annotations

import ast
import builtins

from abiscan.model.finding import Finding, Location
from abiscan.rules.make_finding import make_finding
from abiscan.rules.rule import Rule

MARK = "triton_meta"
# Characters; a parsed module takes some 100 bytes of memory for each. The largest generated ones have 2 MiB.
MAX_TEXT = 4 << 20
_BUILTINS = frozenset(dir(builtins))


def match_kernels(rule: Rule, text: str, path: str, module: str) -> tuple[Finding, ...]:
    """A finding for each undefined name, with the lines it is used in; none where the text is no Python.

    Args:
        rule: `generated-kernel`.
        text: of a Python module.
        path: as reports should name it.
        module: what fingerprints call the file.
    """
    if MARK not in text or len(text) > MAX_TEXT:
        return ()
    found: dict[str, set[tuple[int, str]]] = {}
    _module(text, 1, frozenset(), found)
    return tuple(_finding(rule, path, module, name, sorted(places)) for name, places in sorted(found.items()))


def _finding(rule: Rule, path: str, module: str, name: str, places: list[tuple[int, str]]) -> Finding:
    fields = {"name": name, "detail": places[0][1], "target": ""}
    locations = tuple(Location(file=path, line=line) for line, _where in places)
    return make_finding(rule, fields, (module, name), locations=locations)


def _module(text: str, first_line: int, outer: frozenset[str], found: dict[str, set[tuple[int, str]]]) -> None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    nodes = list(ast.walk(tree))
    if any(isinstance(node, ast.ImportFrom) and any(each.name == "*" for each in node.names) for node in nodes):
        return  # a star import may define anything
    known = _BUILTINS | outer | _bound(nodes)
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and MARK in node.value:
            _module(node.value, first_line + node.lineno - 1, frozenset(), found)
            continue
        meta = _meta(node)
        if meta is None:
            continue
        for key, part in _entries(meta):
            for name in ast.walk(part):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load) and name.id not in known:
                    where = f"`{MARK}[{key!r}]`" if key else f"`{MARK}`"
                    found.setdefault(name.id, set()).add((first_line + name.lineno - 1, where))


def _meta(node: ast.AST) -> ast.expr | None:
    """The value that a node gives to `triton_meta`."""
    if isinstance(node, ast.keyword) and node.arg == MARK:
        return node.value
    if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == MARK for to in node.targets):
        return node.value
    return None


def _entries(meta: ast.expr) -> list[tuple[str, ast.expr]]:
    if not isinstance(meta, ast.Dict):
        return [("", meta)]
    return [
        (str(key.value) if isinstance(key, ast.Constant) else "", part)
        for key, value in zip(meta.keys, meta.values, strict=True)
        for part in ((key, value) if key is not None else (value,))
    ]


def _bound(nodes: list[ast.AST]) -> frozenset[str]:
    """Every name that the module binds anywhere; in which scope is not asked: what is defined must not be reported."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            names.add(node.name)
    return frozenset(names)
