"""Parser for types in Microsoft's mangling; see `microsoft.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from abiscan.mangling.parser.cursor import DIGITS, Cursor
from abiscan.mangling.parser.microsoft_codes import BUILTINS, CALLING_CONVENTIONS, POINTERS, QUALIFIERS, WIDE_BUILTINS
from abiscan.mangling.parser.render import Ident, Node
from abiscan.mangling.parser.type_nodes import Array, Function, MemberPointer, Pointer, Qualified, ReferenceType

# Maximum number of names, and of parameter types, that can be referred to: a reference is one digit.
REFERENCES: Final = 10
_BUILTINS: Final[dict[str, Node]] = {letter: Ident(text) for letter, text in BUILTINS.items()}
_WIDE: Final[dict[str, Node]] = {letter: Ident(text) for letter, text in WIDE_BUILTINS.items()}
_NULLPTR: Final = Ident("std::nullptr_t")
_ELLIPSIS: Final = Ident("...")
_NOEXCEPT: Final = Ident("noexcept")
_CLASS_KEYS: Final = frozenset("TUV")


class MicrosoftTypes(Cursor):
    """Reads types, and the parameters of functions.

    Attributes:
        names: targets of digits in names; params: targets of digits in parameter lists.
    """

    __slots__ = ("names", "params")

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.names: list[Node] = []
        self.params: list[Node] = []

    # Reads the qualified name of a class or an enumeration.
    type_name: Callable[[], Node]
    # Reads an identifier, up to its @; a later digit may refer to it.
    source_name: Callable[[], Node]

    # --- numbers and qualifiers

    def signed(self) -> int:
        """Read a number: a digit for 1 to 10, or the letters A to P as hexadecimal digits, up to an @; a ? before it
        makes it negative."""
        sign = -1 if self.take("?") else 1
        char = self.text[self.at]
        if char in DIGITS:
            self.at += 1
            return sign * (int(char) + 1)
        end = self.text.find("@", self.at, self.at + 33)
        digits = self.text[self.at : end] if end >= 0 else ""
        if end < 0 or any(not "A" <= digit <= "P" for digit in digits):
            raise self.fail("a number")
        self.at = end + 1
        value = 0
        for digit in digits:
            value = value * 16 + ord(digit) - ord("A")
        return sign * value

    def qualifiers(self) -> str:
        """Read the qualifiers of a pointee, object or member function, and return them in C++ syntax."""
        found = QUALIFIERS.get(self.text[self.at])
        if found is None:
            raise self.fail("qualifiers")
        self.at += 1
        return found

    def pointer_qualifiers(self) -> str:
        """Read __ptr64, which is not kept, __restrict and __unaligned."""
        self.take("E")
        found = " __restrict" if self.take("I") else ""
        return found + (" __unaligned" if self.take("F") else "")

    # --- types

    def result_type(self) -> Node:
        """Read the return type of a function, after its qualifiers if it begins with `?`."""
        qualifiers = self.qualifiers() if self.take("?") else ""
        return qualified(self.type(), qualifiers)

    def type(self) -> Node:
        """Read a type without top-level qualifiers."""
        text = self.text
        char = text[self.at]
        builtin = _BUILTINS.get(char)
        if builtin is not None:
            self.at += 1
            return builtin
        self.deeper()
        found = self._type(char)
        self.shallower()
        return found

    def _type(self, char: str) -> Node:
        if char == "_":
            wide = _WIDE.get(self.text[self.at + 1])
            if wide is None:
                raise self.fail("a type")
            self.at += 2
            return wide
        if char in _CLASS_KEYS:
            self.at += 1
            return self.type_name()
        if char == "W":
            # The digit encodes the underlying type of an enumeration: 4 for int; compilers write no other.
            self.need("W4")
            return self.type_name()
        if char in POINTERS:
            return self._pointer()
        if char == "Y":
            self.at += 1
            return self._array()
        if char == "?":
            self.at += 1
            found = self.source_name()
            self.need("@")
            return found
        if self.take("$$T"):
            return _NULLPTR
        if self.take("$$Q") or self.take("$$R"):
            return ReferenceType(self._pointee(), "&&")
        if self.take("$$A8@@"):
            return self.function_type(is_member=True)
        if self.take("$$A6"):
            return self.function_type(is_member=False)
        if self.take("$$B"):
            return self.type()
        if self.take("$$C"):
            qualifiers = self.qualifiers()
            return qualified(self.type(), qualifiers)
        raise self.fail("a type")

    def _pointee(self) -> Node:
        self.pointer_qualifiers()
        if self.take("6"):
            return self.function_type(is_member=False)
        qualifiers = self.qualifiers()
        return qualified(self.type(), qualifiers)

    def _pointer(self) -> Node:
        mark, own = POINTERS[self.text[self.at]]
        self.at += 1
        if self.take("6"):
            return self._pointer_to(self.function_type(is_member=False), mark, own)
        own += self.pointer_qualifiers()
        if self.take("8"):
            of = self.type_name()
            return qualified(MemberPointer(self.function_type(is_member=True), of), own)
        is_member = self.text[self.at] in "QRST"
        qualifiers = self.qualifiers()
        if is_member and mark == "*":
            of = self.type_name()
            return qualified(MemberPointer(qualified(self.type(), qualifiers), of), own)
        return self._pointer_to(qualified(self.type(), qualifiers), mark, own)

    @staticmethod
    def _pointer_to(to: Node, mark: str, own: str) -> Node:
        return qualified(ReferenceType(to, mark) if mark == "&" else Pointer(to), own)

    def _array(self) -> Node:
        rank = self.signed()
        if not 0 < rank <= 64:
            raise self.fail("the number of bounds of an array")
        bounds = [self.signed() for _ in range(rank)]
        qualifiers = self.qualifiers() if self.take("$$C") else ""
        found = qualified(self.type(), qualifiers)
        for bound in reversed(bounds):
            found = Array(found, Ident(str(bound)) if bound else None)
        return found

    # --- functions

    def function_type(self, *, is_member: bool) -> Function:
        """Read a function type; that of a member includes the qualifiers of its object."""
        qualifiers = self.member_qualifiers() if is_member else ""
        ret, params, noexcept = self.signature()
        return Function(ret or Ident(""), params, qualifiers, _NOEXCEPT if noexcept else None)

    def member_qualifiers(self) -> str:
        """Read the qualifiers of a member function, and return them in C++ syntax: const, volatile, &, &&."""
        restrict = self.pointer_qualifiers()
        reference = " &" if self.take("G") else " &&" if self.take("H") else ""
        return self.qualifiers() + restrict + reference

    def signature(self) -> tuple[Node | None, tuple[Node, ...], bool]:
        """Read (return type, None for constructors and destructors; parameter types; whether it is noexcept)."""
        if self.text[self.at] not in CALLING_CONVENTIONS:
            raise self.fail("a calling convention")
        self.at += 1
        ret = None if self.take("@") else self.result_type()
        params = self._parameters()
        noexcept = self.take("_E")
        if not noexcept:
            self.need("Z")
        return ret, params, noexcept

    def _parameters(self) -> tuple[Node, ...]:
        if self.take("X"):
            return ()
        found: list[Node] = []
        while self.text[self.at] not in "@Z":
            char = self.text[self.at]
            if char in DIGITS:
                if int(char) >= len(self.params):
                    raise self.fail("a parameter type that was there before")
                found.append(self.params[int(char)])
                self.at += 1
                continue
            start = self.at
            param = self.type()
            # Types of one letter get no reference.
            if self.at - start > 1 and len(self.params) < REFERENCES:
                self.params.append(param)
            found.append(param)
        if self.text[self.at] == "Z":
            found.append(_ELLIPSIS)
        self.at += 1
        return tuple(found)


def qualified(type_: Node, qualifiers: str) -> Node:
    """Add qualifiers to a type, each at most once."""
    if isinstance(type_, Qualified):
        words = f"{type_.qualifiers}{qualifiers}".split()
        return Qualified(type_.type, "".join(f" {word}" for word in dict.fromkeys(words)))
    return Qualified(type_, qualifiers) if qualifiers else type_
