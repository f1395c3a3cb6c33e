"""Languages of source files by file name extension."""

from __future__ import annotations

from abiscan.rules.rule import Language

# Other files of a source tree are not read.
LANGUAGES = {
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".inc"), Language.CPP),
    **dict.fromkeys((".cu", ".cuh"), Language.CUDA),
    **dict.fromkeys((".hip", ".hiph"), Language.HIP),
}
