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
