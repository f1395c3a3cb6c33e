"""`op-not-registered`: the functions that a PYBIND11_MODULE binds, also in macros and functions that it calls, and
which of them have tensors as parameters or result."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from abiscan.model.cause import Confidence
from abiscan.model.words import shortened
from abiscan.source.code import Code, Macro, match_brackets
from abiscan.source.declarations import alias_tokens, split_arguments
from abiscan.source.flagged_place import FlaggedPlace, Refined
from abiscan.source.lexer import Token
from abiscan.source.source_set import SourceSet, with_included

# Maximum nesting of macros and functions, and number of tokens that they expand to.
_MAX_DEPTH = 6
_MAX_TOKENS = 100_000
# Maximum number of tokens to read for ends of arguments.
_MAX_WALKED = 2_000_000
# Maximum number of functions of a module; the largest known one binds some 150.
_MAX_FUNCTIONS = 1000
# Maximum number of modules of a file; only tests have several.
_MAX_MODULES = 16
_TEST_FOLDERS = frozenset({"test", "tests", "unit_tests", "testing"})
_USES_TORCH = re.compile(r"\b(?:torch|at|c10)::|[<\"](?:torch|ATen|c10)/|\bTORCH_EXTENSION_NAME\b", re.ASCII)
_REGISTERS = re.compile(r"\b(?:TORCH_LIBRARY|STABLE_TORCH_LIBRARY|RegisterOperators)", re.ASCII)


class Parameter(Struct, frozen=True):
    """A parameter of a C++ function: tokens of its type, name (may be empty), whether it has a default, whether it is
    const, whether it is a tensor that the function returns in each of its return statements."""

    type: tuple[str, ...]
    name: str
    optional: bool
    const: bool = False
    returned: bool = False

    @property
    def on_tensor(self) -> bool:
        """Whether it is one tensor."""
        return "Tensor" in self.type and "<" not in self.type


class PybindSignature(Struct, frozen=True):
    """A declared C++ function: result and parameters as texts of tokens."""

    result: tuple[str, ...]
    parameters: tuple[Parameter, ...]

    @property
    def on_tensors(self) -> bool:
        """Whether it has a tensor as parameter or result: of torch, or a type of the project with such a name."""
        every = [*self.result, *(word for parameter in self.parameters for word in parameter.type)]
        return any("tensor" in word.lower() for word in every)


class Keyword(Struct, frozen=True):
    """`py::arg("name") = default`: the Python name of a parameter, and the tokens of its default, if any."""

    name: str
    default: tuple[str, ...] | None


class PybindFunction(Struct, frozen=True):
    """The function of one `m.def("name", &function)`.

    Attributes:
        name: in Python.
        target: the C++ function, with its scopes; empty for a lambda.
        signature: None if no declaration was found.
        keywords: of its parameters, if the definition has them.
    """

    name: str
    target: str
    signature: PybindSignature | None
    keywords: tuple[Keyword, ...] = ()


def refine_pybind(places: Sequence[FlaggedPlace], code: Code, others: SourceSet) -> list[Refined | None]:
    """Refine each PYBIND11_MODULE of a file; None if it binds no function on tensors, or operators are registered."""
    looked_at = [_refined(place, code, others) for place in places[:_MAX_MODULES]]
    return looked_at + [None] * (len(places) - len(looked_at))


def _refined(place: FlaggedPlace, code: Code, others: SourceSet) -> Refined | None:
    if not any(_USES_TORCH.search(each.text) for each in with_included(code, others)):
        return None  # a module of another library, with tensors of its own
    bound = pybind_functions(place.at, code, others)
    known = [function for function in bound if function.signature is not None]
    on_tensors = [function for function in known if function.signature is not None and function.signature.on_tensors]
    if not on_tensors:
        # A function without a known declaration may be on tensors if the file mentions any.
        if len(known) == len(bound) or not any("Tensor" in each.text for each in with_included(code, others)):
            return None
        on_tensors = [function for function in bound if function.signature is None]
    names = shortened([f"`{name}`" for name in dict.fromkeys(function.name for function in on_tensors)])
    # Functions that a test binds are seldom for torch.compile.
    of_test = not _TEST_FOLDERS.isdisjoint(code.path.split("/")[:-1])
    return Refined(confidence=Confidence.LOW if of_test else None, fields={"detail": names})


def pybind_functions(at: int, code: Code, others: SourceSet) -> list[PybindFunction]:
    """The functions that the PYBIND11_MODULE at a character offset binds; empty if the file registers operators."""
    index = code.tokens.index_at(at)
    if index is None or code.has_name(_REGISTERS):
        return []
    opening = code.partner[index + 1] + 1 if index + 1 < len(code.tokens) else 0
    if opening <= 0 or opening >= len(code.tokens) or code.tokens[opening].text != "{" or code.partner[opening] < 0:
        return []
    unit = _Unit(code, others)
    body = unit.expanded(code.tokens[opening + 1 : code.partner[opening]])
    code.spend(4 * len(body))
    return list(itertools.islice(_definitions(body, unit), _MAX_FUNCTIONS))


class _Unit:
    """A file with its includes: macros and function declarations."""

    def __init__(self, code: Code, others: SourceSet) -> None:
        self.files = list(with_included(code, others))
        self._code = code
        self._defining = [each for each in self.files if "define" in each.text]
        self._macros: dict[str, Macro | None] = {}
        self._bodies: dict[str, Sequence[Token] | None] = {}
        self._signatures: dict[str, PybindSignature | None] = {}
        self._aliases: dict[str, tuple[str, ...]] = {}
        self._left = _MAX_TOKENS
        self._walk_left = _MAX_WALKED

    def _macro(self, name: str) -> Macro | None:
        if name not in self._macros:
            defined = (each.macro(name) for each in self._defining)
            self._macros[name] = next((macro for macro in defined if macro is not None), None)
        return self._macros[name]

    def expanded(self, body: Sequence[Token], depth: int = 0) -> list[Token]:
        """Expand macros, and calls of functions with the module as argument."""
        self._code.spend(2 * len(body))
        result: list[Token] = []
        at = 0
        while at < len(body) and self._left > 0:
            token = body[at]
            self._left -= 1
            macro = self._macro(token.text) if token.kind == "name" and depth < _MAX_DEPTH else None
            if macro is not None and macro.parameters is None:
                result += self.expanded(macro.body, depth + 1)
            elif macro is not None and body[at + 1 : at + 2] and body[at + 1].text == "(":
                arguments, end = self._arguments(body, at + 1)
                result += self.expanded(_replaced(macro, arguments, self._left), depth + 1)
                at = end - 1
            elif token.kind == "name" and depth < _MAX_DEPTH and (called := self._called(body, at)) is not None:
                result += self.expanded(called, depth + 1)
                at = self._arguments(body, at + 1)[1] - 1
            else:
                result.append(token)
            at += 1
        return result

    def _called(self, body: Sequence[Token], at: int) -> Sequence[Token] | None:
        """The body of the function that the statement `name(m)` or `name(m, ...)` at `at` calls."""
        before = body[at - 1].text if at else ";"
        if before not in (";", "{", "}", "::") or not body[at + 1 : at + 2] or body[at + 1].text != "(":
            return None
        arguments, _end = self._arguments(body, at + 1)
        if len(arguments) < 1 or len(arguments[0]) != 1 or arguments[0][0].kind != "name":
            return None
        name = body[at].text
        if name not in self._bodies:
            self._bodies[name] = self._body(name)
        return self._bodies[name]

    def _body(self, name: str) -> Sequence[Token] | None:
        """The body of a function of this name with a module parameter."""
        for code, index in self._uses(name):
            found, partner = code.tokens, code.partner
            close = partner[index + 1]
            after = close + 1
            if close > 0 and found.kinds[after : after + 1] == b"{" and partner[after] > 0:
                code.spend(close - index)
                parameters = [token.text for token in found[index + 2 : close]]
                if "module" in parameters or "module_" in parameters:
                    return found[after + 1 : partner[after]]
        return None

    def _arguments(self, body: Sequence[Token], at: int) -> tuple[list[Sequence[Token]], int]:
        """The arguments in the parentheses that start at `at`, and the next index; empty if they are too long."""
        level = 0
        for end in range(at, min(len(body), at + self._walk_left)):
            self._walk_left -= 1
            level += (body[end].text in ("(", "[", "{")) - (body[end].text in (")", "]", "}"))
            if level == 0:
                self._code.spend(2 * (end - at))
                return split_arguments(body[at + 1 : end]), end + 1
        if not self._walk_left:
            self._left = 0
            return [], len(body)
        self._code.spend(2 * (len(body) - at))
        return split_arguments(body[at + 1 :]), len(body)

    def _uses(self, name: str) -> Iterator[tuple[Code, int]]:
        """Places of a name before `(` outside of expressions: declarations and definitions."""
        for code in self.files:
            for at in code.places_of(name):
                found = code.tokens
                before = found[at - 1] if at and found.kinds[at + 1 : at + 2] == b"(" else None
                if before is None or before.text in _NOT_BEFORE:
                    continue
                if before.kind == "name" or before.text in (">", "*", "&", "::"):
                    yield code, at

    def signature(self, name: str) -> PybindSignature | None:
        """The signature of a function by its last name, from the first declaration that has one."""
        if name not in self._signatures:
            self._signatures[name] = self._signature(name)
        return self._signatures[name]

    def _signature(self, name: str) -> PybindSignature | None:
        first = None
        for code, at in self._uses(name):
            close = code.partner[at + 1]
            before = _before_name(code, at)
            behind = code.tokens[close + 1].text if close > 0 and code.tokens[close + 1 : close + 2] else ""
            if close < 0 or behind == "." or (behind == "->" and "auto" not in before):
                continue
            hidden = {name for word, name in itertools.pairwise(before) if word in ("typename", "class")}
            result = self.type_of(_trailing(code, close) if behind == "->" else before, hidden)
            result = _without_header(
                [word for word in result if word.isalnum() or word.isidentifier() or word in _IN_RESULT]
            )
            if not result:
                continue
            code.spend(close - at)
            arguments = split_arguments(code.tokens[at + 2 : close])
            parameters = tuple(one for each in arguments if (one := _parameter(each, self, hidden)) is not None)
            found = PybindSignature(tuple(result), self._with_returned(name, parameters))
            if found.on_tensors:
                return found
            first = first or found
        return first

    def _with_returned(self, name: str, parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
        """The parameters of a function by its name, with the one that its definition returns, if it has one."""
        for code, at in self._uses(name):
            close = code.partner[at + 1]
            opening = close + 1
            if close < 0 or code.tokens.kinds[opening : opening + 1] != b"{" or code.partner[opening] < 0:
                continue
            code.spend(code.partner[opening] - at)
            arguments = split_arguments(code.tokens[at + 2 : close])
            defined = [each for argument in arguments if (each := _parameter(argument, self)) is not None]
            if len(defined) == len(parameters):
                body = code.tokens[opening + 1 : code.partner[opening]]
                return tuple(
                    replace(each, returned=each.on_tensor and _is_returned(own.name, body))
                    for each, own in zip(parameters, defined, strict=True)
                )
        return parameters

    def type_of(self, words: Sequence[str], hidden: Collection[str] = (), depth: int = _MAX_DEPTH) -> list[str]:
        """The words of a type with the targets of its aliases, except of scopes and names of template parameters
        (`hidden`)."""
        result: list[str] = []
        for word, after in itertools.zip_longest(words, words[1:]):
            target = self._alias(word) if depth and word not in hidden and word.isidentifier() and after != "::" else ()
            while target and result[-1:] == ["::"]:
                del result[-2 if result[-2:-1] and result[-2].isidentifier() else -1 :]
            result += self.type_of(target, hidden, depth - 1) if target else (word,)
        return result

    def _alias(self, name: str) -> tuple[str, ...]:
        """The target of a name that `using` or typedef declares; empty if it is no alias, has several targets, or is an
        alias template, with parameters of its own."""
        if name in _NO_ALIASES:
            return ()
        if name not in self._aliases:
            targets = set[tuple[str, ...]]()
            for code in self.files:
                for at in code.places_of(name):
                    code.spend(10)
                    if code.tokens[at - 2 : at - 1] and code.tokens[at - 2].text == ">":
                        continue
                    if (written := alias_tokens(code, at)) is not None:
                        targets.add(tuple(token.text for token in written[:_MAX_TYPE]))
            known = targets.pop() if len(targets) == 1 else ()
            self._aliases[name] = () if name in known else known
        return self._aliases[name]


def _is_returned(name: str, body: Sequence[Token]) -> bool:
    """Whether each return statement returns this name, which nothing is assigned to."""
    words = [token.text for token in body]
    returned = [words[at + 1 : at + 3] for at, word in enumerate(words) if word == "return"]
    return (
        bool(returned)
        and all(each == [name, ";"] for each in returned)
        and (name, "=") not in itertools.pairwise(words)
    )


_NOT_BEFORE = frozenset({"return", "else", "new", "throw", "case", "goto", "delete", "co_return"})
_NO_ALIASES = frozenset(
    {
        *("Tensor", "at", "c10", "torch", "std", "vector", "optional", "tuple", "string", "const", "void", "auto"),
        *("bool", "char", "short", "int", "long", "float", "double", "unsigned", "int64_t", "static", "inline"),
    }
)
_MAX_TYPE = 64  # tokens
_IN_RESULT = frozenset({"::", "<", ">", ",", "*", "&"})


def _before_name(code: Code, at: int) -> list[str]:
    """The tokens before a declared name, back to the previous declaration."""
    found = code.tokens
    start = at
    level = 0
    while start > max(0, at - 48):
        text = found[start - 1].text
        level += (text == ">") - (text == "<")
        if level <= 0 and text in (";", "{", "}", ")", "(", ",", "=", ":"):
            break
        start -= 1
    return [token.text for token in found[start:at] if token.text not in ("static", "inline", "extern", "template")]


def _without_header(words: list[str]) -> list[str]:
    """The words of a result without a template header, `<typename T>`."""
    if words[:1] != ["<"]:
        return words
    level = 0
    for at, word in enumerate(words):
        level += (word == "<") - (word == ">")
        if level == 0:
            return words[at + 1 :]
    return []


def _trailing(code: Code, close: int) -> list[str]:
    """The type behind the parameters that end at `close`: `auto f() -> type`."""
    words = [token.text for token in code.tokens[close + 2 : close + 2 + _MAX_TYPE]]
    return words[: next((at for at, word in enumerate(words) if word in ("{", ";")), len(words))]


def _definitions(body: list[Token], unit: _Unit) -> Iterator[PybindFunction]:
    """Each `.def("name", what, ...)` on the module, not on a class (`py::class_<T>(m, ...).def`)."""
    partner = match_brackets(body)
    statement_of_class = False
    walked = 0
    for at, token in enumerate(body):
        if token.text in (";", "{", "}"):
            statement_of_class = False
        elif token.text in ("class_", "enum_"):
            statement_of_class = True
        if token.text not in ("def", "impl") or statement_of_class or at < 2 or body[at - 1].text not in (".", "->"):
            continue
        if not body[at + 1 : at + 2] or body[at + 1].text != "(" or partner[at + 1] < 0:
            continue
        walked += partner[at + 1] - at
        if walked > _MAX_WALKED:
            return
        arguments = split_arguments(body[at + 2 : partner[at + 1]])
        if len(arguments) < 2 or not arguments[0]:
            continue
        keywords = tuple(found for each in arguments[2:] if (found := _keyword(each)) is not None)
        # Adjacent literals are one.
        name = "".join(token.text for token in arguments[0] if token.text != "#").replace('"', "")
        yield replace(_bound(name, arguments[1], unit), keywords=keywords)


def _keyword(argument: Sequence[Token]) -> Keyword | None:
    """Parse `py::arg("name") = default` or `"name"_a = default`; None for documentation and call policies."""
    words = [token.text for token in argument]
    named = "_a" in words[1:2] or "arg" in words[:4]
    at = next((at for at, token in enumerate(argument) if token.kind == "string"), None)
    if not named or at is None:
        return None
    default = tuple(words[words.index("=") + 1 :]) if "=" in words else None
    return Keyword(words[at].strip('"'), default)


def _bound(name: str, argument: Sequence[Token], unit: _Unit) -> PybindFunction:
    words = [token.text for token in argument]
    if words[:1] == ["["]:
        opening = next((at for at, word in enumerate(words) if word == "("), None)
        if opening is None:
            return PybindFunction(name, "", PybindSignature((), ()))
        partner = match_brackets(argument)
        close = partner[opening] if partner[opening] > 0 else len(words)
        taken = tuple(
            p for each in split_arguments(argument[opening + 1 : close]) if (p := _parameter(each, unit)) is not None
        )
        arrow = words.index("{", close) if "{" in words[close:] else len(words)
        taken = tuple(
            replace(each, returned=each.on_tensor and _is_returned(each.name, argument[arrow:])) for each in taken
        )
        # The result type of a lambda may only be known from its body.
        return PybindFunction(name, "", PybindSignature(tuple(unit.type_of(words[close + 1 : arrow])), taken))
    scoped: list[str] = []
    last_call = max((at for at, word in enumerate(words) if word == "("), default=-1)
    for at, token in enumerate(argument):
        # The function is the last name outside of template arguments: `&ns::f`, `py::overload_cast<A>(&f)`, `f<float>`.
        if token.kind == "name" and (
            words[at + 1 : at + 2] in ([], ["<"], [")"]) or words[at + 1 : at + 3] == [":", ":"]
        ):
            scoped = [token.text]
            before = at
            while before >= 2 and words[before - 1] == "::":
                scoped.insert(0, words[before - 2])
                before -= 2
            if words[at + 1 : at + 2] == ["<"] and last_call <= at:
                break
    target = "::".join(scoped)
    return PybindFunction(name, target, unit.signature(scoped[-1]) if scoped else None)


def _parameter(written: Sequence[Token], unit: _Unit, hidden: Collection[str] = ()) -> Parameter | None:
    """Type and name of a parameter; None for `void`."""
    words = [token.text for token in written]
    optional = "=" in words
    if optional:
        words = words[: words.index("=")]
    words = [word for word in words if word not in ("__restrict__", "struct")]
    plain = [word for word in words if word != "const"]
    named = len(plain) > 1 and plain[-1].isidentifier() and plain[-2] != "::"
    kind = unit.type_of(words[:-1] if named else words, hidden)
    const = "const" in kind
    kind = [word for word in kind if word != "const"]
    if not kind or kind == ["void"]:
        return None
    return Parameter(tuple(kind), words[-1] if named else "", optional, const)


def _replaced(macro: Macro, arguments: list[Sequence[Token]], limit: int) -> list[Token]:
    """Expand a macro body with its arguments, up to about `limit` tokens."""
    given = dict(zip(macro.parameters or (), arguments, strict=False))
    result: list[Token] = []
    for token in macro.body:
        result += given[token.text] if token.kind == "name" and token.text in given else (token,)
        if len(result) > limit:
            break
    return result
