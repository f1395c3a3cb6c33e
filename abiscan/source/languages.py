"""Languages of source files by file name extension."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from abiscan.rules.rule import Language

# Other files of a source tree are not read.
LANGUAGES: dict[str, Language] = {
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".inc"), "c++"),
    **dict.fromkeys((".cu", ".cuh"), "cuda"),
    **dict.fromkeys((".hip", ".hiph"), "hip"),
}
