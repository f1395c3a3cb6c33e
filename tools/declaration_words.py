"""What the words of one C++ declaration declare: class keys, typedefs, names."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
DEPRECATED = re.compile(r"C10_DEPRECATED\w*|deprecated|C10_DEFINE_DEPRECATED_USING")
_MACRO = re.compile(r"[A-Z][A-Z0-9_]+")


def is_macro(word: str) -> bool:
    return _MACRO.fullmatch(word) is not None and len(word) > 2


def is_deprecated(statement: list[str]) -> bool:
    return any(DEPRECATED.fullmatch(word) for word in statement[:12])


def without_templates(statement: list[str]) -> list[str]:
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


def without_attributes(words: list[str]) -> list[str]:
    result = []
    at = 0
    while at < len(words):
        word = words[at]
        if word == "[[":
            at = words.index("]]", at) + 1 if "]]" in words[at:] else len(words)
        elif word in ("__attribute__", "__declspec", "alignas", "C10_DEPRECATED_MESSAGE") and words[
            at + 1 : at + 2
        ] == ["("]:
            at = parenthesis_end(words, at + 1)
        elif word.startswith("C10_DEPRECATED"):
            at += 1
        else:
            result.append(word)
            at += 1
    return result


def parenthesis_end(words: list[str], at: int) -> int:
    level = 0
    for end in range(at, len(words)):
        level += (words[end] == "(") - (words[end] == ")")
        if level == 0:
            return end + 1
    return len(words)


def class_key(head: list[str]) -> tuple[str, bool, list[str], bool] | None:
    """For `class NAME : BASES` the name, whether it is a scoped enumeration, its bases, and whether it is an
    enumeration."""
    words = without_attributes(head)
    while words and (
        words[0] in ("typedef", "static", "const", "constexpr", "inline", "extern", "export", "friend")
        or is_macro(words[0])
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
            if not (at and is_macro(rest[at - 1])):
                return None  # a function that returns one
            at = parenthesis_end(rest, at)
            continue
        if word == "=":
            return None
        if (
            word.isidentifier()
            and word != "final"
            and not (is_macro(word) and rest[at + 1 : at + 2] not in ([], [":"], ["<"]))
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


def typedef_names(words: list[str]) -> Iterator[str]:
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


def declared_names(words: list[str]) -> Iterator[str]:
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
            end = parenthesis_end(words, at)
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
                if is_macro(before):
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
