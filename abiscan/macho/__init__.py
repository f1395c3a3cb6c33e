"""Bytes to facts about one Mach-O file (macOS .dylib, .so, bundle). Nothing here knows torch or Python.

The structures are those of <mach-o/loader.h>, <mach-o/fat.h>, <mach-o/nlist.h> and <mach-o/fixup-chains.h>
(https://github.com/apple-oss-distributions/xnu, EXTERNAL_HEADERS/mach-o); the export trie and the bind opcodes are as
dyld reads them (https://github.com/apple-oss-distributions/dyld).
"""

from __future__ import annotations

from abiscan.macho.macho_file import MachoFile, read_macho
from abiscan.macho.macho_magic import MACHO_MAGICS, peek_macho

__all__ = ["MACHO_MAGICS", "MachoFile", "peek_macho", "read_macho"]
