"""Parser for names in Microsoft's mangling: identifiers, scopes, template arguments; see `microsoft.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from abiscan.mangling.parser.cursor import DIGITS
from abiscan.mangling.parser.microsoft_codes import COMPILER_FUNCTIONS, OPERATORS
from abiscan.mangling.parser.microsoft_types import REFERENCES, MicrosoftTypes
from abiscan.mangling.parser.name_nodes import Conversion, Encoding, LiteralOperator, Local, Nested, Structor, Template
from abiscan.mangling.parser.render import Ident, Node, phrase
from abiscan.mangling.parser.type_nodes import ForwardParam

_ANONYMOUS: Final = Ident("(anonymous namespace)")
# Destructors that compilers add: they delete an object, or an array of them.
_DELETING: Final = {"_E": "vector-deleting", "_G": "scalar-deleting"}
_EMPTY_PACKS: Final = ("$S", "$$V", "$$$V", "$$Z")


class Unscoped(Struct):
    """An identifier before its scope is known.

    Attributes:
        name: its node; for a constructor or destructor a code: `0`, `1`, `_E`, `_G`.
        args: its template arguments, or None.
        returns: placeholder for the type of a conversion operator, which is the function's return type.
    """

    name: Node | str
    returns: ForwardParam | None = None
    args: tuple[Node, ...] | None = None


class MicrosoftScopes(MicrosoftTypes):
    """Reads names: the innermost identifier comes first, the outermost scope last."""

    __slots__ = ()

    # Reads a whole symbol, from its question mark on.
    symbol: Callable[[], Node]

    def remember(self, name: Node) -> None:
        """Assign a reference digit to a name, if it has none and one is left."""
        if len(self.names) < REFERENCES and not any(_same(name, each) for each in self.names):
            self.names.append(name)

    def source_name(self) -> Node:
        """Read an identifier, up to its @."""
        end = self.text.find("@", self.at)
        if end <= self.at:
            raise self.fail("an identifier")
        name = Ident(self.text[self.at : end])
        self.at = end + 1
        self.remember(name)
        return name

    def _reference(self) -> Node:
        number = int(self.text[self.at])
        if number >= len(self.names):
            raise self.fail("a name that was there before")
        self.at += 1
        return self.names[number]

    def type_name(self) -> Node:
        """Read the qualified name of a class or an enumeration."""
        self.deeper()
        text = self.text
        if text[self.at] in DIGITS:
            innermost = self._reference()
        elif text.startswith("?$", self.at):
            innermost = self._class_template()
        else:
            innermost = self.source_name()
        found = joined(self.scopes(), innermost)
        self.shallower()
        return found

    def symbol_name(self) -> tuple[Node, Unscoped]:
        """Read the name of a function or an object: (qualified name, its innermost identifier)."""
        self.deeper()
        unscoped = self._unscoped()
        scopes = self.scopes()
        name = self._structor(unscoped.name, scopes) if isinstance(unscoped.name, str) else unscoped.name
        found = joined(scopes, name)
        if unscoped.args is not None:
            found = Template(found, unscoped.args)
        self.shallower()
        return found, unscoped

    def _structor(self, code: str, scopes: list[Node]) -> Node:
        if not scopes:
            raise self.fail("the class of a constructor or destructor")
        innermost = scopes[0]
        of = innermost.name if isinstance(innermost, Template) else innermost
        return Structor(of, code != "0", _DELETING.get(code, ""))

    def _unscoped(self) -> Unscoped:
        text = self.text
        if text[self.at] in DIGITS:
            return Unscoped(self._reference())
        if self.take("?$"):
            names, params = self.names, self.params
            self.names, self.params = [], []
            self.deeper()
            inner = self._unscoped()
            inner.args = self._template_args()
            self.shallower()
            self.names, self.params = names, params
            return inner
        if self.take("?"):
            return self._operator()
        return Unscoped(self.source_name())

    def _operator(self) -> Unscoped:
        text = self.text
        length = 1
        if text[self.at] == "_":
            length = 3 if text[self.at + 1] == "_" else 2
        code = text[self.at : self.at + length]
        self.at += length
        if code in ("0", "1", *_DELETING):
            return Unscoped(code)
        if code == "B":
            returns = ForwardParam(0)
            return Unscoped(Conversion(returns), returns)
        if code == "__K":
            end = text.find("@", self.at)
            if end <= self.at:
                raise self.fail("the suffix of a literal operator")
            suffix = text[self.at : end]
            self.at = end + 1
            return Unscoped(LiteralOperator(f'operator"" {suffix}', suffix))
        name = OPERATORS.get(code) or COMPILER_FUNCTIONS.get(code)
        if name is None:
            raise self.fail("an operator")
        return Unscoped(Ident(name))

    # --- scopes

    def scopes(self) -> list[Node]:
        """Read the scopes of a name, innermost first, up to their @."""
        found: list[Node] = []
        while not self.take("@"):
            found.append(self._scope())
        return found

    def _scope(self) -> Node:
        text = self.text
        if text[self.at] in DIGITS:
            return self._reference()
        if text.startswith("?$", self.at):
            return self._class_template()
        if text.startswith("?A", self.at) and self._number_end() is None:
            end = text.find("@", self.at)
            if end < 0:
                raise self.fail("an anonymous namespace")
            self.at = end + 1
            # Each has its own number, and counts as one name for reference digits.
            self.remember(_ANONYMOUS)
            return _ANONYMOUS
        if text[self.at] == "?":
            return self._function_scope()
        return self.source_name()

    def _number_end(self) -> int | None:
        """Find the end of the number of a scope in a function, `?1?`; None if none begins here."""
        text = self.text
        end = text.find("?", self.at + 1, self.at + 20)
        digits = text[self.at + 1 : end] if end >= 0 else ""
        if len(digits) == 1 and (digits in DIGITS or digits == "@"):
            return end
        if len(digits) > 1 and digits.endswith("@") and all("A" <= each <= "P" for each in digits[:-1]):
            return end
        return None

    def _function_scope(self) -> Node:
        """Read the function that a local entity is in; the number distinguishes its blocks."""
        if self._number_end() is None:
            raise self.fail("a scope")
        self.at += 1
        if not self.take("@"):
            self.signed()
        self.need("?")
        self.deeper()
        function = self.symbol()
        self.shallower()
        return function

    # --- templates

    def _class_template(self) -> Node:
        """Read an instance of a class template; its arguments have references of their own."""
        names, params = self.names, self.params
        self.names, self.params = [], []
        self.need("?$")
        self.deeper()
        inner = self._unscoped()
        if isinstance(inner.name, str) or inner.returns is not None:
            raise self.fail("the name of a class template")
        found = Template(inner.name, self._template_args())
        self.shallower()
        self.names, self.params = names, params
        self.remember(found)
        return found

    def _template_args(self) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self.take("@"):
            if any(self.take(each) for each in _EMPTY_PACKS):
                continue
            found.append(self._template_arg())
        return tuple(found)

    def _template_arg(self) -> Node:
        if self.take("$M"):
            # The type of a parameter declared with auto.
            self.type()
            return self._value(self.text[self.at]) if self.text[self.at] in "01EFGHIJ" else self.type()
        if self.take("$$Y"):
            return self.type_name()
        if self.text[self.at] == "$" and self.text[self.at + 1] in "01EFGHIJ":
            self.at += 1
            return self._value(self.text[self.at])
        return self.type()

    def _value(self, code: str) -> Node:
        """Read a template argument that is not a type."""
        self.at += 1
        if code == "0":
            return Ident(str(self.signed()))
        if code == "E":
            return self._entity()
        if code in "FG":
            return phrase("{", ", ".join(str(self.signed()) for _ in range(2 if code == "F" else 3)), "}")
        # A pointer to a member; its symbol is followed by the offsets that its class needs.
        entity = self._entity() if self.text[self.at] == "?" else Ident("nullptr")
        count = "1HIJ".index(code)
        offsets = [str(self.signed()) for _ in range(count)]
        return phrase("&", entity) if not count else phrase("{", entity, ", ", ", ".join(offsets), "}")

    def _entity(self) -> Node:
        found = self.symbol()
        name = found.name if isinstance(found, Encoding) else found
        if isinstance(name, Template):
            name = name.name
        if isinstance(name, Nested):
            name = name.name
        # LLVM's demangler counts the identifier of the symbol again.
        self.remember(name)
        return found


def _same(a: Node, b: Node) -> bool:
    if isinstance(a, Ident) and isinstance(b, Ident):
        return a.text == b.text
    if isinstance(a, Template) and isinstance(b, Template):
        return a is b
    return False


def joined(scopes: list[Node], innermost: Node) -> Node:
    """Join parts, innermost first, to a qualified name."""
    found: Node | None = None
    function: Node | None = None
    for part in (*reversed(scopes), innermost):
        if isinstance(part, Encoding):
            # The scopes before the function are those of the function, not of the entity.
            function, found = part, None
        elif found is None:
            found = part
        elif isinstance(part, Template):
            found = Template(Nested(found, part.name), part.args)
        else:
            found = Nested(found, part)
    assert found is not None
    return found if function is None else Local(function, found)
