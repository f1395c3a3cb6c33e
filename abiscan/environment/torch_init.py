"""Libraries that `torch/__init__.py` opens before its extension module, read from its source with `ast`; the source is
not run.

`_load_global_deps` and the functions it calls are followed statement by statement, with values known from the text
alone. Under an unknown condition, assignments count, but returns and raises do not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from abiscan.environment.preload_sequence import CUDA_MAJOR, Preload, Preloads

# Far larger than any: the largest has 5 kB.
_MAX_FUNCTION = 1 << 15
_MAX_DEPTH = 8
_MAX_STEPS = 5000
# In characters of a text, or elements of a list.
_MAX_LENGTH = 5000

_ENTRY = "_load_global_deps"
# Placeholder in a pattern for the searched directory of `sys.path`.
_DIRECTORY = "{path}"


class UnknownSequence(Exception):  # noqa: N818 - an outcome; the caller then uses its table
    """The sequence cannot be read from the source; `str()` is the reason."""


def read_preloads(source: str) -> Preloads:
    """Read the sequence from the source of `torch/__init__.py`.

    Raises:
        UnknownSequence: it does not follow the structure of a known release.
    """
    functions = _Functions(source)
    if functions.get(_ENTRY) is None:
        raise UnknownSequence(f"it has no function {_ENTRY}")
    reader = _Reader(functions)
    try:
        reader.call(_ENTRY, [], {})
    except RecursionError as error:
        raise UnknownSequence(f"{_ENTRY} is nested too deeply") from error
    if not reader.opens_global_dependencies:
        raise UnknownSequence(f"{_ENTRY} opens nothing into the global scope")
    return Preloads(reader.runtime, tuple(reader.after), tuple(reader.errors), tuple(reader.instead))


class _Functions:
    """The top-level functions of a module, each parsed on use: parsing the whole module takes a tenth of a second."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._parsed: dict[str, ast.FunctionDef | None] = {}

    def get(self, name: str) -> ast.FunctionDef | None:
        if name not in self._parsed:
            self._parsed[name] = self._parse(name)
        return self._parsed[name]

    def _parse(self, name: str) -> ast.FunctionDef | None:
        start = re.search(rf"^def {re.escape(name)}\(", self._source, re.MULTILINE)
        if start is None:
            return None
        # It ends at the next line that begins in the first column; its own signature may close there.
        end = re.compile(r"^[^\s#)]", re.MULTILINE).search(self._source, start.end())
        text = self._source[start.start() : end.start() if end else len(self._source)]
        if len(text) > _MAX_FUNCTION:
            raise UnknownSequence(f"{name} is too long")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise UnknownSequence(
                f"{name} is not Python that this interpreter reads: {type(error).__name__}"
            ) from error
        found = tree.body[0]
        return found if isinstance(found, ast.FunctionDef) else None


class _Glob(Struct, frozen=True):
    """The paths that match any of these patterns, or the first of them."""

    patterns: tuple[str, ...]


class _NoMatch(Struct, frozen=True):
    """True if no path matches."""


class _Text(Struct, frozen=True):
    """A text known only at run time: `maps` of /proc/self/maps, or the message of the `error`."""

    of: str


class _Contained(Struct, frozen=True):
    """True if a text contains one of these parts, or if it contains none."""

    of: str
    parts: tuple[str, ...]


class _Unknown(Struct, frozen=True):
    pass


_UNKNOWN = _Unknown()
_Value = (
    str | bool | int | None | _Glob | _NoMatch | _Text | _Contained | _Unknown | list["_Value"] | dict[str, "_Value"]
)


class _Return(Exception):  # noqa: N818 - control flow, not an error
    def __init__(self, value: _Value) -> None:
        self.value = value


class _Frame:
    """The variables of a call, and whether it raises an error if its library is not found."""

    def __init__(self, names: dict[str, _Value]) -> None:
        self.names = names
        self.required = False


