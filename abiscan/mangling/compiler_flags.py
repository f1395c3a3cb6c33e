"""How to compile an extension with names that GCC, the compiler of libtorch, gives another form."""

from __future__ import annotations

from typing import Final

GCC_FORM_FLAG: Final = "-fclang-abi-compat=17"
"""Clang 18 and later then mangle templates as GCC does, without declarations of parameters (Clang's manual)."""
AS_GCC: Final = (
    f"with CFLAGS and CXXFLAGS set to {GCC_FORM_FLAG} and, for .cu files, NVCC_APPEND_FLAGS set to "
    f'"-Xcompiler {GCC_FORM_FLAG}" (Clang), or with GCC (CC=gcc CXX=g++)'
)
"""How to compile a call with a name that GCC, the compiler of libtorch, gives another form.
torch.utils.cpp_extension passes CFLAGS and CXXFLAGS to the C++ compiler, not to nvcc."""
AS_LIBTORCH_OF_MACOS: Final = f"with CFLAGS and CXXFLAGS set to {GCC_FORM_FLAG}"
"""The same for macOS: libtorch was compiled with an older Clang there (its exports are in the release index)."""
AS_GCC_FOR_HIP: Final = (
    "with HIPCC_COMPILE_FLAGS_APPEND (hipcc), HIPFLAGS (CMake) and, if CXX is Clang, CFLAGS and CXXFLAGS set to "
    f"{GCC_FORM_FLAG}"
)
"""The same for HIP, which Clang compiles whatever CC and CXX are
(https://rocm.docs.amd.com/projects/HIPCC/en/latest/env.html)."""
