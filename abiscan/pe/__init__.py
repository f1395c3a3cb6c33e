"""Bytes to facts about one PE file (Windows .dll, .pyd, .exe). Nothing here knows torch or Python.

The structures are those of the PE format specification (https://learn.microsoft.com/windows/win32/debug/pe-format).
"""

from __future__ import annotations

from abiscan.pe.pe_file import PeFile, read_pe
from abiscan.pe.pe_magic import PE_MAGIC, peek_pe

__all__ = ["PE_MAGIC", "PeFile", "peek_pe", "read_pe"]