class _Reader:
    def __init__(self, functions: _Functions) -> None:
        self._functions = functions
        self._depth = 0
        self._steps = 0
        self.opens_global_dependencies = False
        self.runtime: str | None = None
        self.after: list[Preload] = []
        self.errors: list[str] = []
        self.instead: list[Preload] = []
        self._current = self.after

    # --- statements ---------------------------------------------------------------------------------------------

    def call(self, name: str, arguments: Sequence[_Value], keywords: dict[str, _Value]) -> _Value:
        function = self._functions.get(name)
        if function is None or self._depth >= _MAX_DEPTH:
            return _UNKNOWN
        parameters = [parameter.arg for parameter in function.args.args]
        defaults = [self._value(default, _Frame({})) for default in function.args.defaults]
        names: dict[str, _Value] = dict(zip(reversed(parameters), reversed(defaults), strict=False))
        names |= dict(zip(parameters, arguments, strict=False)) | keywords
        self._depth += 1
        try:
            self._run(function.body, _Frame(names))
        except _Return as done:
            return done.value
        finally:
            self._depth -= 1
        return None

    def _run(self, body: Sequence[ast.stmt], frame: _Frame) -> None:
        for statement in body:
            self._steps += 1
            if self._steps > _MAX_STEPS:
                raise UnknownSequence(f"{_ENTRY} is too long to follow")
            match statement:
                case ast.Assign(targets=[target], value=value):
                    self._bind(target, self._value(value, frame), frame)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self._bind(target, self._value(value, frame), frame)
                case ast.AugAssign(target=ast.Name(id=name) as target, op=ast.Add(), value=value):
                    self._bind(target, _add(frame.names.get(name, _UNKNOWN), self._value(value, frame)), frame)
                case ast.ImportFrom(module=str(module), names=aliases) if module.rpartition(".")[2] == "version":
                    for alias in aliases:
                        if alias.name == "cuda":
                            frame.names[alias.asname or alias.name] = CUDA_MAJOR
                case ast.Expr(value=value):
                    self._value(value, frame)
                case ast.Return(value=value):
                    raise _Return(None if value is None else self._value(value, frame))
                case ast.If():
                    self._branch(statement, frame)
                case ast.For():
                    self._loop(statement, frame)
                case ast.With(items=items):
                    for item in items:
                        if isinstance(item.optional_vars, ast.Name):
                            frame.names[item.optional_vars.id] = self._value(item.context_expr, frame)
                    self._run(statement.body, frame)
                case ast.Try():
                    self._attempt(statement, frame)
                case _:
                    continue

    def _branch(self, statement: ast.If, frame: _Frame) -> None:
        test = self._value(statement.test, frame)
        body = statement.body
        if isinstance(test, bool):
            self._run(body if test else statement.orelse, frame)
        elif isinstance(test, _Contained) and test.of == "maps":
            # "if absent: return", or "if present: open them".
            self.runtime = test.parts[0]
            self._run(statement.orelse if _leaves(body) else body, frame)
        elif isinstance(test, _Contained) and _leaves(body):
            self.errors += test.parts
        elif isinstance(test, _NoMatch) and _leaves(body):
            frame.required = True
        elif not _leaves(body):
            before = dict(frame.names)
            self._run(body, frame)
            self._run(statement.orelse, frame)
            for name, old in before.items():
                # Patterns that are tried if the first ones match nothing.
                new = frame.names[name]
                if isinstance(old, _Glob) and isinstance(new, _Glob) and not _begins_with(new, old):
                    frame.names[name] = _Glob(old.patterns + new.patterns)

    def _loop(self, statement: ast.For, frame: _Frame) -> None:
        if ast.unparse(statement.iter) == "sys.path":
            self._bind(statement.target, _DIRECTORY, frame)
            self._run(statement.body, frame)
            return
        items = self._value(statement.iter, frame)
        if isinstance(items, list):
            for item in items:
                self._bind(statement.target, item, frame)
                self._run(statement.body, frame)

    def _attempt(self, statement: ast.Try, frame: _Frame) -> None:
        self._run(statement.body, frame)
        outer = self._current
        for handler in statement.handlers:
            if handler.name is None:
                continue  # the handler ignores the error
            self._current = self.instead
            frame.names[handler.name] = _Text("error")
            self._run(handler.body, frame)
        self._current = outer
        self._run(statement.orelse, frame)

    def _bind(self, target: ast.expr, value: _Value, frame: _Frame) -> None:
        match target:
            case ast.Name(id=name):
                frame.names[name] = value
            case ast.Tuple(elts=elements):
                parts = value if isinstance(value, list) and len(value) == len(elements) else [_UNKNOWN] * len(elements)
                for element, part in zip(elements, parts, strict=True):
                    self._bind(element, part, frame)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
                held = frame.names.get(name)
                if isinstance(held, dict):
                    held[key] = value
            case _:
                return

    # --- expressions --------------------------------------------------------------------------------------------

    def _value(self, node: ast.expr, frame: _Frame) -> _Value:
        match node:
            case ast.Constant(value=str() | bool() | int() | None as value):
                return value
            case ast.Name(id=name):
                return frame.names.get(name, _UNKNOWN)
            case ast.JoinedStr(values=parts):
                return _joined([self._value(part, frame) for part in parts], "")
            case ast.FormattedValue(value=inner):
                return self._value(inner, frame)
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return [self._value(element, frame) for element in elements]
            case ast.Dict(keys=keys, values=values):
                pairs = [
                    (self._value(k, frame) if k else None, self._value(v, frame))
                    for k, v in zip(keys, values, strict=True)
                ]
                return {key: value for key, value in pairs if isinstance(key, str)}
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return _add(self._value(left, frame), self._value(right, frame))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return _negated(self._value(operand, frame))
            case ast.BoolOp(op=operator, values=values):
                return _combined([self._value(value, frame) for value in values], every=isinstance(operator, ast.And))
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                return _compared(self._value(left, frame), operator, self._value(right, frame))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                chosen = self._value(test, frame)
                return self._value(body if chosen is True else orelse, frame) if isinstance(chosen, bool) else _UNKNOWN
            case ast.Subscript(value=inner, slice=index):
                return _item(self._value(inner, frame), self._value(index, frame))
            case ast.Attribute(value=ast.Name(id="sys"), attr="platform"):
                return "linux"
            case ast.Attribute(value=inner):
                held = self._value(inner, frame)
                return held if isinstance(held, _Text) else _UNKNOWN
            case ast.ListComp(elt=_, generators=[generator]):
                return self._selected(generator, frame)
            case ast.Call():
                return self._called(node, frame)
            case _:
                return _UNKNOWN

    def _selected(self, generator: ast.comprehension, frame: _Frame) -> _Value:
        """`[name for name in names if ... in message]`: true if the message contains one of them."""
        items = self._value(generator.iter, frame)
        parts: list[str] = []
        of = None
        for item in items if isinstance(items, list) else ():
            inner = _Frame(dict(frame.names))
            self._bind(generator.target, item, inner)
            for condition in generator.ifs:
                test = self._value(condition, inner)
                if isinstance(test, _Contained):
                    of = test.of
                    parts += test.parts
        return _UNKNOWN if of is None else _Contained(of, tuple(parts))

    def _called(self, node: ast.Call, frame: _Frame) -> _Value:
        arguments = [self._value(argument, frame) for argument in node.args]
        keywords = {k.arg: self._value(k.value, frame) for k in node.keywords if k.arg is not None}
        match node.func:
            case ast.Name(id="open"):
                return _Text("maps") if arguments[:1] == ["/proc/self/maps"] else _UNKNOWN
            case ast.Name(id=name):
                return self.call(name, arguments, keywords)
            case ast.Attribute(value=owner, attr=method):
                known = _METHODS.get(method)
                if method == "CDLL":
                    self._open(node, arguments, frame)
                    return _UNKNOWN
                if known is None:
                    held = self._value(owner, frame)
                    return held if isinstance(held, _Text) else _UNKNOWN
                return known(self._value(owner, frame), arguments)
            case _:
                return _UNKNOWN

    def _open(self, node: ast.Call, arguments: list[_Value], frame: _Frame) -> None:
        if any(keyword.arg == "mode" and "RTLD_GLOBAL" in ast.unparse(keyword.value) for keyword in node.keywords):
            self.opens_global_dependencies = True
            return
        match arguments:
            case [_Glob(patterns=patterns)]:
                required = frame.required
            case [str(path)]:
                patterns, required = (path,), True
            case _:
                raise UnknownSequence("it opens a library with a computed path")
        if not all(pattern.startswith(f"{_DIRECTORY}/") and "/../" not in pattern for pattern in patterns):
            raise UnknownSequence("it opens a library outside of the directories of sys.path")
        below = tuple(pattern.removeprefix(f"{_DIRECTORY}/") for pattern in patterns)
        self._current.append(Preload(below, required))


