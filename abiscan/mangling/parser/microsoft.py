"""Parser for the mangled names of Microsoft's compiler (and of Clang for Windows): whole symbols.

Microsoft has not published the grammar. The source is the code of LLVM's compiler and demangler
(https://github.com/llvm/llvm-project, clang/lib/AST/MicrosoftMangle.cpp, llvm/lib/Demangle/MicrosoftDemangle.cpp); that
demangler is the oracle of the tests. It makes the nodes of the Itanium parser, so that names of both compilers are
compared by the same code. Calling conventions, `class`, `struct` and `__ptr64` are not kept: no part of a declaration.

As in the Itanium parser, every step takes at least one character, nesting is bounded, and every other failure is a
`NameSyntaxError`.
"""

from __future__ import annotations

from typing import Final

from abiscan.mangling.parser.microsoft_codes import FUNCTIONS, VARIABLES, VIRTUAL_THUNKS
from abiscan.mangling.parser.microsoft_scopes import MicrosoftScopes, Unscoped, joined
from abiscan.mangling.parser.name_nodes import Encoding, Special
from abiscan.mangling.parser.render import Ident, Node, Reading
from abiscan.mangling.parser.type_nodes import MemberPointer, Pointer, Qualified

# Tables that a compiler makes for a class: code -> text before it.
_TABLES: Final = {
    "?_7": "vtable for ",
    "?_8": "vbtable for ",
    "?_S": "local vtable for ",
    "?_R4": "RTTI complete object locator for ",
}
_RTTI: Final = {"?_R2": "RTTI base class array for ", "?_R3": "RTTI class hierarchy descriptor for "}
_TYPE_DESCRIPTOR: Final = "typeinfo for "
_BASE_CLASS: Final = "RTTI base class descriptor for "
_INITIALIZERS: Final = {"?__E": "dynamic initializer for ", "?__F": "dynamic atexit destructor for "}
_GUARDS: Final = {"?_B": "guard variable for ", "?__J": "thread-safe guard variable for "}
_THUNK: Final = "thunk to "


class MicrosoftParser(MicrosoftScopes):
    """All productions.

    Attributes:
        member: of the last symbol; see `Reading`.
    """

    __slots__ = ("member",)

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.member = ""

    def symbol(self) -> Node:
        """Read a symbol, from its question mark on."""
        self.need("?")
        self.deeper()
        found = self._special() or self._encoded(*self.symbol_name())
        self.shallower()
        return found

    # --- tables and functions that a compiler makes

    def _special(self) -> Node | None:
        text = self.text
        if not text.startswith(("?_", "?@"), self.at):
            return None
        for code, phrase in _TABLES.items():
            if self.take(code):
                return self._table(code, phrase)
        for code, phrase in _RTTI.items():
            if self.take(code):
                found = Special(code, phrase, self._class())
                self.need("8")
                return found
        if self.take("?_R0"):
            described = self.result_type()
            self.need("@8")
            return Special("?_R0", _TYPE_DESCRIPTOR, described)
        if self.take("?_R1"):
            for _ in range(4):
                self.signed()
            found = Special("?_R1", _BASE_CLASS, self._class())
            self.need("8")
            return found
        for code, phrase in _INITIALIZERS.items():
            if self.take(code):
                return self._initializer(code, phrase)
        for code, phrase in _GUARDS.items():
            if self.take(code):
                return self._guard(code, phrase)
        if text.startswith(("?_C", "?_P", "?_A", "?@"), self.at):
            raise self.fail("a name that stands for a declaration")
        return None

    def _class(self) -> Node:
        """Read the class of a table: a list of scopes, the innermost of which is the class."""
        scopes = self.scopes()
        if not scopes:
            raise self.fail("a class")
        return joined(scopes[1:], scopes[0])

    def _table(self, code: str, phrase: str) -> Node:
        of = self._class()
        if self.text[self.at] not in "67":
            raise self.fail("a table")
        self.at += 1
        self.qualifiers()
        if self.take("@"):
            return Special(code, phrase, of)
        # The base of the table; further ones distinguish bases of bases.
        base = self.type_name()
        while not self.take("@"):
            base = self.type_name()
        return Special(code, phrase, of, base)

    def _initializer(self, code: str, phrase: str) -> Node:
        if self.text[self.at] == "?":
            of = self.symbol()
            self.take("@")
            if isinstance(of, Encoding) and of.params is None:
                self.take("@")
        else:
            of, _ = self.symbol_name()
        if self.text[self.at] == "Y":
            self._encoded(of, Unscoped(of))
        return Special(code, phrase, of)

    def _guard(self, code: str, phrase: str) -> Node:
        of = self._class()
        if self.take("4IA"):
            return Special(code, phrase, of)
        self.need("5")
        if self.text[self.at] != "\0":
            self.signed()
        return Special(code, phrase, of)

    # --- functions and objects

    def _encoded(self, name: Node, unscoped: Unscoped) -> Node:
        char = self.text[self.at]
        if char in VARIABLES:
            self.at += 1
            return self._variable(name, VARIABLES[char])
        self.take("$$J0")
        return self._function(name, unscoped)

    def _variable(self, name: Node, member: str) -> Node:
        declared = self.type()
        pointer = declared.type if isinstance(declared, Qualified) else declared
        if isinstance(pointer, Pointer):
            self.pointer_qualifiers()
        self.qualifiers()
        if isinstance(pointer, MemberPointer):
            self.type_name()
        self.member = member
        return Encoding(name, None, None, "")

    def _function(self, name: Node, unscoped: Unscoped) -> Node:
        is_thunk = False
        if self.take("$"):
            extra = self.take("R")
            member = VIRTUAL_THUNKS.get(self.text[self.at])
            if member is None:
                raise self.fail("a virtual thunk")
            self.at += 1
            for _ in range(4 if extra else 2):
                self.signed()
            is_thunk = True
        elif self.take("9"):
            # A C function with unknown parameters.
            self.member = ""
            return Encoding(name, None, (), "")
        else:
            found = FUNCTIONS.get(self.text[self.at])
            if found is None:
                raise self.fail("the kind of a function")
            self.at += 1
            member, is_thunk = found
            if is_thunk:
                self.signed()
        is_member = bool(member) and "static" not in member
        qualifiers = self.member_qualifiers() if is_member else ""
        ret, params, _ = self.signature()
        if unscoped.returns is not None:
            unscoped.returns.target, ret = ret or Ident("void"), None
        self.member = member
        encoding = Encoding(name, ret, params, qualifiers)
        return Special("?thunk", _THUNK, encoding) if is_thunk else encoding


def read_microsoft(mangled: str) -> Reading:
    """Parse a whole name.

    Raises:
        NameSyntaxError: it is not a mangled name, or is the hash of one.
    """
    parser = MicrosoftParser(mangled)
    root = parser.symbol()
    if parser.text[parser.at] != "\0":
        raise parser.fail("the end")
    return Reading(root, member=parser.member)
