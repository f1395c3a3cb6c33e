"""Messages of compilers of device code: Clang and hipcc, GCC, nvcc."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from abiscan.diagnosis.messages.mention import Complaint, Mention
from abiscan.diagnosis.messages.message_text import Hit
from abiscan.diagnosis.messages.name_tokens import first_quoted, last_quoted
from abiscan.model.finding import Location
from abiscan.ownership import torch_names
from abiscan.ownership.vendors import vendor_of

# `FILE:188:20:` of Clang and GCC, `FILE(188):` of nvcc.
_LINE = re.compile(r"(?::(\d{1,7})(?::\d{1,7})?|\((\d{1,7})\)) ?:")


def no_overload(hit: Hit) -> Iterator[Mention]:
    """Clang: `FILE:188:20: error: no matching function for call to '__ldg'`; GCC quotes the whole call; nvcc:
    `FILE(13): error: no instance of overloaded function "__ldg" matches the argument list`."""
    quoted = first_quoted(hit.rest)
    if not quoted:
        return
    called = quoted.split("(", 1)[0].split("<", 1)[0].strip()
    if _OF_SCOPE.fullmatch(called.rpartition("::")[0]) is not None and called.rpartition("::")[2].isidentifier():
        yield Mention(Complaint.NO_MEMBER, called, hit.at, location=_location(hit.before), context=hit.word)
        return
    # The types stand in the call itself, behind it, or in the notes below.
    context = hit.rest + hit.following()
    yield Mention(Complaint.NO_OVERLOAD, called, hit.at, location=_location(hit.before), context=context)


# CUDA's and HIP's own 16-bit types, as compilers name them.
_SIXTEEN_BITS = re.compile(
    r"(?<![\w:])(c10::Half|c10::BFloat16|__half2?|half2?|__nv_bfloat162?|__hip_bfloat162?|hip_bfloat16)"
    r"(?=[ '\"\u2019&+*/<>=!|,)-]|$)"
)


def half_operation(hit: Hit) -> Iterator[Mention]:
    """nvcc: `no suitable conversion function from "__half" to "int" exists`, `no operator "+=" matches these operands`,
    then `operand types are: __half += __half`, `no instance of constructor "__half::__half" matches the argument list`;
    hipcc: `invalid operands to binary expression ('__half' and '__half')`, `no viable conversion from 'float' to
    '__half'`."""
    around = hit.rest if hit.rest.strip(" .:") else hit.following(4)
    found = _SIXTEEN_BITS.search(around[:512].replace("::__half", ""))
    if found is not None:
        yield Mention(Complaint.HALF_OPERATION, found[1], hit.at, location=_location(hit.before), context=hit.before)


# Headers of torch that later releases do not have (TH and THC, up to 1.10; docs/rules/thc-api.md).
# Compilers speak the language of the system.
_HEADER = re.compile(r"([\w./]{1,128}\.(?:h|cuh))(?:['\"]? ?[:\uff1a] ?\w|['\"] file not found)")
_FATAL = re.compile(
    r"(?:error|erreur|errore|[Ff]ehler|\u9519\u8bef|\u932f\u8aa4|\u043e\u0448\u0438\u0431\u043a\u0430)"
    r" ?[:\uff1a] ?['\"]?$"
)


def texture_reference(hit: Hit) -> Iterator[Mention]:
    """nvcc of CUDA 12: `error: texture is not a template`"""
    name = "cudaBindTexture"
    yield Mention(
        Complaint.UNDECLARED, name, hit.at, location=_location(hit.before), library="cudart", context="texture"
    )


# `cusparseScsrmv`, and not `cudnn_enabled`, a parameter of torch's own.
_OF_API = re.compile(r"[a-z]{2,12}[A-Z]")
_CONSTANT = re.compile(r"(CUDNN|CUBLAS|CUSPARSE|CUSOLVER|CUFFT|CURAND)_[A-Z]")
# Classes of torch's headers that came with its releases.
_CLASSES = frozenset(("PackedTensorAccessor32", "PackedTensorAccessor64", "GenericPackedTensorAccessor", "CUDAGuard"))


# Types and functions of cuda_fp16.h and cuda_bf16.h.
_OF_HALF = re.compile(
    r"__half2?|half2?|__nv_bfloat162?|__h(?:add|sub|mul|div|fma|max|min|neg|abs|eq|lt|gt)2?|__(?:half|float|int|low|high)"
    r"2?(?:half|float|bfloat16)\w{0,16}|__floats2(?:half2|bfloat162)_rn"
)
_UNKNOWN = "is undefined"


def undeclared(hit: Hit) -> Iterator[Mention]:
    """GCC: `error: 'AT_CHECK' was not declared in this scope`; nvcc: `error: identifier "AT_CHECK" is undefined`;
    Clang: `error: use of undeclared identifier 'AT_CHECK'`; MSVC: `error C3861: 'AT_CHECK': identifier not found`. Of
    names of torch alone."""
    behind = hit.word.endswith(("undeclared identifier", "incomplete type"))
    name = first_quoted(hit.rest) if behind else last_quoted(hit.before)
    name = (name or "").removeprefix("struct ") or None
    if hit.word.startswith("'"):
        name = hit.before.rpartition("'")[2]
    vendor = vendor_of(name) if name is not None and _OF_API.match(name) is not None else None
    if name is not None and vendor is None and (constant := _CONSTANT.match(name)) is not None:
        vendor = vendor_of(f"{constant[1].lower()}Create")
    if name is not None and vendor is not None and vendor.cuda:
        yield Mention(Complaint.UNDECLARED, name, hit.at, location=_location(hit.before), library=vendor.library)
        return
    if name is not None and _OF_HALF.fullmatch(name) is not None:
        yield Mention(Complaint.HALF_OPERATION, name, hit.at, location=_location(hit.before), context=_UNKNOWN)
        return
    if name is not None and torch_names.is_former_source_name(name):
        yield Mention(Complaint.UNDECLARED, name, hit.at, location=_location(hit.before))
    elif name is not None and name in _CLASSES:
        yield Mention(Complaint.NO_MEMBER, f"torch::{name}", hit.at, location=_location(hit.before))
    elif name is not None and (torch_names.is_macro(name) or name.startswith("aoti_torch_")):
        yield Mention(Complaint.NO_MEMBER, name, hit.at, location=_location(hit.before))


def no_header(hit: Hit) -> Iterator[Mention]:
    """`fatal error: THC/THC.h: No such file or directory`; Clang: `fatal error: 'THC/THC.h' file not found`"""
    found = _HEADER.match(hit.rest)
    if found is not None and _FATAL.search(hit.before[-32:]) is not None:
        yield Mention(Complaint.UNDECLARED, f"<{hit.word}{found[1]}>", hit.at, location=_location(hit.before))


# What a compiler asks for, in its own quotation marks or without.
_INCLUDED = re.compile(r"['\"<\u2018]?([\w./+-]{1,256}\.(?:h|hpp|cuh))['\"\u2019]?(?=[:\uff1a ,]|$)")


def no_header_of_release(hit: Hit) -> Iterator[Mention]:
    """`fatal error: ATen/CUDAGeneratorImpl.h: No such file or directory`, `fatal error: 'torch/extension.h' file not
    found`; MSVC: `C1083: Cannot open include file: 'x.h'`; nvcc: `cannot open source file "x.h"`. Of headers of torch
    alone."""
    found = _INCLUDED.match(hit.rest)
    if found is None:
        return
    header = found[1]
    if torch_names.is_header(header):
        yield Mention(Complaint.NO_HEADER, f"<{header}>", hit.at, location=_location(hit.before))


# Names of std that torch's headers use -> the standard that has them first (ISO C++, annexes of library changes).
_SINCE: Final = {
    **dict.fromkeys(("make_unique", "enable_if_t", "decay_t", "conditional_t", "index_sequence", "exchange"), "C++14"),
    **dict.fromkeys(("make_index_sequence", "integer_sequence", "remove_reference_t", "result_of_t"), "C++14"),
    **dict.fromkeys(("optional", "nullopt", "nullopt_t", "string_view", "variant", "any", "visit", "byte"), "C++17"),
    **dict.fromkeys(("is_same_v", "is_base_of_v", "is_convertible_v", "is_integral_v", "is_invocable_v"), "C++17"),
    **dict.fromkeys(("void_t", "conjunction", "disjunction", "negation", "apply", "invoke", "in_place"), "C++17"),
    **dict.fromkeys(("scoped_lock", "shared_mutex", "clamp", "basic_string_view", "is_floating_point_v"), "C++17"),
    **dict.fromkeys(("span", "source_location", "bit_cast", "remove_cvref_t", "type_identity"), "C++20"),
    **dict.fromkeys(("endian", "ssize", "same_as", "convertible_to", "integral", "type_identity_t"), "C++20"),
}
_OF_TORCH = ("torch", "ATen", "c10")
_OF_SCOPE = re.compile(r"(?:at|c10|torch|caffe2)(?:::\w{1,64}){0,6}")


def no_member(hit: Hit) -> Iterator[Mention]:
    """GCC: `'class at::Tensor' has no member named 'f'`, `'f' is not a member of 'at::cuda'`, `'f' in namespace 'at'
    does not name a type`; Clang: `no member named 'f' in namespace 'at'`; nvcc: `class "at::Tensor" has no member "f"`,
    `namespace "at" has no member "f"`"""
    behind = first_quoted(hit.rest[:320])
    if hit.word.startswith("does not name"):
        before, _, _ = hit.before.rpartition(" in namespace ")
        scope, name = last_quoted(hit.before), last_quoted(before)
    elif hit.word == "has no member":
        scope, name = last_quoted(hit.before), behind
    elif hit.word == "no member named":
        scope, name = first_quoted(hit.rest[:640].partition(" in ")[2]), behind
    else:
        scope, name = behind, last_quoted(hit.before)
    for word in ("const ", "class ", "struct "):
        scope = (scope or "").removeprefix(word)
    scope = (scope or "").partition(" ")[0].rstrip("&*")
    if scope == "std" and name in _SINCE and any(word in hit.preceding() + hit.line for word in _OF_TORCH):
        yield Mention(Complaint.OLD_STANDARD, _SINCE[name], hit.at, location=_location(hit.before), context=name)
        return
    if name is not None and name.isidentifier() and _OF_SCOPE.fullmatch(scope) is not None:
        yield Mention(Complaint.NO_MEMBER, f"{scope}::{name}", hit.at, location=_location(hit.before))


_STANDARD = re.compile(r"(C\+\+\d\d) ?$")


def old_standard(hit: Hit) -> Iterator[Mention]:
    """`#error C++17 or later compatible compiler is required to use ATen.`"""
    found = _STANDARD.search(hit.before[-16:])
    if found is not None and ("ATen" in hit.rest or "pytorch" in (hit.word + hit.rest).lower()):
        yield Mention(Complaint.OLD_STANDARD, found[1], hit.at, location=_location(hit.before))


def _location(before: str) -> Location | None:
    found = _LINE.search(before)
    if found is None:
        return None
    file = before[: found.start()].rpartition(" ")[2].lstrip("`'\"[(")
    line = found[1] or found[2]
    return Location(file=file, line=int(line)) if file else None
