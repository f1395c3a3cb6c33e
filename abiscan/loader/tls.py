"""Static TLS: the little room that libraries opened later share (elf/dl-tls.c and dl-reloc.c of glibc).

A library that uses the initial-exec model (DF_STATIC_TLS: libgomp, allocators, sanitizers) must get its thread-local
variables into a block whose size was fixed when the process started.
"""

from __future__ import annotations

from collections.abc import Iterable

from abiscan.elf.dynamic import DF_STATIC_TLS, DT_FLAGS
from abiscan.elf.segment import PT_TLS, Segment
from abiscan.loader.failure import Undecidable
from abiscan.loader.linkmap import LinkMap

# TLS_STATIC_SURPLUS: 1664 bytes with the default tunables, in every release.
_SURPLUS = 1664
_ALIGNMENT = 64
# What is not counted here: gaps between blocks, and TLS descriptors, which may take up to 512 bytes of the surplus and
# are the common model on aarch64.
_UNSURE = {"x86_64": 128}
_UNSURE_ELSEWHERE = 640


class StaticTls:
    """The room that is left.

    Args:
        startup: what the executable brought; its own blocks do not count, its alignment does.
        later: what was opened since, in order.
    """

    def __init__(self, machine: str, startup: Iterable[LinkMap], later: Iterable[LinkMap]) -> None:
        self._unsure = _UNSURE.get(machine, _UNSURE_ELSEWHERE)
        alignments = (segment.align for item in startup if (segment := _tls(item)) is not None)
        self._align = max(_ALIGNMENT, *alignments, 1)
        self._free = _SURPLUS
        for item in later:
            segment = _tls(item)
            if segment is not None and self.wanted_by(item):
                self._free -= _rounded(segment)

    @staticmethod
    def wanted_by(item: LinkMap) -> bool:
        """Whether an object claims static TLS for variables of its own."""
        if item.elf is None or not item.elf.dynamic.values.get(DT_FLAGS, 0) & DF_STATIC_TLS:
            return False
        return _tls(item) is not None

    def take(self, item: LinkMap) -> bool:
        """Give an object its block; False where there is no room.

        Raises:
            Undecidable: it is too close to tell.
        """
        segment = _tls(item)
        if segment is None:
            return True
        if segment.align > self._align:
            return False
        left = self._free - _rounded(segment)
        if abs(left) < self._unsure:
            raise Undecidable(f"{item.label} needs {segment.memory_size} bytes of static TLS, about what is left of it")
        if left < 0:
            return False
        self._free = left
        return True


def _tls(item: LinkMap) -> Segment | None:
    if item.elf is None:
        return None
    return next((s for s in item.elf.image.segments if s.type == PT_TLS and s.memory_size), None)


def _rounded(segment: Segment) -> int:
    align = max(segment.align, 1)
    return -(-segment.memory_size // align) * align
