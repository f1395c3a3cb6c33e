"""Reads the declarations at namespace and class scope in a C++ header from its tokens.

All branches of `#if` are read. If a declaration is unclear, all possible names are returned: the table must not lack
what a release declares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
    (?P<skip>[ \t\r\n\f\v]+|//[^\n\\]*(?:\\.[^\n\\]*)*|/\*.*?\*/|\\\r?\n)
  | (?P<directive>^[ \t]*\#(?:[^\n\\/]|\\.|/(?![*/])|/\*.*?\*/|//[^\n]*)*)
  | (?P<literal>
        (?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"
      | "(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'
    )
  | (?P<name>[A-Za-z_]\w*)
  | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
  | (?P<mark>::|->|\[\[|\]\]|.)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(\w+)[ \t]*(\w*)(\()?")
_KEYS = frozenset({"class", "struct", "union", "enum"})
# Words before `(` that are no declared names.
_BEFORE_PARENTHESIS = frozenset(
    {"decltype", "noexcept", "alignas", "__attribute__", "__declspec", "explicit", "requires", "sizeof", "throw", "if"}
)
_BEHIND_PARAMETERS = frozenset({"const", "noexcept", "override", "final", "volatile", "throw", "requires", "mutable"})
_NO_NAME = frozenset(
    """const constexpr static inline extern virtual typename template class struct union enum operator public private
    protected friend using namespace typedef explicit mutable volatile default delete override final noexcept auto
    return if else for while switch this nullptr true false void bool char short int long float double unsigned signed
    sizeof decltype static_assert requires concept export consteval constinit thread_local register alignas
    __host__ __device__ __forceinline__ __global__ __inline__ __attribute__ __restrict__ new delete""".split()  # noqa: SIM905
)
_DEPRECATED = re.compile(r"C10_DEPRECATED\w*|deprecated|C10_DEFINE_DEPRECATED_USING")
_MACRO = re.compile(r"[A-Z][A-Z0-9_]+")


class Declared(NamedTuple):
    """A declared name.

    Attributes:
        scope: namespaces and classes around it, `::` between them; empty for the global namespace.
        kind: `n` a name, `m` a macro, `b` a base class of `scope`, `u` a namespace that `scope` uses, `a` an alias of
            the namespace `target`, `o` no name: macros declare more in `scope`. Besides `n`, a
            member that is a template has `t`, any other `p`, a function that returns a pointer or reference to const
            `c`, and to anything else `w`.
        target: of an alias or a using-declaration.
    """

    scope: str
    name: str
    kind: str
    deprecated: bool = False
    target: str = ""


class _Scope(NamedTuple):
    parts: tuple[str, ...]
    kind: str  # namespace, class, enum, transparent


def declarations(text: str) -> list[Declared]:
    """The names that a header declares."""
    return list(_Reader(text).read())


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens = [
            (match.lastgroup if match.lastgroup != "delimiter" else "literal", match[0])
            for match in _TOKEN.finditer(text)
            if match.lastgroup != "skip"
        ]
        self._at = 0
        self._scopes: list[_Scope] = []
        self._conditions: list[tuple[list[_Scope], list[str]]] = []
        self._found: list[Declared] = []

    def _path(self) -> str:
        return "::".join(part for scope in self._scopes for part in scope.parts)

    def _add(self, name: str, kind: str = "n", *, deprecated: bool = False, target: str = "") -> None:
        self._found.append(Declared("" if kind == "m" else self._path(), name, kind, deprecated, target))

    def read(self) -> Iterator[Declared]:
        """All declarations in order."""
        statement: list[str] = []
        while self._at < len(self._tokens):
            kind, text = self._tokens[self._at]
            self._at += 1
            if kind == "directive":
                statement = self._directive(text, statement)
                continue
            if kind == "literal":
                statement.append('"')
                continue
            if self._scopes and self._scopes[-1].kind == "enum":
                statement = self._enumerator(kind, text, statement)
                continue
            if text == ";":
                self._declare(statement)
                statement = []
            elif text == "{":
                statement = self._brace(statement)
            elif text == "}":
                self._declare(statement)
                statement = []
                if self._scopes:
                    self._scopes.pop()
            elif text == "(":
                start = self._at
                self._skip("(", ")")
                inner = [each for kind, each in self._tokens[start : self._at - 1] if kind in ("name", "mark")]
                statement += ["(", *inner, ")"]
                self._namespace_macro(statement)
            elif text == ":" and statement[-1:] and statement[-1] in ("public", "private", "protected"):
                statement = []
            else:
                statement.append(text)
        self._declare(statement)
        yield from self._found

    def _skip(self, opening: str, closing: str) -> None:
        """Skip to after the bracket that closes the current one."""
        level = 1
        branches: list[int] = []
        while self._at < len(self._tokens) and level:
            kind, text = self._tokens[self._at]
            self._at += 1
            if kind == "mark":
                level += (text == opening) - (text == closing)
            elif kind == "directive":
                word = _directive_word(text)
                if word in ("if", "ifdef", "ifndef"):
                    branches.append(level)
                elif word in ("else", "elif"):
                    if not branches:  # the bracket belongs to the branch that ends here
                        self._at -= 1
                        return
                    level = branches[-1]
                elif word == "endif":
                    if branches:
                        branches.pop()
                    elif self._conditions:
                        self._conditions.pop()
                else:
                    self._defined(text)

    def _defined(self, text: str) -> None:
        """Record the macro of a `#define`."""
        match = _DIRECTIVE.match(text)
        if match and match[1] == "define" and match[2]:
            self._add(match[2], "m")
            # A use of the macro may declare the names in its body.
            for name in re.findall(r"[A-Za-z_]\w*(?=\s*\()", text[match.end() :]):
                self._add(name)

    def _directive(self, text: str, statement: list[str]) -> list[str]:
        word = _directive_word(text)
        if word in ("if", "ifdef", "ifndef"):
            self._conditions.append((list(self._scopes), list(statement)))
        elif word in ("else", "elif") and self._conditions:
            self._declare(statement)
            scopes, before = self._conditions[-1]
            self._scopes = list(scopes)
            return list(before)
        elif word == "endif" and self._conditions:
            self._conditions.pop()
        else:
            self._defined(text)
        return statement

    def _namespace_macro(self, statement: list[str]) -> None:
        """`HIDDEN_NAMESPACE_BEGIN(torch, stable)` of torch/headeronly/macros/Macros.h."""
        word = statement[0]
        if word in ("HIDDEN_NAMESPACE_BEGIN", "HIDDEN_NAMESPACE_END"):
            parts = tuple(each for each in statement[2:-1] if each != ",")
            if word.endswith("BEGIN"):
                self._scopes += [_Scope((part,), "namespace") for part in parts]
            else:
                del self._scopes[len(self._scopes) - len(parts) :]
            statement.clear()

    def _enumerator(self, kind: str, text: str, statement: list[str]) -> list[str]:
        if text == "}":
            self._scopes.pop()
            return ["}"]  # a declarator may follow
        if kind == "name" and (not statement or statement[-1] in (",", ")")):
            self._add(text)
        if text == "(":
            if statement and _macro(statement[-1]) and self._scopes[-1].parts:
                self._add("", "o")
            start = self._at
            self._skip("(", ")")
            for inner, each in self._tokens[start : self._at - 1]:
                if inner == "name":
                    self._add(each)
            return [*statement, ")"]
        if text == "{":
            self._skip("{", "}")
        return [text]

    def _brace(self, statement: list[str]) -> list[str]:
        head = _without_templates(statement)
        while (
            len(head) > 2 and _macro(head[0]) and head[1] == "(" and not _DEPRECATED.fullmatch(head[0])
        ):  # a call without `;` before the declaration
            end = _parenthesis_end(head, 1)
            self._declare(head[:end])
            head = head[end:]
        words = [word for word in head if word not in ("inline", "[[", "]]", "export")]
        if words[:1] == ["namespace"]:
            parts = tuple(word for word in _without_attributes(words[1:]) if word.isidentifier() and not _macro(word))
            self._scopes.append(_Scope(parts, "namespace"))
            return []
        if words[:1] == ["extern"] and len(words) == 2:
            self._scopes.append(_Scope((), "transparent"))
            return []
        key = _class_key(head)
        if key is not None:
            name, scoped, bases, enumeration = key
            if name:
                self._add(name, deprecated=_is_deprecated(statement))
            if enumeration:
                # Enumerators of an unscoped enumeration also belong to the enclosing scope.
                self._scopes.append(_Scope((name,) if scoped and name else (), "enum"))
                return []
            self._scopes.append(_Scope((name,) if name else (), "class"))
            for base in bases:
                self._add(base, "b")
            return []
        self._skip("{", "}")
        following = self._tokens[self._at][1] if self._at < len(self._tokens) else ""
        if following in (",", ";", "{", ")", ".", "-", "*", "+") and statement:
            return [*statement, "{", "}"]
        self._declare(head, template=len(_without_templates(statement)) < len(statement))
        return []

    # --- names of a statement ----------------------------------------------------------------------------------

    def _declare(self, statement: list[str], *, template: bool = False) -> None:
        deprecated = _is_deprecated(statement)
        plain = _without_templates(statement)
        words = _without_attributes(plain)
        while words and words[0] in ("inline", "export", "__host__", "__device__", ")", "extern", '"', ","):
            words = words[1:]
        if not words or words[0] in ("friend", "static_assert", "template"):
            return
        if words[0] == "using":
            self._using(words, deprecated)
        elif words[0] == "namespace" and "=" in words:
            self._add(words[1], "a", target="".join(words[words.index("=") + 1 :]).lstrip(":"))
        elif words[0] == "typedef":
            for name in _typedef_names(words[1:]):
                self._add(name, deprecated=deprecated)
        else:
            for name in _declared_names(words):
                self._add(name, deprecated=deprecated)
                if self._scopes and self._scopes[-1].kind == "class":
                    self._add(name, "t" if template or len(plain) < len(statement) else "p")
                    at = words.index(name)
                    before = words[:at]
                    if before[-1:] in (["*"], ["&"]) and words[at + 1 : at + 2] == ["("]:
                        self._add(name, "c" if "const" in before else "w")

    def _using(self, words: list[str], deprecated: bool) -> None:
        if words[1:2] == ["namespace"]:
            self._add("".join(words[2:]).lstrip(":"), "u")
        elif "=" in words:
            target = "".join(words[words.index("=") + 1 :])
            self._add(words[1], deprecated=deprecated, target=target if re.fullmatch(r"[\w:]+", target) else "")
        else:
            for part in " ".join(words[1:]).split(","):
                name = part.split()[-1:] or [""]
                if name[0].isidentifier():
                    target = "".join(part.split()).lstrip(":").removeprefix("typename")
                    self._add(name[0], deprecated=deprecated, target=target)


def _directive_word(text: str) -> str:
    match = _DIRECTIVE.match(text)
    return match[1] if match else ""


def _macro(word: str) -> bool:
    return _MACRO.fullmatch(word) is not None and len(word) > 2


def _is_deprecated(statement: list[str]) -> bool:
    return any(_DEPRECATED.fullmatch(word) for word in statement[:12])


def _without_templates(statement: list[str]) -> list[str]:
    """A statement without leading `template <...>` and `requires` clauses."""
    at = 0
    result = []
    while at < len(statement):
        if statement[at] == "template" and statement[at + 1 : at + 2] == ["<"]:
            end = _angle_end(statement, at + 1)
            at = end if end is not None else at + 1
            continue
        result.append(statement[at])
        at += 1
    return result


def _angle_end(words: list[str], at: int) -> int | None:
    level = depth = 0
    for end in range(at, min(len(words), at + 600)):
        word = words[end]
        depth += (word == "(") - (word == ")")
        if depth == 0:
            level += (word == "<") - (word == ">")
            if level == 0:
                return end + 1
        if word in ("{", "}"):
            return None
    return None


def _without_attributes(words: list[str]) -> list[str]:
    result = []
    at = 0
    while at < len(words):
        word = words[at]
        if word == "[[":
            at = words.index("]]", at) + 1 if "]]" in words[at:] else len(words)
        elif word in ("__attribute__", "__declspec", "alignas", "C10_DEPRECATED_MESSAGE") and words[
            at + 1 : at + 2
        ] == ["("]:
            at = _parenthesis_end(words, at + 1)
        elif word.startswith("C10_DEPRECATED"):
            at += 1
        else:
            result.append(word)
            at += 1
    return result


def _parenthesis_end(words: list[str], at: int) -> int:
    level = 0
    for end in range(at, len(words)):
        level += (words[end] == "(") - (words[end] == ")")
        if level == 0:
            return end + 1
    return len(words)


def _class_key(head: list[str]) -> tuple[str, bool, list[str], bool] | None:
    """For `class NAME : BASES` the name, whether it is a scoped enumeration, its bases, and whether it is an
    enumeration."""
    words = _without_attributes(head)
    while words and (
        words[0] in ("typedef", "static", "const", "constexpr", "inline", "extern", "export", "friend")
        or _macro(words[0])
    ):
        words = words[1:]
    if not words or words[0] not in _KEYS:
        return None
    enumeration = words[0] == "enum"
    scoped = enumeration and words[1:2] in (["class"], ["struct"])
    rest = words[2:] if scoped else words[1:]
    name = ""
    at = 0
    while at < len(rest) and rest[at] not in (":", "<"):
        word = rest[at]
        if word == "(":
            if not (at and _macro(rest[at - 1])):
                return None  # a function that returns one
            at = _parenthesis_end(rest, at)
            continue
        if word == "=":
            return None
        if (
            word.isidentifier()
            and word != "final"
            and not (_macro(word) and rest[at + 1 : at + 2] not in ([], [":"], ["<"]))
        ):
            name = word
        at += 1
    colon = at
    while colon < len(rest) and rest[colon] != ":":
        colon += 1
    bases = []
    if not enumeration:
        level = 0
        base: list[str] = []
        for word in [*rest[colon + 1 :], ","]:
            if level == 0 and word == ",":
                if base:
                    bases.append("".join(base))
                base = []
                continue
            if word == "<":
                level += 1
                base += ["<>"] if level == 1 else []
            elif word == ">":
                level -= 1
            elif level == 0 and word not in ("public", "private", "protected", "virtual", "typename"):
                base.append(word)
    return name, scoped, bases, enumeration


def _typedef_names(words: list[str]) -> Iterator[str]:
    pointer = next((at for at in range(len(words) - 2) if words[at] == "(" and words[at + 1] in ("*", "&")), None)
    if pointer is not None:
        name = next((word for word in words[pointer + 1 :] if word.isidentifier()), None)
        if name:
            yield name
        return
    before_array = words[: words.index("[")] if "[" in words else words
    names = [word for word in before_array if word.isidentifier()]
    if names:
        yield names[-1]


def _declared_names(words: list[str]) -> Iterator[str]:
    """The names that a declaration of functions or objects, or of a class without a body, declares."""
    if words[0] in _KEYS and "(" not in words and "=" not in words:
        names = [word for word in words[1:] if word.isidentifier() and word not in _KEYS]
        stop = words.index(":") if ":" in words else len(words)
        named = [word for word in words[1:stop] if word.isidentifier() and word not in _KEYS]
        yield from (named or names)[-2:]
        return
    if "operator" in words:
        return
    at = 0
    initializer = False
    while at < len(words):
        word = words[at]
        before = words[at - 1] if at else ""
        if word == "<" and before.isidentifier() and not initializer:
            end = _angle_end(words, at)
            if end is not None:
                at = end
                continue
        if word == "(":
            end = _parenthesis_end(words, at)
            inner = words[at + 1 : end - 1]
            if (
                before.isidentifier()
                and before not in _BEFORE_PARENTHESIS
                and before not in _NO_NAME
                and not initializer
            ):
                qualified = at > 1 and words[at - 2] == "::"
                if not qualified:
                    yield before
                if _macro(before):
                    # A macro may declare its arguments.
                    yield from (each for each in inner if each.isidentifier() and each not in _NO_NAME)
                    at = end
                    continue
                following = words[end] if end < len(words) else ""
                if not following.isidentifier() or following in _BEHIND_PARAMETERS:
                    # Parameters: no declarator follows, unless this was a macro.
                    initializer = True
            elif inner[:1] in (["*"], ["&"]) and not initializer:
                name = next((each for each in inner if each.isidentifier()), None)
                if name:
                    yield name
            at = end
            continue
        if word in ("=", "{", "[", ":") and not initializer:
            if before.isidentifier() and before not in _NO_NAME and words[at - 2 : at - 1] != ["::"]:
                yield before
            initializer = True
        elif word == ",":
            if before.isidentifier() and before not in _NO_NAME and not initializer:
                yield before
            initializer = False
        at += 1
    last = words[-1]
    if not initializer and last.isidentifier() and last not in _NO_NAME and len(words) > 1 and words[-2] != "::":
        yield last
