"""A universal bundle of macOS that does nothing but import, for x86-64 and arm64.

Made here and not committed: a linker pads each part to pages, so such a file has 50 KB. The formats are those of
`mach-o/fat.h`, `mach-o/loader.h` and `mach-o/nlist.h`; `llvm-lipo-19 -info` and `llvm-nm-19 -m` read it.
"""

from __future__ import annotations

import struct
from pathlib import Path

# cputype, cpusubtype and the logarithm of a page.
_CPUS = {"x86_64": (0x01000007, 3, 12), "arm64": (0x0100000C, 0, 14)}
# Numbers of libraries in n_desc: the first that is named, and DYNAMIC_LOOKUP_ORDINAL.
_C10, _ANY = 1, 0xFE
# For each CPU: the first symbol is exported by every torch; `what` by none for x86-64.
_OF_BOTH = {"__ZN3c106SymInt19promote_to_negativeEv": _C10, "_PyList_New": _ANY}
_IMPORTS = {"x86_64": {**_OF_BOTH, "__ZNK3c105Error4whatEv": _C10}, "arm64": _OF_BOTH}


def _part(cpu: str) -> bytes:
    """A bundle with a two-level namespace that exports PyInit__C."""
    imports = _IMPORTS[cpu]
    strings = b"\0" + b"".join(f"{name}\0".encode() for name in ("_PyInit__C", *imports))
    # n_type N_ABS | N_EXT, then N_UNDF | N_EXT.
    symbols, at = struct.pack("<IBBHQ", 1, 0x03, 0, 0, 1), 1 + len("_PyInit__C\0")
    for name, library in imports.items():
        symbols += struct.pack("<IBBHQ", at, 0x01, 0, library << 8, 0)
        at += len(name) + 1
    version = struct.pack("<6I", 0x32, 24, 1, 11 << 16, 11 << 16, 0)
    library = struct.pack("<6I24s", 0x0C, 48, 24, 0, 1 << 16, 1 << 16, b"@rpath/libc10.dylib")
    # Behind the header of 32 bytes and the commands, this one of 24 bytes included.
    start = 32 + len(version) + len(library) + 24
    table = struct.pack("<6I", 0x02, 24, start, 1 + len(imports), start + len(symbols), len(strings))
    kind, subtype, _ = _CPUS[cpu]
    commands = version + library + table
    # MH_BUNDLE; MH_DYLDLINK | MH_TWOLEVEL.
    return struct.pack("<8I", 0xFEEDFACF, kind, subtype, 8, 3, len(commands), 0x84, 0) + commands + symbols + strings


def write_universal_bundle(folder: Path) -> Path:
    """Write `universal.cpython-311-darwin.so` into a folder."""
    head, body = struct.pack(">2I", 0xCAFEBABE, len(_CPUS)), b""
    start = len(head) + 20 * len(_CPUS)
    for cpu, (kind, subtype, page) in _CPUS.items():
        part, end = _part(cpu), start + len(body)
        body += bytes(-end % (1 << page))
        head += struct.pack(">5I", kind, subtype, start + len(body), len(part), page)
        body += part
    path = folder / "universal.cpython-311-darwin.so"
    path.write_bytes(head + body)
    return path
