"""Files that no linker makes, each with one broken table: abiscan never predicts success where this machine's loader
rejects them or crashes, with or without torch."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

from abiscan.elf import open_elf
from abiscan.environment.python import read_environment
from abiscan.errors import UnreadableFile
from abiscan.loader import Loader, LoaderSettings
from abiscan.loader.file_problem import first_problem
from abiscan.model.loading import LoaderOutcome, LoaderStop
from tests.fixtures import crafted
from tests.loader import kit
from tests.truth.oracle import ask

pytestmark = kit.needs_glibc

LOADER = Path(__file__).resolve().parents[1] / "fixtures" / "loader"
# With start-up code, relocations and RELRO, linked by the compiler driver; it loads.
WHOLE = LOADER.parent / "unreferenced-import.so"

DT_NEEDED, DT_PLTRELSZ, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_RELA, DT_RELASZ, DT_RELAENT = 1, 2, 4, 5, 6, 7, 8, 9
DT_STRSZ, DT_SYMENT, DT_INIT, DT_PLTREL, DT_JMPREL, DT_INIT_ARRAY = 10, 11, 12, 20, 23, 25
DT_GNU_HASH, DT_RELACOUNT, DT_VERNEED = 0x6FFFFEF5, 0x6FFFFFF9, 0x6FFFFFFE
PT_LOAD, PT_DYNAMIC, PT_NOTE, PT_PHDR, PT_RELRO = 1, 2, 4, 6, 0x6474E552


def in_table(tag: int, at: int, code: str, value: int) -> crafted.Edit:
    """Write a number into the target of a dynamic entry."""

    def edit(path: Path) -> None:
        content = bytearray(path.read_bytes())
        tags = {tag: value for _, tag, value in reversed(crafted._dynamic(content))}
        struct.pack_into("<" + code, content, crafted._offset(content, tags[tag]) + at, value)
        path.write_bytes(content)

    return edit


def segment(number: int, field: int, code: str, value: int) -> crafted.Edit:
    """Write a number into a program header, counted from 0."""

    def edit(path: Path) -> None:
        content = bytearray(path.read_bytes())
        struct.pack_into("<" + code, content, crafted._program_headers(content)[number] + field, value)
        path.write_bytes(content)

    return edit


def swap_segments(one: int, other: int) -> crafted.Edit:
    def edit(path: Path) -> None:
        content = bytearray(path.read_bytes())
        places = crafted._program_headers(content)
        a, b = places[one], places[other]
        content[a : a + 56], content[b : b + 56] = content[b : b + 56], content[a : a + 56]
        path.write_bytes(content)

    return edit


EDITS: dict[str, crafted.Edit] = {
    "relaent": crafted.retag(DT_RELAENT, DT_RELAENT, 16),
    "relaent-gone": crafted.retag(DT_RELAENT, 21),
    "relasz-gone": crafted.retag(DT_RELASZ, 21),
    "relasz-huge": crafted.retag(DT_RELASZ, DT_RELASZ, 1 << 40),
    "relasz-odd": crafted.retag(DT_RELASZ, DT_RELASZ, 25),
    "rela-beyond": crafted.retag(DT_RELA, DT_RELA, 1 << 40),
    "pltrel": crafted.retag(DT_PLTREL, DT_PLTREL, 17),
    "jmprel-gone": crafted.retag(DT_JMPREL, 21),
    "pltrelsz-gone": crafted.retag(DT_PLTRELSZ, 21),
    "relacount": crafted.retag(DT_RELACOUNT, DT_RELACOUNT, 4000),
    "relocation-type": crafted.first_relocation_type(0x1340),
    "relocation-into-code": in_table(DT_RELA, 0, "Q", 0x10),
    "relocation-beyond": in_table(DT_RELA, 0, "Q", 1 << 45),
    "strsz-short": crafted.retag(DT_STRSZ, DT_STRSZ, 1),
    "syment": crafted.retag(DT_SYMENT, DT_SYMENT, 7),
    "symtab-beyond": crafted.retag(DT_SYMTAB, DT_SYMTAB, 1 << 40),
    "gnu-hash-no-buckets": in_table(DT_GNU_HASH, 0, "I", 0),
    "gnu-hash-filter-of-three": in_table(DT_GNU_HASH, 8, "I", 3),
    "gnu-hash-filter-of-none": in_table(DT_GNU_HASH, 8, "I", 0),
    "gnu-hash-filter-huge": in_table(DT_GNU_HASH, 8, "I", 1 << 30),
    "gnu-hash-shift": in_table(DT_GNU_HASH, 12, "I", 40),
    "gnu-hash-gone": crafted.retag(DT_GNU_HASH, 21),
    "gnu-hash-beyond": crafted.retag(DT_GNU_HASH, DT_GNU_HASH, 1 << 40),
    "init-beyond": crafted.retag(DT_INIT, DT_INIT, 1 << 40),
    "init-in-data": crafted.retag(DT_INIT, DT_INIT, 0x1F00),
    "init-array-moved": crafted.retag(DT_INIT_ARRAY, DT_INIT_ARRAY, 0x40),
    "needed-beyond": crafted.retag(DT_NEEDED, DT_NEEDED, 1 << 30),
    "dynamic-without-end": crafted.edit_segment(PT_DYNAMIC, 16, lambda address: address + 8),
    "dynamic-size": crafted.edit_segment(PT_DYNAMIC, 32, lambda _: 16),
    "dynamic-empty": crafted.edit_segment(PT_DYNAMIC, 32, lambda _: 0),
    "segment-huge": crafted.edit_segment(PT_LOAD, 40, lambda _: 1 << 60),
    "segment-almost-all": crafted.edit_segment(PT_LOAD, 40, lambda _: (1 << 64) - 0xDF8),
    "segment-far": segment(1, 16, "Q", 1 << 50),
    "segment-without-permissions": segment(0, 4, "I", 0),
    "segments-all-read-only": segment(3, 4, "I", 4),
    "segments-out-of-order": swap_segments(0, 3),
    "segment-over-the-first": segment(1, 16, "Q", 0),
    "file-size-over-memory-size": crafted.edit_segment(PT_LOAD, 40, lambda _: 0x10),
    "relro-beyond": crafted.edit_segment(PT_RELRO, 40, lambda _: 1 << 30),
    "relro-far": crafted.edit_segment(PT_RELRO, 16, lambda _: 1 << 40),
}
VERSION_EDITS: dict[str, crafted.Edit] = {
    "verneed-revision": in_table(DT_VERNEED, 0, "H", 8),
    "verneed-link": in_table(DT_VERNEED, 12, "I", 1 << 20),
    "verneed-name": in_table(DT_VERNEED, 16 + 8, "I", 1 << 30),
    "verneed-library": in_table(DT_VERNEED, 4, "I", 1),
}
# For a file with a copy relocation.
COPY_EDITS: dict[str, crafted.Edit] = {
    "copy-of-more-than-there-is": crafted.retag(DT_SYMTAB, DT_SYMTAB, 0x138),
    "copy-of-nothing-to-nowhere": crafted.both(in_table(DT_SYMTAB, 24 + 16, "Q", 0), in_table(DT_RELA, 0, "Q", 0x10)),
    "copy-to-nowhere": in_table(DT_RELA, 0, "Q", 0x10),
}


def test_nothing_that_the_loader_refuses_loads(tmp_path: Path, plain_python: Path) -> None:
    """Oracle: the loader, in one process per file."""
    files: dict[str, Path] = {}
    for name, edit in EDITS.items():
        for seed in (WHOLE, LOADER / "both-hashes" / "target.so"):
            folder = tmp_path / f"{name}-{seed.stem}"
            shutil.copytree(LOADER / "both-hashes", folder)
            shutil.copy(seed, folder / "target.so")
            try:
                edit(folder / "target.so")
            except (IndexError, KeyError, StopIteration, struct.error):
                continue  # this seed has no such table
            files[f"{name}-{seed.stem}"] = folder / "target.so"
    for name, edit in VERSION_EDITS.items():
        folder = tmp_path / name
        shutil.copytree(LOADER / "glibc-symbol-gone", folder)
        edit(folder / "target.so")
        files[name] = folder / "target.so"
    for name, edit in COPY_EDITS.items():
        folder = tmp_path / name
        shutil.copytree(LOADER / "copy", folder)
        edit(folder / "target.so")
        files[name] = folder / "target.so"
    answers = ask(list(files.values()), python=plain_python, torch=False, retry=False)
    model = Loader(LoaderSettings(cwd="/"), read_environment(str(plain_python)))
    wrong = []
    sorts = {"agreed": 0, "open": 0}
    for name, path in files.items():
        answer = answers[str(path)]
        try:
            said = model.predict(open_elf(path), str(path))
        except UnreadableFile:
            sorts["open"] += 1
            continue
        if said.outcome is None:
            sorts["open"] += 1
        elif (said.outcome is LoaderOutcome.LOADS) != (answer.outcome == "loads"):
            wrong.append(f"{name}: loader {answer}, abiscan {said}")
        elif answer.outcome == "fails" and said.error != answer.text:
            wrong.append(f"{name}: loader says {answer.text!r}, abiscan {said.error!r}")
        else:
            sorts["agreed"] += 1
    assert not wrong, "\n".join(wrong)
    assert sorts["agreed"] >= 30, sorts
    assert {"loads", "fails", "crash"} <= {answer.outcome for answer in answers.values()}


def test_crashing_files_are_predicted(tmp_path: Path) -> None:
    """Without an environment: the file alone is sufficient."""
    path = tmp_path / "x.so"
    shutil.copy(WHOLE, path)
    crafted.retag(DT_RELAENT, DT_RELAENT, 16)(path)
    problem = first_problem(open_elf(path))
    assert isinstance(problem, LoaderStop)
    assert "Assertion `info[DT_RELAENT]->d_un.d_val == sizeof (ElfW(Rela))' failed!" in problem.message


def test_a_definition_that_no_hash_table_reaches_is_open(tmp_path: Path) -> None:
    """Oracle: the loader reports "undefined symbol" for such a name, or finds it elsewhere; the file shows neither."""
    path = tmp_path / "x.so"
    shutil.copy(LOADER / "base-version" / "target.so", path)
    assert first_problem(open_elf(path)) is None
    shutil.copy(LOADER.parent / "good-extension.so", path)
    assert first_problem(open_elf(path)) is None
    in_table(DT_GNU_HASH, 0, "I", 0)(path)
    problem = first_problem(open_elf(path))
    assert isinstance(problem, str)
    assert "no lookup finds it" in problem
