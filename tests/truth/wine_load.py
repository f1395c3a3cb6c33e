"""Runs under Wine: `wine_load.py DIRECTORY_OF_TORCH FILE...` opens each file as CPython and `import torch` do."""

import ctypes
import os
import sys

# LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR, the flags of both.
_FLAGS = 0x1100


def main(torch: str, *files: str) -> None:
    """Print `opening FILE` before each."""
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined]
    kernel.LoadLibraryExW.restype = ctypes.c_void_p
    os.add_dll_directory(torch)  # type: ignore[attr-defined]
    for file in files:
        print("opening", file, flush=True)
        kernel.LoadLibraryExW(ctypes.c_wchar_p(file), None, _FLAGS)


if __name__ == "__main__":
    main(*sys.argv[1:])
