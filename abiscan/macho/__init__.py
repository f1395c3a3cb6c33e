"""Reads facts from one Mach-O file (macOS .dylib, .so, bundle). This room does not know torch or Python.

The structures are those of <mach-o/loader.h>, <mach-o/fat.h>, <mach-o/nlist.h> and <mach-o/fixup-chains.h>
(https://github.com/apple-oss-distributions/xnu, EXTERNAL_HEADERS/mach-o). Export trie and bind opcodes follow dyld
(https://github.com/apple-oss-distributions/dyld). Import its modules: only `macho_magic` is needed in every run."""
