"""Bytes to facts about one PE file (Windows .dll, .pyd, .exe). Nothing here knows torch or Python.

The structures are those of the PE format specification (https://learn.microsoft.com/windows/win32/debug/pe-format).

Import its modules: the first bytes are looked at in every run, the readers are loaded with the first such file.
"""
