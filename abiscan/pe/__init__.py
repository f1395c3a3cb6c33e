"""Reads facts from one PE file (Windows .dll, .pyd, .exe). This room does not know torch or Python.

The structures are those of the PE format specification (https://learn.microsoft.com/windows/win32/debug/pe-format).
Import its modules: only `pe_magic` is needed in every run."""
