"""Texts in read-only data: zero-terminated strings that a compiler put there."""

from __future__ import annotations

from collections.abc import Iterator

from abiscan.elf.image import Image
from abiscan.elf.sections import named_sections
from abiscan.model.limits import MAX_TEXT, MAX_TEXTS

# Read-only data of GCC, Clang and their large code model; of lld, relocated data too.
_DATA = (b".rodata", b".lrodata", b".data.rel.ro")


def texts_with(image: Image, part: bytes) -> tuple[str, ...]:
    """The texts that hold `part`, each once, in the order of the file, MAX_TEXTS at most; none where section headers
    are gone. One that is longer than MAX_TEXT is left out."""
    return tuple(dict.fromkeys(_texts(image, part)))


def _texts(image: Image, part: bytes) -> Iterator[str]:
    buffer, left = image.buffer, MAX_TEXTS
    for start, end in _data(image):
        at = buffer.find(part, start, end)
        while at >= 0 and left:
            left -= 1
            first = buffer.rfind(b"\0", max(start, at - MAX_TEXT), at) + 1 or start
            last = buffer.find(b"\0", at, min(end, at + MAX_TEXT))
            if last < 0 or last - first > MAX_TEXT:
                at = buffer.find(part, at + len(part), end)
                continue
            yield buffer[first:last].decode("utf-8", "surrogateescape")
            at = buffer.find(part, last, end)


def _data(image: Image) -> Iterator[tuple[int, int]]:
    return (
        (section.offset, min(section.offset + section.size, image.size))
        for name, section in named_sections(image)
        if name.startswith(_DATA)
    )
