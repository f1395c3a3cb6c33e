"""The order of relocation: `_dl_sort_maps` in elf/dl-sort-maps.c of glibc."""

from __future__ import annotations

from collections.abc import Sequence

from abiscan.loader.linkmap import LinkMap


def sort_by_dependency(maps: Sequence[LinkMap], *, original: bool) -> list[LinkMap]:
    """Sort a search list so that dependents precede their dependencies. Relocation goes through it backwards.

    Args:
        maps: breadth first, the opened object at the head; its own dependencies are not followed.
        original: whether to use the default algorithm before glibc 2.36 (`glibc.rtld.dynamic_sort=1`).
    """
    return _original(maps) if original else _depth_first(maps)


def _depth_first(maps: Sequence[LinkMap]) -> list[LinkMap]:
    root = maps[0]
    # Objects loaded before are marked as visited (`l_visited`) and not traversed again.
    unvisited = set(maps)
    order: list[LinkMap] = []
    for start in reversed(maps):
        if start not in unvisited:
            continue
        unvisited.remove(start)
        stack = [(start, iter(_edges(start, root)))]
        while stack:
            item, edges = stack[-1]
            for dependency in edges:
                if dependency in unvisited:
                    unvisited.remove(dependency)
                    stack.append((dependency, iter(_edges(dependency, root))))
                    break
            else:
                stack.pop()
                order.append(item)
    order.reverse()
    if order[0] is not root:
        # The root is part of a cycle. It is put first nevertheless (since 2.36, bug 28937).
        order.remove(root)
        order.insert(0, root)
    return order


def _edges(item: LinkMap, root: LinkMap) -> tuple[LinkMap, ...]:
    # The root's list is not stored yet when the sort runs.
    return () if item is root else item.needed or ()


def _original(maps: Sequence[LinkMap]) -> list[LinkMap]:
    head, rest = maps[0], list(maps[1:])
    count = len(rest)
    if count <= 1:
        return list(maps)
    seen = [0] * count
    i = 0
    while True:
        seen[i] += 1
        item = rest[i]
        k = count - 1
        moved = cleared = False
        while k > i:
            if item in (rest[k].needed or ()):
                rest.insert(k, rest.pop(i))
                if seen[i + 1] > count - i:
                    i += 1
                    cleared = True
                else:
                    seen.insert(k, seen.pop(i))
                moved = True
                break
            k -= 1
        if moved and not cleared:
            continue
        if not moved:
            i += 1
            if i == count:
                break
        seen[i:] = [0] * (count - i)
    return [head, *rest]
