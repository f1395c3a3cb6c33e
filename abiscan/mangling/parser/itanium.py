"""<encoding> and <special-name>: a whole mangled name. See `productions.py` for the grammar."""

from __future__ import annotations

from typing import Final

from abiscan.mangling.parser.codes import LITERAL_SUFFIX
from abiscan.mangling.parser.cursor import NameSyntaxError, NameTooComplex
from abiscan.mangling.parser.name_nodes import Encoding, Special
from abiscan.mangling.parser.name_parser import NameParser
from abiscan.mangling.parser.productions import FunctionSignature
from abiscan.mangling.parser.render import Ident, Node, Reading, phrase
from abiscan.mangling.parser.template_parser import TemplateParser
from abiscan.mangling.parser.type_parser import TypeParser

_ENCODING_END: Final = frozenset("\0E._@")
# Special names followed by a <type> or <name>, with the text before it.
_SPECIAL_OF_TYPE: Final = {"TV": "vtable for ", "TT": "VTT for ", "TI": "typeinfo for ", "TS": "typeinfo name for "}
_SPECIAL_OF_NAME: Final = {
    "TW": "thread-local wrapper routine for ",
    "TH": "thread-local initialization routine for ",
    "GV": "guard variable for ",
}
# Special names followed by an <encoding>, with the number of <call-offset>s before it.
_SPECIAL_OF_ENCODING: Final = {
    "Th": ("non-virtual thunk to ", 1),
    "Tv": ("virtual thunk to ", 1),
    "Tc": ("covariant return thunk to ", 2),
}


class Parser(NameParser, TypeParser, TemplateParser):
    """All productions."""

    __slots__ = ()

    def encoding(self) -> Node:
        """<encoding> ::= <function name> <bare-function-type> | <data name> | <special-name>"""
        text = self.text
        if text[self.at] in {"G", "T"}:
            return self._special_name()
        self.deeper()
        params = self._params
        self._params = []
        signature = FunctionSignature()
        first_forward = len(self._forward)
        name = self.name(signature)
        self._resolve_forward(first_forward)
        if text[self.at] in _ENCODING_END:
            encoding = Encoding(name, None, None, signature.qualifiers)
        else:
            encoding = self._function(name, signature)
        self._params = params
        self._depth -= 1
        return encoding

    def _function(self, name: Node, signature: FunctionSignature) -> Encoding:
        text = self.text
        attributes: Node | None = None
        if text[self.at] == "U" and self.take("Ua9enable_ifI"):
            attributes = phrase(" [enable_if:", self.until_end(self.template_arg), "]")
        ret = None
        if signature.has_args and not signature.no_return_type:
            ret = self.type()
        params: list[Node] = []
        if text[self.at] == "v":
            self.at += 1
        else:
            while True:
                params.append(self.type())
                char = text[self.at]
                if char in _ENCODING_END or char == "Q":
                    break
            if signature.explicit_object:
                params[0] = phrase("this ", params[0])
        requires = self.constraint() if text[self.at] == "Q" else None
        return Encoding(name, ret, tuple(params), signature.qualifiers, requires=requires, attributes=attributes)

    def _resolve_forward(self, first: int) -> None:
        """Set the arguments of the parameters of a conversion operator's type, from `first` on."""
        forward = self._forward
        for param in forward[first:]:
            level = self._params[0] if self._params else None
            if level is None or param.index >= len(level):
                raise self.fail("an argument for the conversion operator's parameter")
            param.target = level[param.index]
        del forward[first:]

    def _special_name(self) -> Node:
        """<special-name>"""
        self.deeper()
        text = self.text
        code = text[self.at : self.at + 2]
        self.at += 2
        special: Node
        if code in _SPECIAL_OF_TYPE:
            special = Special(code, _SPECIAL_OF_TYPE[code], self.type())
        elif code in _SPECIAL_OF_NAME:
            special = Special(code, _SPECIAL_OF_NAME[code], self.name(None))
        elif code in _SPECIAL_OF_ENCODING:
            words, offsets = _SPECIAL_OF_ENCODING[code]
            if offsets == 1:
                # The letter is part of the call offset.
                self.at -= 1
            for _ in range(offsets):
                self._call_offset()
            special = Special(code, words, self.encoding())
        elif code == "TA":
            special = Special(code, "template parameter object for ", self.template_arg())
        elif code == "TC":
            derived = self.type()
            self.number()
            self.need("_")
            special = Special(code, "construction vtable for ", derived, self.type())
        elif code == "GR":
            of = self.name(None)
            # <object name> [<seq-id>] _ ; GCC before 5 omitted the underscore.
            if text[self.at] != "\0":
                self.seq_id()
            special = Special(code, "reference temporary for ", of)
        elif code == "GI":
            special = Special(code, "initializer for module ", self.module_name())
        elif code == "GT":
            kind = text[self.at]
            if kind not in "tn":
                raise self.fail("t or n")
            self.at += 1
            words = "transaction clone for " if kind == "t" else "non-transaction clone for "
            special = Special(code, words, self.encoding())
        else:
            raise self.fail("a special name")
        self._depth -= 1
        return special

    def _call_offset(self) -> None:
        """<call-offset> ::= h <nv-offset> _ | v <v-offset> _"""
        if self.take("h"):
            offsets = 1
        elif self.take("v"):
            offsets = 2
        else:
            raise self.fail("a call offset")
        for _ in range(offsets):
            if not self.number(negative=True):
                raise self.fail("a number")
            self.need("_")

    def expr_primary(self) -> Node:
        """<expr-primary>"""
        text = self.text
        self.at += 1
        at = self.at
        char = text[at]
        if char == "b" and text[at + 2] == "E" and text[at + 1] in "01":
            self.at = at + 3
            return Ident("true" if text[at + 1] == "1" else "false")
        suffix = LITERAL_SUFFIX.get(char)
        if suffix is not None:
            self.at = at + 1
            value = self.literal_value()
            return Ident(f"({suffix}){value}" if len(suffix) > 3 else value + suffix)
        if char in {"_", "Z"}:
            # GCC before 4.? omitted the underscore.
            self.need("_Z" if char == "_" else "Z")
            self.deeper()
            encoding = self.encoding()
            self._depth -= 1
            self.need("E")
            return encoding
        from abiscan.mangling.parser.literals import other_literal

        return other_literal(self)

    def expression(self) -> Node:
        """<expression>"""
        # Few names have one.
        from abiscan.mangling.parser.expressions import expression

        self.deeper()
        node = expression(self)
        self._depth -= 1
        return node


def read(mangled: str) -> Reading:
    """Parse `_Z <encoding> [<vendor-specific suffix>]`.

    Raises:
        NameSyntaxError: it is not a mangled name, or exceeds the limits.
    """
    if not mangled.startswith("_Z"):
        raise NameSyntaxError("does not begin with _Z")
    try:
        return _read(mangled, False)
    except NameTooComplex:
        raise
    except NameSyntaxError:
        if "srN" not in mangled and "CI" not in mangled:
            raise
        return _read(mangled, True)


def _read(mangled: str, clang: bool) -> Reading:
    parser = Parser(mangled, 2, clang)
    try:
        root = parser.encoding()
    except RecursionError:
        # The caller's stack was already deep.
        raise NameTooComplex("nested too deeply") from None
    suffix = mangled[parser.at :]
    if suffix and suffix[0] not in ".@":
        raise NameSyntaxError(f"at character {parser.at}: the end, or a suffix after . or @, expected")
    return Reading(root, suffix=suffix, declared=parser.declared)
