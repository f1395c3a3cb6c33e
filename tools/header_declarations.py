"""Reads the declarations at namespace and class scope in a C++ header from its tokens.

All branches of `#if` are read. If a declaration is unclear, all possible names are returned: the table must not lack
what a release declares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from declaration_words import (
    DEPRECATED,
    class_key,
    declared_names,
    is_deprecated,
    is_macro,
    parenthesis_end,
    typedef_names,
    without_attributes,
    without_templates,
)

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
            if statement and is_macro(statement[-1]) and self._scopes[-1].parts:
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
        head = without_templates(statement)
        while (
            len(head) > 2 and is_macro(head[0]) and head[1] == "(" and not DEPRECATED.fullmatch(head[0])
        ):  # a call without `;` before the declaration
            end = parenthesis_end(head, 1)
            self._declare(head[:end])
            head = head[end:]
        words = [word for word in head if word not in ("inline", "[[", "]]", "export")]
        if words[:1] == ["namespace"]:
            parts = tuple(word for word in without_attributes(words[1:]) if word.isidentifier() and not is_macro(word))
            self._scopes.append(_Scope(parts, "namespace"))
            return []
        if words[:1] == ["extern"] and len(words) == 2:
            self._scopes.append(_Scope((), "transparent"))
            return []
        key = class_key(head)
        if key is not None:
            name, scoped, bases, enumeration = key
            if name:
                self._add(name, deprecated=is_deprecated(statement))
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
        self._declare(head, template=len(without_templates(statement)) < len(statement))
        return []

    # --- names of a statement ----------------------------------------------------------------------------------

    def _declare(self, statement: list[str], *, template: bool = False) -> None:
        deprecated = is_deprecated(statement)
        plain = without_templates(statement)
        words = without_attributes(plain)
        while words and words[0] in ("inline", "export", "__host__", "__device__", ")", "extern", '"', ","):
            words = words[1:]
        if not words or words[0] in ("friend", "static_assert", "template"):
            return
        if words[0] == "using":
            self._using(words, deprecated)
        elif words[0] == "namespace" and "=" in words:
            self._add(words[1], "a", target="".join(words[words.index("=") + 1 :]).lstrip(":"))
        elif words[0] == "typedef":
            for name in typedef_names(words[1:]):
                self._add(name, deprecated=deprecated)
        else:
            for name in declared_names(words):
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