def _leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether a branch leaves the function, or ends this iteration of the loop."""
    return isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break) and len(body) == 1


def _begins_with(new: _Glob, old: _Glob) -> bool:
    return new.patterns[: len(old.patterns)] == old.patterns


def _joined(parts: Sequence[_Value], between: str) -> _Value:
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) < len(parts) or sum(map(len, texts)) > _MAX_LENGTH:
        return _UNKNOWN
    return between.join(texts)


def _add(left: _Value, right: _Value) -> _Value:
    match left, right:
        case str(), str():
            return _joined([left, right], "")
        case list(), list() if len(left) + len(right) <= _MAX_LENGTH:
            return left + right
        case _Glob(), _Glob():
            return _Glob(left.patterns + right.patterns)
        case _:
            return _UNKNOWN


def _negated(value: _Value) -> _Value:
    match value:
        case bool():
            return not value
        case None:
            return True
        case _Glob():
            return _NoMatch()
        case _Contained():
            return value
        case _:
            return _UNKNOWN


def _combined(values: Sequence[_Value], *, every: bool) -> _Value:
    """`and` and `or`: the deciding value, otherwise the condition on a text or a search, otherwise unknown."""
    if any(value is (not every) for value in values):
        return not every
    open_ones = [value for value in values if value is not every]
    return next((v for v in open_ones if isinstance(v, _Contained | _NoMatch)), _UNKNOWN) if open_ones else every


def _compared(left: _Value, operator: ast.cmpop, right: _Value) -> _Value:
    if isinstance(right, _Text) and isinstance(left, str) and isinstance(operator, ast.In | ast.NotIn):
        return _Contained(right.of, (left,))
    if isinstance(left, str) and isinstance(right, str) and isinstance(operator, ast.Eq | ast.NotEq):
        return (left == right) is isinstance(operator, ast.Eq)
    if right is None and isinstance(left, _Text | None) and isinstance(operator, ast.Is | ast.IsNot):
        return (left is None) is isinstance(operator, ast.Is)
    return _UNKNOWN


def _item(held: _Value, index: _Value) -> _Value:
    match held, index:
        case ((_Glob() | _Text()), _):
            return held
        case list(), int() if -len(held) <= index < len(held):
            return held[index]
        case dict(), str():
            return held.get(index, _UNKNOWN)
        case _:
            return _UNKNOWN


def _split(held: _Value, arguments: Sequence[_Value]) -> _Value:
    match held, arguments:
        case str(), [str(separator), *_] if separator:
            return [*held.split(separator)]
        case _:
            return _UNKNOWN


def _glob(_held: _Value, arguments: Sequence[_Value]) -> _Value:
    match arguments:
        case [str(pattern)]:
            return _Glob((pattern,))
        case _:
            return _UNKNOWN


# Methods and functions by their last name, applied to the value before the dot.
_METHODS: dict[str, Callable[[_Value, Sequence[_Value]], _Value]] = {
    "join": lambda _held, arguments: _joined(arguments, "/"),
    "glob": _glob,
    "split": _split,
    "system": lambda _held, _arguments: "Linux",
    "items": lambda held, _arguments: [[k, v] for k, v in held.items()] if isinstance(held, dict) else _UNKNOWN,
    "values": lambda held, _arguments: [*held.values()] if isinstance(held, dict) else _UNKNOWN,
}
