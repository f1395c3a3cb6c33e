"""Order of relocation for literal graphs; tests/truth compares real ones with glibc."""

from __future__ import annotations

import pytest

from abiscan.loader.linkmap import LinkMap
from abiscan.loader.ordering import sort_by_dependency


def graph(**needed: str) -> list[LinkMap]:
    maps = {name: LinkMap(None, name) for name in needed}
    for name, others in needed.items():
        maps[name].needed = tuple(maps[other] for other in others)
    return list(maps.values())


@pytest.mark.parametrize("original", [False, True])
@pytest.mark.parametrize(
    "maps",
    [
        graph(r="ab", a="c", b="c", c=""),
        graph(r="ab", a="b", b=""),
        graph(r="ab", a="", b="a"),
        graph(r="abc", a="d", b="d", c="", d="c"),
    ],
)
def test_dependents_come_before_what_they_need(maps: list[LinkMap], original: bool) -> None:
    order = sort_by_dependency(maps, original=original)
    assert set(order) == set(maps)
    assert order[0] is maps[0]
    for item in maps:
        for dependency in item.needed or ():
            assert order.index(item) < order.index(dependency)


@pytest.mark.parametrize("original", [False, True])
def test_a_cycle_keeps_the_root_first(original: bool) -> None:
    maps = graph(r="a", a="b", b="r")
    order = sort_by_dependency(maps, original=original)
    assert order[0] is maps[0]
    assert set(order) == set(maps)


@pytest.mark.parametrize("original", [False, True])
def test_what_was_loaded_before_is_not_gone_through_again(original: bool) -> None:
    """`_dl_sort_maps` orders only the given objects; objects that are already loaded are relocated."""
    root, new, old, _older = graph(r="ao", a="o", o="p", p="")
    assert sort_by_dependency([root, new], original=original) == [root, new]
    assert old.needed
