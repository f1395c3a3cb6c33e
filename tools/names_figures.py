"""Measures `abiscan.mangling` on every name that a torch exports: how many it reads, how well, how fast.

    python tools/names_figures.py [DIRECTORY]

DIRECTORY contains shared objects (default: torch/lib of the environment that runs this). Prints one figure per line.
The texts are compared without spaces with LLVM's demangler, and with GNU's if LLVM rejects a name.
"""

from __future__ import annotations

import gc
import importlib.util
import statistics
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

import cxxfilt
import pycxxfilt

from abiscan.elf import open_elf
from abiscan.errors import UnreadableFile
from abiscan.mangling import CxxName, NameKind, classify, parse, search_prefixes, string_abi


def torch_libraries() -> Path:
    """torch/lib of this environment; torch itself is not imported."""
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        raise SystemExit("no torch here: name a DIRECTORY of shared objects")
    return Path(torch.origin).parent / "lib"


def exported(directory: Path) -> list[str]:
    """Names that the shared objects of a directory export, without duplicates, sorted."""
    names: set[str] = set()
    for path in sorted(directory.glob("*.so*")):
        try:
            elf = open_elf(path)
            names.update(symbol.name for symbol in elf.exports())
        except UnreadableFile as error:
            print(f"skipped: {error}", file=sys.stderr)
    return sorted(names)


def llvm(name: str) -> str | None:
    """LLVM's text, without spaces; None if it rejects the name."""
    try:
        return pycxxfilt.itanium_demangle(name).replace(" ", "")
    except ValueError:
        return None


def gnu_accepts(name: str) -> bool:
    """Whether GNU's demangler accepts a name."""
    try:
        cxxfilt.demangle(name)
    except cxxfilt.Error:
        return False
    return True


def timed(names: list[str]) -> list[float]:
    """Microseconds of processor time to parse each name and make its canonical form. The garbage collector is off: it
    would measure the values that this tool keeps."""
    times = []
    parse.cache_clear()
    gc.disable()
    for name in names:
        began = time.process_time_ns()
        read = parse(name)
        if read is not None:
            _ = read.canonical
        times.append((time.process_time_ns() - began) / 1000)
    gc.enable()
    return times


def main() -> int:
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else torch_libraries()
    names = exported(directory)
    kinds = Counter(classify(name) for name in names)
    cxx = [name for name in names if classify(name) is NameKind.CXX]
    print(f"distinct exports: {len(names)} ({', '.join(f'{kind} {n}' for kind, n in sorted(kinds.items()))})")

    parsed: list[CxxName] = []
    unread: list[str] = []
    for name in cxx:
        read = parse(name)
        if read is None:
            unread.append(name)
        else:
            parsed.append(read)
    share = 100 * len(parsed) / max(len(cxx), 1)
    print(f"C++ names parsed: {len(parsed)} of {len(cxx)} ({share:.3f} %)")
    times = timed(cxx)
    mean, median = statistics.fmean(times), statistics.median(times)
    print(f"parse and canonical form: mean {mean:.1f} us, median {median:.1f} us, worst {max(times):.0f} us")

    refused = [name for name in parsed if llvm(name.mangled) is None]
    same = sum(llvm(name.mangled) == name.display.replace(" ", "") for name in parsed)
    print(f"text equal to LLVM's: {same} of the {len(parsed) - len(refused)} that LLVM reads")
    print(f"refused by LLVM: {len(refused)}, of these read by GNU: {sum(gnu_accepts(n.mangled) for n in refused)}")
    print(f"refused by GNU: {sum(not gnu_accepts(name) for name in cxx)}")

    forms: dict[str, list[CxxName]] = defaultdict(list)
    for name in parsed:
        forms[name.canonical].append(name)
    shared = [alike for alike in forms.values() if len(alike) > 1]
    beyond = [alike for alike in shared if len({name.variant for name in alike}) < len(alike)]
    print(f"distinct canonical forms: {len(forms)}; shared by several names: {len(shared)}")
    print(f"shared by more than the variants of one constructor: {len(beyond)}")
    print(f"distinct entities: {len({name.entity for name in parsed})}")

    lost = sum(not name.mangled.startswith(search_prefixes(name)) for name in parsed)
    alone = sum(name.mangled in search_prefixes(name) for name in parsed)
    print(f"not found by their own search prefixes: {lost}; found by their whole name alone: {alone}")
    abis = Counter(str(string_abi(name)) for name in cxx)
    print(f"std::string: {', '.join(f'{abi} {n}' for abi, n in sorted(abis.items()))}")
    for name in unread[:20]:
        print(f"not read: {name}")
    for alike in beyond[:20]:
        print(f"one form: {', '.join(name.mangled for name in alike)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
