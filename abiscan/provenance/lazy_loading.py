"""Whether a package opens a shared object lazily, so that its functions are resolved when they are called.

`ctypes` adds RTLD_NOW to every mode, but glibc's loader is lazy if RTLD_LAZY is set too (elf/dl-open.c):
`ctypes.CDLL(path, mode=1)` resolves lazily; `ctypes.CDLL(path)`, `torch.ops.load_library` and `import` do not.
"""

from __future__ import annotations

import re
from itertools import islice

from abiscan.errors import UnreadableFile
from abiscan.filesystem import FileSystem
from abiscan.inputs import Artifact

# `mode=ctypes.RTLD_LOCAL | 0x1`, `mode=os.RTLD_LAZY` among the arguments of a call.
_LAZY_MODE = rb"\bmode\s*=[^)=]{0,100}?(?:RTLD_LAZY|(?<![\w.])(?:0x0?)?1\b)"
# Maximum bytes of a module, number of calls in it, and bytes of a call.
_MOST_TEXT, _MOST_CALLS, _LONGEST_CALL = 1 << 18, 32, 300


def is_opened_lazily(artifact: Artifact, files: FileSystem) -> bool:
    """Whether the package that contains the file names it and opens libraries with RTLD_LAZY."""
    try:
        raw = artifact.neighbour("__init__.py", files, _MOST_TEXT)
    except UnreadableFile:
        return False
    if raw is None or artifact.package_path.rpartition("/")[2].encode() not in raw:
        return False
    calls = islice(re.finditer(rb"DLL\(", raw), _MOST_CALLS)
    return any(re.search(_LAZY_MODE, raw[call.end() : call.end() + _LONGEST_CALL]) for call in calls)
