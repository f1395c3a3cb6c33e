"""The x86-64 levels that a file declares: in its property note, its directory or its compiler options.

Levels and their features: x86-64 psABI, 3.1.1 "Processor Architecture". A file without a declaration may use any:
finding out would need decoding its code, and which of it runs on an old CPU is decided at run time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from abiscan.model.cause import Confidence
from abiscan.model.facts import BuildMarks
from abiscan.model.provenance import ProvenanceFact, Topic

# Bit of GNU_PROPERTY_X86_ISA_1_NEEDED -> level.
_LEVELS = {2: "x86-64-v2", 4: "x86-64-v3", 8: "x86-64-v4"}
# Level -> options of GCC and Clang that enable its new features ("x86 Options").
_OPTIONS = {
    "x86-64-v2": ("cx16", "sahf", "popcnt", "sse3", "sse4", "sse4.1", "sse4.2", "ssse3"),
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "abm", "movbe", "xsave"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
_LEVEL_OF = {option: level for level, options in _OPTIONS.items() for option in options}
_OPTION = r"(?:^| )-m(no-)?([a-z0-9.]+)(?= |$)"
_ARCH = r"(?:^| )-march=(\S+)"
# Directories of glibc 2.33 and newer for files of a level (ld.so(8), "Hardware capabilities").
_FOLDER = r"(?:^|/)glibc-hwcaps/(x86-64-v[234])/"


def instruction_sets(marks: BuildMarks, place: str) -> Iterator[ProvenanceFact]:
    """A fact for each source with a level above the baseline.

    Args:
        place: path of the file inside its container, or its own.
    """
    marked = max((bit for bit in _LEVELS if marks.x86_isa_needed & bit), default=None)
    if marked is not None:
        yield ProvenanceFact(Topic.INSTRUCTION_SET, _LEVELS[marked], "GNU_PROPERTY_X86_ISA_1_NEEDED")
    folder = re.search(_FOLDER, place) if "glibc-hwcaps" in place else None
    if folder is not None:
        yield ProvenanceFact(Topic.INSTRUCTION_SET, folder[1], f"its folder {folder[0].strip('/')}")
    best = max((found for producer in marks.producers if (found := _allowed(producer)) is not None), default=None)
    if best is not None:
        level, options = best
        yield ProvenanceFact(Topic.INSTRUCTION_SET, level, f"DWARF: {options}", Confidence.MEDIUM)


def _allowed(producer: str) -> tuple[str, str] | None:
    """The level that the options of a compilation enable, with these options; None for the baseline, and for a named
    CPU whose features are not listed."""
    arch = next(iter(re.findall(_ARCH, producer)[-1:]), "")
    named = [arch] if arch in _OPTIONS else []
    allowed = _switched_on(re.findall(_OPTION, producer))
    levels = [*named, *(_LEVEL_OF[option] for option in allowed)]
    if not levels:
        return None
    level = max(levels)
    shown = [f"-march={arch}"] if level in named else [f"-m{o}" for o in allowed if _LEVEL_OF[o] == level]
    return level, " ".join(shown)


def _switched_on(options: Iterable[tuple[str, str]]) -> list[str]:
    """The options that are enabled; the last occurrence of an option counts."""
    last = {option: not off for off, option in options}
    return [option for option, on in last.items() if on and option in _LEVEL_OF]
