"""Bytes to facts about one Mach-O file (macOS .dylib, .so, bundle). Nothing here knows torch or Python.

The structures are those of <mach-o/loader.h>, <mach-o/fat.h>, <mach-o/nlist.h> and <mach-o/fixup-chains.h>
(https://github.com/apple-oss-distributions/xnu, EXTERNAL_HEADERS/mach-o); the export trie and the bind opcodes are as
dyld reads them (https://github.com/apple-oss-distributions/dyld).

Import its modules: the first bytes are looked at in every run, the readers are loaded with the first such file.
"""
