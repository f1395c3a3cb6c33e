"""The canonical form of a mangled name: the rules by which two names are the same entity, and their tables.

The canonical form is text: `qualified-name<arguments>(parameters) qualifiers -> return type`. Two names share it if
source code that means one of them means the other after only a change of compiler, std::string ABI or torch release.
It ignores:

- *std::string.* `Ss` and `std::__cxx11::basic_string<char, ...>` are both `std::string`; so are the other types that
  libstdc++ has twice (list, stringstream, ios_base::failure, facets): the inline namespace is left out.
  _GLIBCXX_USE_CXX11_ABI chooses.
- *Abi tags.* `[abi:cxx11]` marks a function that returns such a type; it is not in the source.
- *Inline namespaces* that version an implementation (`name_nodes.INLINE_NAMESPACES`).
- *Declarations of template parameters* before their arguments (`Tn...`). Clang writes them since version 18, GCC does
  not, and nvcc's front end spells their content in its own way.
- *Template parameters* are replaced by their arguments, so that `PKT_` and `PKS3_` are the same return type.
- *Constraints* (`Q...`). Clang writes them since version 18; GCC 12 and earlier versions of Clang do not.
- *Namespaces in dependent expressions.* Clang writes `sr3std` before a dependent name, GCC 12 nothing, and nvcc's front
  end a namespace of its own invention (`sr4__T0`, pytorch issue 174898).
- *Constructor and destructor variants.* C1 and C2 (complete, base object) are one constructor; the variant remains a
  field. A missing C2 beside an exported C1 is a missing symbol, but the same entity.
- *Declarations in Microsoft's mangling*: access, static, virtual, `class` or `struct`, calling conventions.
- *Thunks, clones* have the canonical form of their function, preceded by the kind.
- *Names that PyTorch moved* (`RENAMED`): the sources name them through an alias, or pass values of a type that became
  one.

It distinguishes: `long` and `long long` (two types, even of the same size); const of a parameter's target; default
arguments (a function that gained one is another function: `entity` joins them); an `enable_if` in the return type (it
distinguishes overloads); CUDA and HIP (`gpu_neutral` is a separate form).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

# Qualified name -> name in the newest release. Keys are qualified names without arguments, and templates with theirs.
# Releases after "since" are from the headers in the released wheels.
RENAMED: Final[dict[str, str]] = {
    # c10/util/Optional.h: `using std::optional` since 2.2; up to 2.1 a separate implementation.
    "c10::optional": "std::optional",
    "c10::nullopt_t": "std::nullopt_t",
    "c10::bad_optional_access": "std::bad_optional_access",
    # c10/util/in_place.h: `using std::in_place_t` since 2.2, for the constructors of these.
    "c10::in_place_t": "std::in_place_t",
    "c10::in_place_index_t": "std::in_place_index_t",
    "c10::in_place_type_t": "std::in_place_type_t",
    # c10/util/variant.h (MPark.Variant) is in 2.1; 2.2 replaced it by std::variant.
    "c10::variant": "std::variant",
    "c10::monostate": "std::monostate",
    "c10::bad_variant_access": "std::bad_variant_access",
    # c10/util/string_view.h: `using string_view = std::string_view` since 2.6; up to 2.5 `basic_string_view<char>`.
    "c10::string_view": "std::string_view",
    "c10::basic_string_view<char>": "std::string_view",
    # ATen/core/enum_tag.h: `using torch::headeronly::Tag` since 2.12. The other types in torch::headeronly (ScalarType,
    # DeviceType, Half, Layout, MemoryFormat, complex, ...) are, up to 2.13, still defined in c10 and mangled so:
    # torch/headeronly only has using-declarations for them.
    "at::Tag": "torch::headeronly::Tag",
    # ATen/core/TensorAccessor.h: defined in torch/headeronly/core/TensorAccessor.h since 2.10. (TensorAccessor itself
    # got another template parameter with that move, so it is a different type.)
    "at::DefaultPtrTraits": "torch::headeronly::DefaultPtrTraits",
    "at::RestrictPtrTraits": "torch::headeronly::RestrictPtrTraits",
}


def newest_name(parts: tuple[str, ...]) -> str:
    """A qualified name in the spelling of the newest torch release."""
    text = parts[0]
    for part in parts[1:]:
        text = RENAMED.get(text, text) + "::" + part
    return RENAMED.get(text, text)


def other_names(qualified: str) -> tuple[str, ...]:
    """The other qualified names of `qualified` in torch releases."""
    newest = RENAMED.get(qualified, qualified)
    names = [newest, *(old for old, new in RENAMED.items() if new == newest and "<" not in old)]
    return tuple(name for name in names if name != qualified)


@functools.cache
def _hip_words() -> re.Pattern[str]:
    # Compiled on first use: few names need it, and compiling takes longer than importing this module.
    import re

    return re.compile(r"(?<![A-Za-z0-9])hip(?=[A-Z_\W]|$)|(?<![A-Z])HIP(?![a-z])|MasqueradingAsCUDA")


def to_cuda(text: str) -> str:
    """Undo hipify in a canonical form: `c10::hip::getCurrentHIPStream` becomes `c10::cuda::getCurrentCUDAStream`.

    The words are those of PyTorch's own hipify (torch/utils/hipify/cuda_to_hip_mappings.py): hip for cuda and HIP for
    CUDA in names, and the wrappers `...MasqueradingAsCUDA` that replace the CUDA class under ROCm.
    """
    if "hip" not in text and "HIP" not in text and "Masq" not in text:
        return text
    text = text.replace("ihipStream_t", "CUstream_st").replace("ihipEvent_t", "CUevent_st")
    text = text.replace("hipError_t", "cudaError")
    return _hip_words().sub(lambda match: {"hip": "cuda", "HIP": "CUDA"}.get(match.group(), ""), text)


def gpu_spellings(identifier: str) -> tuple[str, ...]:
    """The spellings of an identifier in CUDA and ROCm builds, the given one first."""
    cuda = to_cuda(identifier)
    spellings = [identifier, cuda]
    if "cuda" in cuda or "CUDA" in cuda:
        hip = cuda.replace("cuda", "hip").replace("CUDA", "HIP")
        spellings.append(hip)
        if "HIP" in hip:
            spellings.append(hip + "MasqueradingAsCUDA")
    return tuple(dict.fromkeys(spellings))


def spellings(names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """A qualified name as spelled in releases and GPU variants, its enclosing scopes included."""
    yield names
    text = ""
    for count, part in enumerate(names, 1):
        text = f"{text}::{part}" if text else part
        for other in other_names(text):
            yield (*other.split("::"), *names[count:])
    choices = [gpu_spellings(part) for part in names]
    if any(len(choice) > 1 for choice in choices):
        for variant in range(max(len(choice) for choice in choices)):
            yield tuple(choice[min(variant, len(choice) - 1)] for choice in choices)
            # hipify's wrappers are in the namespace that has no wrapper.
            yield (
                *(choice[min(2, len(choice) - 1)] for choice in choices[:-1]),
                choices[-1][min(variant, len(choices[-1]) - 1)],
            )
