"""Symbols of the C++ runtime: what compilers generate calls to, std::filesystem, libc++ and other C++ libraries."""

from __future__ import annotations

import re
from typing import Final

from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidates
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.ownership.names import STANDARD_SCOPES
from abiscan.ownership.vendors import library_of_namespace

# Functions of the Itanium C++ ABI (sections 2 and 3) that every C++ runtime has.
_CXX_ABI = frozenset(
    (
        *("__gxx_personality_v0", "__cxa_throw", "__cxa_rethrow", "__cxa_begin_catch", "__cxa_end_catch"),
        *("__cxa_allocate_exception", "__cxa_free_exception", "__cxa_get_exception_ptr", "__cxa_pure_virtual"),
        *("__cxa_guard_acquire", "__cxa_guard_release", "__cxa_guard_abort", "__cxa_bad_cast", "__cxa_bad_typeid"),
        *("__cxa_demangle", "__cxa_vec_new", "__cxa_vec_ctor", "__cxa_vec_dtor", "__cxa_current_exception_type"),
    )
)

# Symbols of version GLIBCXX_3.4 or CXXABI_1.3, the first of libstdc++.so.6 (config/abi/pre/gnu.ver of GCC 14).
_EVERYWHERE: Final = (
    r"std::(?:w?(?:cout|cin|cerr|clog)|ios_base::Init::~?Init\(\)|terminate\(\))"
    r"|(?:vtable|typeinfo) for __cxxabiv1::__(?:|si_|vmi_)class_type_info"
)

# Templates of which libstdc++ contains instances, for characters (config/abi/pre/gnu.ver of GCC 14).
_INSTANTIATED: Final = (
    r"string|basic_\w+|\w*ctype\w*|\w*codecvt\w*|collate\w*|messages\w*|\w*money\w*|num_\w+|\w*numpunct\w*|\w*time\w*|valarray"
    r"|(?:use|has)_facet|operator.*|getline|endl|ends|flush|ws|\w*(?:[io]stream|streambuf)\w*|char_traits|allocator|hash"
    r"|numeric_limits|__shared_ptr|__convert_to_v|__basic_file|__pool|stdio_\w+|complex|fpos|__concat\w*|__throw\w*"
)


def _is_instance_of_file(missing: MissingName) -> bool:
    """Whether the name is an instance of a template of the C++ standard library that each file with a use of it has."""
    text = missing.reference.spelled_as or missing.parsed.signature
    name, _, arguments = text.partition("(")[0].partition("<")
    return bool(arguments) and not any(re.fullmatch(_INSTANTIATED, each) for each in name.split("::"))


def cxx_abi_causes(missing: MissingName) -> Candidates:
    """Functions of the C++ runtime that compilers generate calls to."""
    everywhere = missing.name in _CXX_ABI
    yield from row_causes("function-of-cxx-abi-missing", missing, symbol=missing.name, everywhere=everywhere)


def cxx_runtime_causes(missing: MissingName) -> Candidates:
    """std::filesystem, symbols of libc++ and of other C++ libraries."""
    cxx = missing.cxx
    assert cxx is not None
    of_standard = cxx.namespace in STANDARD_SCOPES and not missing.is_torch_name
    experimental = cxx.scope[:3] == ("std", "experimental", "filesystem")
    if experimental or cxx.scope[:2] == ("std", "filesystem"):
        yield from row_causes("filesystem-of-gcc-8-missing", missing, experimental=experimental)
    elif of_standard and "std::__1::" in missing.shown:
        yield from row_causes("symbol-of-libcxx-missing", missing, by_dyld=is_of_dyld(missing))
    elif of_standard and _is_instance_of_file(missing):
        yield from row_causes("instance-of-standard-template-missing", missing)
    elif of_standard:
        is_linked = any(each.startswith("libstdc++") for each in missing.file.needed)
        everywhere = re.fullmatch(_EVERYWHERE, missing.shown) is not None
        yield from row_causes("symbol-of-cxx-library-missing", missing, is_linked=is_linked, everywhere=everywhere)
    elif cxx.namespace == "absl" and (release := re.match(r"absl::lts_(\d{8})::", missing.shown)) is not None:
        yield from row_causes(
            "symbol-of-abseil-missing", missing, commands={"release": release[1]}, file=missing.file.file_name
        )
    elif (library := library_of_namespace(cxx.namespace)) is not None and not missing.in_newest_known:
        is_loaded = missing.file.path and not missing.reference.link_time and library.isidentifier()
        yield from row_causes(
            "symbol-of-namespace-missing",
            missing,
            commands={"library": library},
            namespace=cxx.namespace or "",
            preloaded=library if is_loaded else "",
        )


def is_of_dyld(missing: MissingName) -> bool:
    """Whether the loader of macOS reported the symbol."""
    return missing.macho and not missing.reference.link_time and not missing.reference.bare
