"""Which files are C++, CUDA or HIP, by how their names end."""

from __future__ import annotations

from abiscan.rules.rule import Language

# Language by file name ending; the rest of a source tree is not looked at.
LANGUAGES = {
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".inc"), Language.CPP),
    **dict.fromkeys((".cu", ".cuh"), Language.CUDA),
    **dict.fromkeys((".hip", ".hiph"), Language.HIP),
}
