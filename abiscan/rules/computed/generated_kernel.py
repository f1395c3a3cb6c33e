"""Undefined names in modules that torch.compile generated. The modules are compiled to symbol tables and never run.

TorchInductor writes one Python module per graph. A kernel is a string in it that is compiled later
(`async_compile.triton(name, '''...''')`), or a module in the compile cache. Python's compiler (symtable) decides which
names are global, and which are private to a class and mangled."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from abiscan.errors import UnreadableFile
from abiscan.model.finding import Finding, Location
from abiscan.model.limits import MAX_KERNEL_TOKENS
from abiscan.rules.make_finding import make_finding
from abiscan.rules.rule import Rule

META = "triton_meta"
# Texts in a generated module, and in a kernel in one.
_MODULE_MARKS = (META, "torch._inductor")
_KERNEL_MARKS = (META, "@triton.jit")
# Comments, strings, words and punctuation.
_TOKEN = re.compile(
    r"""\#[^\n]*
    |(?P<prefix>\b[a-zA-Z]{1,2})?(?:'''.*?(?:'''|\Z)|\"{3}.*?(?:\"{3}|\Z)|'(?:[^'\\\n]|\\.)*+|"(?:[^"\\\n]|\\.)*+)
    |\w+|[^\w\s]""",
    re.VERBOSE | re.DOTALL,
)
# Depth of kernels as strings in strings.
_MAX_DEPTH = 3
# Names of every module, besides the builtins (The Python Language Reference, 3.2 and 5.4).
_OF_MODULES = frozenset({"__file__", "__builtins__", "__annotations__", "__path__", "__cached__", "__class__"})
_BUILTINS = frozenset(dir(builtins)) | _OF_MODULES
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_NEWER = "Use PyTorch 2.6 or later and clear the compile cache"
_PRIVATE = (
    "Rename the kernel, or use PyTorch 2.13 or later (2.9 to 2.12 generate such modules, pytorch issue 170398), "
    "and clear the compile cache"
)


class _Use(Struct, frozen=True, order=True):
    """Use of a name: line, and part of the module as the middle of a sentence."""

    line: int
    where: str


class _Undefined(Struct, frozen=True, order=True):
    """An undefined name.

    Attributes:
        name: after private name mangling. `written`: as in the source.
    """

    name: str
    written: str


_Found = dict[_Undefined, set[_Use]]


def match_kernels(rule: Rule, text: str, path: str, module: str) -> tuple[Finding, ...]:
    """One finding for each undefined name, with its lines; none if the text is not generated Python.

    Args:
        rule: `generated-kernel`.
        text: of a Python module.
        path: in reports.
        module: name of the file in fingerprints.

    Raises:
        UnreadableFile: it has more than `MAX_KERNEL_TOKENS`.
    """
    if not any(mark in text for mark in _MODULE_MARKS):
        return ()
    found: _Found = {}
    _module(text, path, 1, found, _MAX_DEPTH)
    return tuple(_finding(rule, path, module, name, sorted(uses)) for name, uses in sorted(found.items()))


def _finding(rule: Rule, path: str, module: str, undefined: _Undefined, uses: list[_Use]) -> Finding:
    private = undefined.name != undefined.written
    name = undefined.name
    detail = uses[0].where
    if private:
        detail = f"{detail} (written `{undefined.written}`, which Python mangles inside a class)"
    fields = {"name": name, "detail": detail, "target": _PRIVATE if private else _NEWER}
    locations = tuple(Location(file=path, line=line) for line in sorted({use.line for use in uses}))
    return replace(make_finding(rule, fields, (module, name)), locations=locations)


def _tokens(text: str) -> int:
    """Approximate number of tokens of a module; for a formatted string, the maximum that it can contain."""
    return sum(len(match[0]) if "f" in (match["prefix"] or "").lower() else 1 for match in _TOKEN.finditer(text))


def _module(text: str, path: str, first_line: int, found: _Found, depth: int) -> None:
    if _tokens(text) > MAX_KERNEL_TOKENS:
        raise UnreadableFile(path, f"more than {MAX_KERNEL_TOKENS} tokens: too large for a kernel")
    try:
        tree = ast.parse(text)
        table = symtable.symtable(text, "<generated>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for kernel, line in _kernel_texts(tree) if depth else ():
        _module(kernel, path, first_line + line - 1, found, depth - 1)
    if not _is_generated(tree) or _imports_everything(tree):
        return
    undefined = _undefined(table)
    if not undefined:
        return
    for name, use, scope in _uses(tree):
        if name.name in undefined.get(scope, ()):
            found.setdefault(name, set()).add(_Use(first_line + use.line - 1, use.where))


def _kernel_texts(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """The strings that are kernels, each with its line."""
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(node, ast.Constant) and isinstance(text, str) and any(mark in text for mark in _KERNEL_MARKS):
            yield text, node.lineno


def _is_generated(tree: ast.Module) -> bool:
    """Whether torch.compile generated it or a part of it: it has a `triton_meta`, or a function with @triton.jit and an
    import of torch._inductor."""
    inductor = jit = False
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == META:
            return True
        if isinstance(node, ast.Name) and node.id == META and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, ast.ImportFrom):
            inductor = inductor or (node.module or "").startswith("torch._inductor")
        if isinstance(node, ast.Name) and node.id in ("async_compile", "AsyncCompile"):
            jit = True
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            jit = jit or any(ast.unparse(each).startswith("triton.jit") for each in node.decorator_list)
    return inductor and jit


def _imports_everything(tree: ast.Module) -> bool:
    """Whether it has `from x import *`, which may define any name."""
    return any(
        isinstance(node, ast.ImportFrom) and any(each.name == "*" for each in node.names) for node in ast.walk(tree)
    )


# A function or class by its name and line; ("", 0) is the module.
_Scope = tuple[str, int]


def _undefined(module: symtable.SymbolTable) -> dict[_Scope, set[str]]:
    """The global names of each scope that are not bound anywhere. Those of comprehensions and lambdas count for the
    enclosing function."""
    tables = list(_tables(module))
    bound = {symbol.get_name() for symbol in module.get_symbols() if _binds(symbol)}
    for table, _scope in tables:
        # `global x` in a function, then `x = ...`.
        bound |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_declared_global() and _binds(symbol)}
    undefined: dict[_Scope, set[str]] = {}
    for table, scope in tables:
        for symbol in table.get_symbols():
            name = symbol.get_name()
            looked_up = symbol.is_referenced() and (symbol.is_global() or table is module)
            if looked_up and name not in bound and name not in _BUILTINS:
                undefined.setdefault(scope, set()).add(name)
    return undefined


def _binds(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _tables(module: symtable.SymbolTable) -> Iterator[tuple[symtable.SymbolTable, _Scope]]:
    pending: list[tuple[symtable.SymbolTable, _Scope]] = [(module, ("", 0))]
    while pending:
        table, scope = pending.pop()
        yield table, scope
        for child in table.get_children():
            own = child.get_name().isidentifier() and child.get_name() not in _UNNAMED
            pending.append((child, (child.get_name(), child.get_lineno()) if own else scope))


# Names that the compiler gives to scopes of expressions.
_UNNAMED = frozenset({"lambda", "listcomp", "setcomp", "dictcomp", "genexpr", "top"})


def _uses(tree: ast.Module) -> Iterator[tuple[_Undefined, _Use, _Scope]]:
    """Every read of a name, after private name mangling, with its place and scope."""
    pending: list[tuple[ast.AST, _Context]] = [(tree, _Context(("", 0), None, "the module"))]
    while pending:
        node, context = pending.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield _Undefined(_mangled(node.id, context.owner), node.id), _Use(node.lineno, context.where), context.scope
            continue
        if isinstance(node, ast.Dict) and context.where == f"`{META}`":
            for key, value in zip(node.keys, node.values, strict=True):
                entry = f"`{META}[{key.value!r}]`" if isinstance(key, ast.Constant) else context.where
                inner = _Context(context.scope, context.owner, entry)
                pending += [(part, inner) for part in (key, value) if part is not None]
            continue
        inner = _inside(node, context)
        outside = _outside(node)
        for child in ast.iter_child_nodes(node):
            # Decorators, defaults and bases belong to the enclosing scope.
            pending.append((child, context if id(child) in outside else inner))


class _Context(Struct, frozen=True):
    """The context of a node: scope, class of private names, and name in sentences."""

    scope: _Scope
    owner: str | None
    where: str


def _outside(node: ast.AST) -> frozenset[int]:
    if not isinstance(node, _SCOPES):
        return frozenset()
    parts: list[ast.AST] = [*node.decorator_list]
    if isinstance(node, ast.ClassDef):
        parts += [*node.bases, *node.keywords]
    else:
        parts += [node.args, *([node.returns] if node.returns is not None else [])]
    return frozenset(map(id, parts))


def _inside(node: ast.AST, context: _Context) -> _Context:
    if isinstance(node, ast.ClassDef):
        return _Context((node.name, node.lineno), node.name, f"the class `{node.name}`")
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        jit = any("jit" in ast.unparse(each) for each in node.decorator_list)
        where = f"the kernel `{node.name}`" if jit else f"`{node.name}()`"
        return _Context((node.name, node.lineno), context.owner, where)
    if isinstance(node, ast.keyword) and node.arg in (META, "configs", "inductor_meta"):
        return _Context(context.scope, context.owner, f"`{node.arg}`")
    if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == META for to in node.targets):
        return _Context(context.scope, context.owner, f"`{META}`")
    return context


def _mangled(name: str, owner: str | None) -> str:
    """A name after private name mangling in a class (The Python Language Reference, 6.2.1)."""
    stripped = (owner or "").lstrip("_")
    if not stripped or not name.startswith("__") or name.endswith("__"):
        return name
    return f"_{stripped}{name}"
