"""Build properties in the headers and debug information: executable stack, required CPU, compilers."""

from __future__ import annotations

from collections.abc import Iterator

from abiscan.elf.image import Image
from abiscan.elf.mapping import PF_X, PT_GNU_STACK
from abiscan.elf.notes import compilers, x86_isa_needed
from abiscan.elf.sections import section
from abiscan.model.facts import BuildMarks

# Architectures where a file without PT_GNU_STACK requires an executable stack (DEFAULT_STACK_PERMS).
_EXECUTABLE_BY_DEFAULT = frozenset(("x86_64", "i386", "arm", "ppc", "s390x", "sparc64", "mips"))
# Start of DW_AT_producer of GCC and Clang, the language after it (excludes GNU AS and GNU GIMPLE), and the compiler's
# text in .comment; then the number of bytes of .debug_str that are searched.
_PRODUCERS = ((b"GNU ", (b"C", b"Fortran"), "GCC: "), (b"clang version ", (b"",), "clang version "))
_MAX_STRINGS = 1 << 22
_MAX_PRODUCER = 4096
# Limit for each compiler; compilation units with the same options share one text.
_MAX_PRODUCERS = 8


def build_marks(image: Image) -> BuildMarks:
    """Read the build properties from headers and debug information."""
    return BuildMarks(
        executable_stack=wants_executable_stack(image),
        x86_isa_needed=x86_isa_needed(image),
        producers=tuple(dict.fromkeys(_producers(image))),
    )


def wants_executable_stack(image: Image) -> bool:
    """Whether PT_GNU_STACK has execute permission, or is absent on an architecture where that means the same."""
    for segment in image.segments:
        if segment.type == PT_GNU_STACK:
            return bool(segment.flags & PF_X)
    return image.machine in _EXECUTABLE_BY_DEFAULT


def _producers(image: Image) -> Iterator[str]:
    place = section(image, b".debug_str")
    if place is None:
        return
    start, end = place[0], place[0] + min(place[1], _MAX_STRINGS)
    comments = "\n".join(compilers(image))
    for word, languages, comment in _PRODUCERS:
        # Searching 4 MiB takes 1 to 3 ms: a compiler that is not in .comment is not searched for.
        if comments and comment not in comments:
            continue
        at = start
        for _ in range(_MAX_PRODUCERS):
            # The start of a text, not the end or middle of another.
            if at != start or image.buffer[at : at + len(word)] != word:
                at = image.buffer.find(b"\0" + word, at, end) + 1
            text = image.terminated(at, min(end, at + _MAX_PRODUCER)) if at > 0 else None
            if text is None:
                break
            if text.startswith(languages, len(word)):
                yield text.decode("utf-8", "replace")
            at += len(text)
