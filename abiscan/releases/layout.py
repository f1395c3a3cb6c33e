"""Memory layouts of records, and differences between two of them.

An enumeration is stored like a record: the numbers of its enumerators are compiled into a file like the offsets of
fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct


class Field(Struct, frozen=True, array_like=True):
    """A field or base of a record.

    Attributes:
        offset: in bits from the start of the record; for an enumerator, its value.
        name: empty for a base; for a record within a field of a type that is not torch's, the name of that field.
        record: qualified name of the torch record stored there by value, or of the elements of a container stored
            there; otherwise empty.
    """

    offset: int
    name: str
    record: str


class Layout(Struct, frozen=True, array_like=True):
    """One layout of a record (Itanium C++ ABI, section 2.4).

    Attributes:
        size, align: in bytes; 0 for an enumeration.
        fields: in the order of their offsets.
    """

    size: int
    align: int
    fields: tuple[Field, ...]

    @property
    def is_enumeration(self) -> bool:
        """Whether its fields are enumerators."""
        return not self.align


class LayoutChange(Struct, frozen=True):
    """Differences between the layouts of a record in two builds.

    Attributes:
        moved: the first field of the old layout that moved or is missing; None if there is none.
        came: the first field that only the new layout has; None if there is none.
        old_places, new_places: offset of each field in bits, including those of bases.
        inner: change of a record that both contain by value; the first with another size, if there is one.
    """

    record: str
    old: Layout
    new: Layout
    moved: str | None
    came: str | None
    old_places: dict[str, int]
    new_places: dict[str, int]
    inner: LayoutChange | None


Layouts = Callable[[str], Layout | None]


def change_of(record: str, old: Layouts, new: Layouts, *, within: frozenset[str] = frozenset()) -> LayoutChange | None:
    """The change of a record between two builds; None if every byte means the same or a build lacks the record.

    Args:
        within: records that are already being compared: a record may have elements of its own type.
    """
    before, after = old(record), new(record)
    if before is None or after is None:
        return None
    places, later = _places(record, old), _matched(record, old, new)
    moved = next((name for name, place in places.items() if later.get(name) != place), None)
    # An added member of a union shares its offset with others and moves none.
    kept = {later.get(name) for name in places}
    came = next((name for name, place in later.items() if name not in places and place not in kept), None)
    if before.is_enumeration:
        came = None  # files that are already compiled do not use it
    around = within | {record}
    holds = dict.fromkeys(field.record for field in before.fields if field.record and field.record not in around)
    held = [change_of(each, old, new, within=around) for each in holds if not _is_enumeration(each, old)]
    changed = [each for each in held if each is not None]
    # An inner record of another size is the reason why later fields moved.
    inner = next((each for each in changed if each.old.size != each.new.size), next(iter(changed), None))
    if (before.size, before.align) == (after.size, after.align) and moved is None and came is None and inner is None:
        return None
    return LayoutChange(record, before, after, moved, came, places, later, inner)


def _is_enumeration(record: str, layouts: Layouts) -> bool:
    """Whether it is an enumeration: a field of its type stays in place, whatever its numbers mean."""
    layout = layouts(record)
    return layout is not None and layout.is_enumeration


def _matched(record: str, old: Layouts, new: Layouts) -> dict[str, int]:
    """`_places` of the new layout. A renamed field that stays in place, with the same records in it, has its old name:
    field names are not compiled into files."""
    places, later = _places(record, old), _places(record, new)
    gone = {places[name]: name for name in places if name not in later}
    found = {}
    for name, place in later.items():
        before = gone.get(place) if name not in places else None
        same = before is not None and _held(record, before, old) == _held(record, name, new)
        found[before if before is not None and same else name] = place
    return found


def _held(record: str, name: str, layouts: Layouts) -> set[str]:
    layout = layouts(record)
    return {field.record for field in layout.fields if field.name == name} if layout is not None else set()


def _places(record: str, layouts: Layouts) -> dict[str, int]:
    """Offset of each field in bits, including those of bases: a field that moved into a base stays in place."""
    places: dict[str, int] = {}
    layout = layouts(record)
    for field in layout.fields if layout is not None else ():
        inherited = _places(field.record, layouts) if not field.name and field.record != record else {}
        for name, offset in inherited.items():
            places.setdefault(name, field.offset + offset)
        if not inherited:
            places.setdefault(field.name or field.record, field.offset)
    return places


def is_moved(record: str, fields: Iterable[str], old: Layouts, new: Layouts) -> bool:
    """Whether code that reads one of these fields by the old layout reads other bytes in the new one."""
    before, after = old(record), new(record)
    if before is None or after is None:
        return False
    places, later = _places(record, old), _matched(record, old, new)
    for name in fields:
        if name not in places:
            continue
        if later.get(name) != places[name]:
            return True
        held = {field.record for field in before.fields if field.name == name and field.record}
        if any(change_of(each, old, new) is not None for each in held if not _is_enumeration(each, old)):
            return True
    return False
