"""Records that a file's own classes hold by value, from debug information: types of members and bases (DWARF 5,
sections 5.7.3 and 5.7.6)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from abiscan.elf.abbreviations import LOCATION, NAME, SPECIFICATION, TYPE, DebugEntry
from abiscan.elf.dynamic_file import DynamicFile
from abiscan.elf.record_sizes import NAMESPACE, RECORDS, RecordWalk

_MEMBER, _INHERITANCE, _TYPEDEF, _CONST, _VOLATILE = 0x0D, 0x1C, 0x16, 0x26, 0x35
_SAME: Final = frozenset({_TYPEDEF, _CONST, _VOLATILE})
_REF_SIG8: Final = 0x20
# DW_FORM_ref1, ref2, ref4, ref8 and ref_udata: relative to the unit.
_IN_UNIT: Final = frozenset({0x11, 0x12, 0x13, 0x14, 0x15})
# Maximum depth of `const` of a `typedef` of ...
_MAX_SAME: Final = 8


def record_holders(elf: DynamicFile, wanted: Collection[str], foreign: tuple[str, ...]) -> dict[str, str]:
    """The wanted records (qualified names) that a class of the file holds by value or derives from -> that class.

    Args:
        foreign: name prefixes of classes that are not the file's own but of headers that it includes.

    Damaged or too large debug information yields what was read before.
    """
    # Few files hold one, and torch's own classes are most of the entries: the file's own classes are looked at first.
    own = _OwnMembers.of(elf, (), foreign)
    if own is None or own.types.isdisjoint({"", *(name.rpartition("::")[2] for name in wanted)}):
        return {}
    walk = _HolderWalk.of(elf, wanted, foreign)
    return walk.found() if walk is not None else {}


class _OwnMembers(RecordWalk):
    """A walk over the file's own classes.

    Attributes:
        types: unqualified names of the records that they hold; empty for one whose name is elsewhere.
    """

    looked_at = RecordWalk.looked_at | {_MEMBER, _INHERITANCE}

    def prepare(self, foreign: tuple[str, ...]) -> None:
        self._foreign = foreign
        self._own: set[str] = set()
        self._places: dict[int, str] = {}
        self._members: list[tuple[str, tuple[int, int]]] = []
        self.types: set[str] = set()

    def visit(
        self, entry: DebugEntry, place: int, outer: str, text: str, values: dict[int, tuple[int, int]]
    ) -> str | None:
        if entry.tag in (_MEMBER, _INHERITANCE):
            # A static member has no offset in the object.
            has_place = any(attribute == LOCATION for attribute, _form, _constant in entry.forms)
            if outer in self._own and TYPE in values and has_place:
                self._members.append((outer, values[TYPE]))
            return None
        scope = super().visit(entry, place, outer, text, values)
        if scope is not None or (not text and entry.tag in RECORDS):
            return scope
        if SPECIFICATION in values:
            # Declared in its scope, and defined elsewhere.
            return self._places.get(values[SPECIFICATION][1])
        name = "::".join(filter(None, (outer, text or "(anonymous namespace)")))
        if f"{name}::".startswith(self._foreign):
            return None
        if entry.tag != NAMESPACE:
            self._own.add(name)
            self._places[place] = name
        return name

    def end_unit(self, signature: tuple[int, int] | None) -> None:
        for reference in {reference for _holder, reference in self._members}:
            form, value = self._resolve_type(*reference)
            if form == _REF_SIG8:
                self.types.add("")
            elif form in _IN_UNIT:
                entry, values = self.entry_at(value)
                if entry is not None and entry.tag in RECORDS and NAME in values:
                    self.types.add("" if SPECIFICATION in values else self.text_of(*values[NAME]))
        self._members.clear()
        self._places.clear()
        super().end_unit(signature)

    def _resolve_type(self, form: int, value: int) -> tuple[int, int]:
        """The type without typedefs and qualifiers."""
        for _step in range(_MAX_SAME):
            if form not in _IN_UNIT or value in self.declared:
                break
            entry, values = self.entry_at(value)
            if entry is None or entry.tag not in _SAME or TYPE not in values:
                break
            form, value = values[TYPE]
        return form, value


class _HolderWalk(_OwnMembers):
    def prepare(self, foreign: tuple[str, ...]) -> None:
        super().prepare(foreign)
        self._by_signature: list[tuple[str, int]] = []
        self._signed: dict[int, str] = {}
        self._holders: dict[str, str] = {}

    def end_unit(self, signature: tuple[int, int] | None) -> None:
        if signature is not None and signature[1] in self.declared:
            self._signed[signature[0]] = self.declared[signature[1]]
        for holder, reference in self._members:
            form, value = self._resolve_type(*reference)
            if form == _REF_SIG8:
                self._by_signature.append((holder, value))
            elif form in _IN_UNIT and value in self.declared:
                self._holders.setdefault(self.declared[value], holder)
        self._members.clear()
        super().end_unit(signature)

    def found(self) -> dict[str, str]:
        """Record -> class."""
        for holder, signature in self._by_signature:
            if signature in self._signed:
                self._holders.setdefault(self._signed[signature], holder)
        return dict(sorted(self._holders.items()))
