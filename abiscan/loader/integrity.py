"""Whether glibc's loader can load a file: what it reads, writes and calls must be mapped and satisfy its assertions.
Nothing here depends on the machine or on other libraries.

Each function follows one stage of the loader and stops at the first problem. `relocation_checks` and
`called_functions` have the stages from relocation on, `file_problem` runs all of them in order. What is in no file
(the bytes beside the file in memory) is undecided and never assumed to be valid.
"""

from __future__ import annotations

from abiscan.elf import ElfFile
from abiscan.elf.dynamic import DT_PLTREL, DT_REL, DT_RELA, DT_RELAENT, DT_RELENT, DT_RELR, DT_RELRENT, DT_VERSYM
from abiscan.elf.hash_table import GnuHashTable
from abiscan.elf.mapping import (
    PAGE,
    PT_NOTE,
    PT_TLS,
    Segment,
    covers,
    doubt,
    page_end,
    page_start,
    refusal,
    thread_local,
    writable_runs,
)
from abiscan.elf.notes import X86_KNOWN_LEVELS, x86_isa_needed
from abiscan.elf.relocations import RELA_ONLY
from abiscan.errors import UnreadableFile
from abiscan.loader.failure import LoadFailure, Undecidable, crash, failed_assertion
from abiscan.model.loading import LoaderStop, StopKind

PT_PHDR, PT_GNU_PROPERTY = 6, 0x6474E553
_INFO = "get-dynamic-info.h: {line}: elf_get_dynamic_info: Assertion `{text}' failed!"
_POWER = "dl-setup_hash.c: 36: _dl_setup_hash: Assertion `(bitmask_nwords & (bitmask_nwords - 1)) == 0' failed!"


# --- _dl_map_object_from_fd (elf/dl-load.c) ----------------------------------------------------------------------


def check_mapped(elf: ElfFile, path: str) -> None:
    """Check the segments, the dynamic section and the assertions about it.

    Raises:
        LoadFailure, Undecidable: the load fails here, or may fail.
    """
    image = elf.image
    words = refusal(image.loads)
    if words is not None:
        raise LoadFailure(LoaderStop(StopKind.INVALID_FILE, path, detail=words))
    words = doubt(image.loads)
    if words is not None:
        raise Undecidable(f"{path} {words}")
    values = elf.dynamic.values
    if elf.dynamic.is_writable and not covers(writable_runs(image.areas), elf.dynamic.address, 1):
        raise crash(path, "the loader writes to its dynamic section, which is mapped without write permission")
    for table, entry, size, line in (
        (DT_RELA, DT_RELAENT, 24 if image.is64 else 12, 123),
        (DT_REL, DT_RELENT, 16 if image.is64 else 8, 128),
        (DT_RELR, DT_RELRENT, 8 if image.is64 else 4, 132),
    ):
        if table not in values or (table == DT_REL and elf.machine in RELA_ONLY):
            continue
        name = {DT_RELA: "RELA", DT_REL: "REL", DT_RELR: "RELR"}[table]
        if entry not in values:
            raise crash(path, f"its dynamic section has DT_{name} without DT_{name}ENT, which the loader reads")
        if values[entry] != size:
            text = f"info[DT_{name}ENT]->d_un.d_val == sizeof (ElfW({name.capitalize()}))"
            raise failed_assertion(path, _INFO.format(line=line, text=text))
    if DT_PLTREL in values and values[DT_PLTREL] != DT_RELA:
        if elf.machine in RELA_ONLY:
            raise failed_assertion(path, _INFO.format(line=115, text="info[DT_PLTREL]->d_un.d_val == DT_RELA"))
        if values[DT_PLTREL] != DT_REL:
            raise Undecidable(f"{path} has a DT_PLTREL that is neither DT_REL nor DT_RELA")


