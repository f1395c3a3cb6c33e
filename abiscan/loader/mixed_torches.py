"""Whether `import torch` succeeds with libraries that LD_LIBRARY_PATH or LD_PRELOAD puts in place of others."""

from __future__ import annotations

from abiscan.loader.closure import Closure
from abiscan.loader.failure import LoadFailure
from abiscan.loader.linker import RuntimeLinker
from abiscan.loader.linkmap import Namespace
from abiscan.loader.lookup import Scope, check_versions
from abiscan.loader.ordering import sort_by_dependency
from abiscan.loader.relocate import bind, find_lookups, first_missing


def check_imported(
    namespace: Namespace, started: int, linker: RuntimeLinker, closure: Closure, *, bind_all: bool
) -> None:
    """Check what `import torch` has opened, as far as other libraries can make it fail.

    Args:
        started: number of objects before main.
        closure: of torch's extension module.
        bind_all: whether to resolve the symbols, too: libraries of torch itself were replaced.

    Raises:
        LoadFailure: a library lacks a version or a symbol.
    """
    for item in closure.maps:
        check_versions(item, namespace, closure.maps, knows_relr=linker.at_least(2, 36))
    if not bind_all:
        return
    in_process = frozenset(namespace.scope)
    loaded, search_list = Scope(namespace.scope), Scope(m for m in closure.maps if m not in in_process)
    new = [item for item in closure.maps if item.index >= started]
    for item in reversed(sort_by_dependency(new, original=not linker.at_least(2, 36))):
        lookups = find_lookups(item)
        stop = first_missing(item, lookups, bind(item, lookups, loaded, search_list))
        if stop is not None:
            raise LoadFailure(stop)
