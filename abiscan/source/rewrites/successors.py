"""Rewrites of removed names and headers of torch to equivalent ones."""

from __future__ import annotations

from abiscan.ownership.torch_declarations import declarations
from abiscan.ownership.torch_successors import successor_of
from abiscan.source.flagged_place import FlaggedPlace
from abiscan.source.rewrites.edited_source import Edit, EditableSource, NotRewritten


def successor(place: FlaggedPlace, written: EditableSource) -> list[Edit] | NotRewritten:
    """`c10::guts::make_unique` to `std::make_unique`, <THC/THCAtomics.cuh> to <ATen/cuda/Atomic.cuh>
    (`data/torch_successors.toml`)."""
    row = successor_of(place.text, declarations().releases[-1])
    if row is None or not row.same:
        if row is None:
            return NotRewritten("no replacement with the same meaning is known")
        return NotRewritten(row.advice[:1].lower() + row.advice[1:])
    if row.write:
        return _member(row.write, place, written)
    token = written.tokens[written.index(place.at)]
    if token.kind == "include":
        start = written.text.index(place.text, place.at)
        return [Edit(start, start + len(place.text), row.use)]
    index = written.index(place.at)
    first = index - 2 * place.text.count("::")
    included = written.include(row.header, place.at) if row.header else []
    if included is None:
        return NotRewritten(f"it has no #include before it that <{row.header}> could follow")
    return [*included, Edit(written.tokens[first].at, written.end(index), row.use)]


def _member(write: str, place: FlaggedPlace, written: EditableSource) -> list[Edit] | NotRewritten:
    """`x.data<T>()` to `static_cast<T*>(x.mutable_data())`."""
    index = written.index(place.at)
    close = written.angle_end(index + 1) or index + 1
    start = written.object_start(index)
    if start is None or written.word(close) != "(" or written.word(close + 1) != ")":
        return NotRewritten("it is not called without arguments")
    head, tail = write.replace("{type}", written.between(index + 2, close - 1) if close > index + 1 else "").split(
        "{object}"
    )
    begin = written.tokens[start].at
    return [Edit(begin, begin, head)] * bool(head) + [Edit(written.tokens[index].at, written.end(close + 1), tail)]