def check_flags(elf: ElfFile, path: str) -> None:
    """Check the program headers as the loader finds them in memory, and the notes that it reads there.

    Raises:
        Undecidable: they are not in memory, or differ from those of the file.
    """
    image = elf.image
    start, end = image.header_table
    address = next((s.address for s in reversed(image.segments) if s.type == PT_PHDR), None)
    if address is None:
        found = next(
            (s for s in image.loads if page_start(s.offset) <= start and end <= page_end(s.offset + s.file_size)), None
        )
        address = None if found is None else start + found.address - found.offset
    segments = image.segments
    if address is not None:
        try:
            offset = image.offset_of(address, "the program headers", end - start)
        except UnreadableFile as error:
            raise Undecidable(f"{path}: the loader looks for its program headers where they are not mapped") from error
        if offset != start and image[offset : offset + end - start] != image[start:end]:
            if elf.dynamic.has_text_relocations:
                raise Undecidable(f"{path}: the program headers in its memory are not those of the file")
            segments = (*segments, *image.segments_at(offset))
    for segment in segments:
        # Notes are read in memory if they are aligned to eight bytes (sysdeps/x86/dl-prop.h).
        reads = segment.type == PT_GNU_PROPERTY or (segment.type == PT_NOTE and segment.align == 8)
        if reads and segment.memory_size and not _is_in_place(elf, segment):
            raise Undecidable(f"{path} has a note segment that is not mapped as in its program header")
    variables = thread_local(segments)
    if variables is not None:
        odd = variables.align & (variables.align - 1) or variables.file_size > variables.memory_size
        if odd or variables.align >= PAGE << 8 or (variables.file_size and not _is_in_place(elf, variables)):
            raise Undecidable(f"{path} has thread-local variables whose initial values are not mapped correctly")


def _is_in_place(elf: ElfFile, segment: Segment) -> bool:
    try:
        offset = elf.image.offset_of(segment.address, "a segment", max(segment.file_size, 1))
    except UnreadableFile:
        return False
    fits = segment.type == PT_TLS or segment.memory_size <= segment.file_size
    return fits and offset == segment.offset


def check_known_levels(elf: ElfFile, path: str) -> None:
    """`dl_isa_level_check` in sysdeps/x86/dl-prop.h, as far as no CPU helps.

    Raises:
        LoadFailure: the file is marked as needing a level that no glibc knows.
    """
    if elf.machine == "x86_64" and x86_isa_needed(elf.image) & ~X86_KNOWN_LEVELS:
        raise LoadFailure(LoaderStop(StopKind.ISA_LEVEL, path))


def check_hash(elf: ElfFile, path: str) -> None:
    """Check the GNU hash table as `_dl_setup_hash` does (elf/dl-setup_hash.c).

    Raises:
        LoadFailure, Undecidable: the load fails here, or may fail.
    """
    table = elf.symbols.hash_table
    if not isinstance(table, GnuHashTable):
        return
    words, shift, buckets = table.parameters
    if words & (words - 1):
        raise failed_assertion(path, _POWER)
    if buckets and (not words or shift >= 32):
        raise Undecidable(f"{path} has a GNU hash table with a filter of {words} words and a shift of {shift}")


# --- _dl_check_map_versions (elf/dl-version.c) -------------------------------------------------------------------


def check_revisions(elf: ElfFile, path: str) -> None:
    """Check that version records have the one known revision and that version numbers have a record.

    Raises:
        LoadFailure, Undecidable: the load fails here, or may fail.
    """
    check_needed_revision(elf, path)
    _, defined = elf.symbols.version_records.revisions()
    odd = next((revision for revision in defined if revision != 1), None)
    if odd is not None:
        # The loader fails only when another file requires a version of this one.
        raise Undecidable(f"{path} defines versions in records of revision {odd}, which the loader does not support")
    highest = max(elf.symbols.version_records.versions, default=0)
    if highest and DT_VERSYM not in elf.dynamic.values:
        raise crash(path, "it has version records and no table of versions (DT_VERSYM), which the loader reads")
    strays = [number for number in elf.symbols.version_numbers(elf.symbols.looked_up(elf.referred)) if number > highest]
    if strays:
        if not highest:
            raise crash(path, "its symbols have versions and no record says which, where the loader looks")
        raise Undecidable(f"{path} has symbols of version number {strays[0]}, for which there is no record")


def check_needed_revision(elf: ElfFile, path: str) -> None:
    """Check the revision of the needed versions, which the loader reads before those of other libraries.

    Raises:
        LoadFailure: the revision is unknown.
    """
    needed, _ = elf.symbols.version_records.revisions()
    if needed is not None and needed != 1:
        words = f"unsupported version {needed} of Verneed record"
        raise LoadFailure(LoaderStop(StopKind.INVALID_FILE, path, detail=words))
