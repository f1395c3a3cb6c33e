"""Loaded objects of a real process: dl_iterate_phdr, in mapping order."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.loader import kit

_LIST = """
import sys
if sys.argv[1] == "torch":
    import torch
import ctypes
class Info(ctypes.Structure):
    _fields_ = [("address", ctypes.c_size_t), ("name", ctypes.c_char_p)]
names = []
kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Info), ctypes.c_size_t, ctypes.c_void_p)
ctypes.CDLL(None).dl_iterate_phdr(kind(lambda info, size, data: names.append(info.contents.name.decode()) or 0), None)
print("\\n".join(names[1:]))
"""


def loaded_objects(python: Path | str, mode: str) -> list[str]:
    """Names of the objects (l_name), without the executable.

    Args:
        mode: `torch` for a process that has imported it, or `plain`.
    """
    done = subprocess.run(
        [python, "-c", _LIST, mode], capture_output=True, text=True, check=True, env=kit.clean_environ(), cwd="/"
    )
    return done.stdout.splitlines()
