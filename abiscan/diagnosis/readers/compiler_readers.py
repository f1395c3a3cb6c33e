"""Values of compiler messages that no pattern can capture: owners of undeclared names, members of torch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.fixes.system_packages import library_of_header
from abiscan.diagnosis.text.message_text import Hit
from abiscan.diagnosis.text.name_tokens import first_quoted, last_quoted
from abiscan.ownership import torch_names
from abiscan.ownership.torch_headers import header_of_name
from abiscan.ownership.vendors import vendor_of

VALUES: Final = ("name", "former", "library", "product", "half", "header", "of_release")
"""Values that readers of this module may add."""

# `cusparseScsrmv`, but not `cudnn_enabled`, a parameter of torch.
_OF_API = re.compile(r"[a-z]{2,12}[A-Z]")
_CONSTANT = re.compile(r"(CUDNN|CUBLAS|CUSPARSE|CUSOLVER|CUFFT|CURAND)_[A-Z]")
# Types and functions of cuda_fp16.h and cuda_bf16.h.
_OF_HALF = re.compile(
    r"__half2?|half2?|__half_as_u?short|__u?short_as_half|__nv_bfloat162?|__h(?:add|sub|mul|div|fma|max|min|neg|abs|eq|lt|gt)2?|__(?:half|float|int|low|high)"
    r"2?(?:half|float|bfloat16)\w{0,16}|__floats2(?:half2|bfloat162)_rn"
)
# Classes that releases of torch added to its headers, and newer macros.
_CLASSES: Final = ("PackedTensorAccessor32", "PackedTensorAccessor64", "GenericPackedTensorAccessor", "CUDAGuard")
# Inline templates of torch 1.2 and later, which no library exports.
_LATER_MEMBERS: Final = ("packed_accessor32", "packed_accessor64")
_LATER: Final = ("TORCH_", "C10_", "Packed", "GenericPacked")
_SCOPE = re.compile(r"(?:at|c10|torch|caffe2)(?:::\w{1,64}){0,6}")


def undeclared_name(hit: Hit, _values: Values) -> Values | None:
    """The undeclared `name` of a compiler error, with a value for its owner: `former` (an older torch), `library` and
    `product` (CUDA), `half` (of the `header`), `of_release` (`later` if later releases of torch added it, else `yes`).
    None for other names."""
    if hit.word.startswith("'"):
        name = hit.before.rpartition("'")[2]
    else:
        behind = hit.word.endswith(("undeclared identifier", "incomplete type", "unknown type name"))
        name = (_name_behind(hit) if behind else _name_before(hit)) or _former_without_quotes(hit.before)
    name = name.removeprefix("struct ")
    constant = _CONSTANT.match(name)
    function = f"{constant[1].lower()}Create" if constant is not None else name
    vendor = vendor_of(function) if constant is not None or _OF_API.match(name) is not None else None
    if vendor is not None and vendor.cuda:
        return {"name": name, "library": vendor.library, "product": vendor.product}
    if _OF_HALF.fullmatch(name) is not None:
        return {"name": name, "half": "yes", "header": "cuda_bf16.h" if "bf" in name else "cuda_fp16.h"}
    if torch_names.is_former_source_name(name):
        return {"name": name, "former": "yes"}
    of_release = "later" if name.startswith(_LATER) else "yes"
    if name in _CLASSES:
        return {"name": f"torch::{name}", "of_release": of_release}
    if torch_names.is_macro(name) or name.startswith("aoti_torch_") or header_of_name(name) is not None:
        return {"name": name, "of_release": of_release}
    return None


_QUALIFIED = re.compile(r"(?:[A-Za-z_]\w{0,127}::){0,8}[A-Za-z_]\w{0,127}", re.ASCII)
# Words between a name and the words of a message.
_KINDS: Final = frozenset(
    ("class", "struct", "namespace", "type", "the", "in", "identifier", "function", "name", "named")
)


def _name_before(hit: Hit) -> str | None:
    return _name_in(hit, hit.before, last_quoted, -1)


def _name_behind(hit: Hit) -> str | None:
    return _name_in(hit, hit.rest[:320], first_quoted, 0)


def _name_in(hit: Hit, text: str, quoted: Callable[[str], str | None], place: int) -> str | None:
    """The quotation at an end of a text; of a plain one, which has none, the name there."""
    if not hit.plain:
        return quoted(text)
    names = [name for name in _QUALIFIED.findall(text[-320:]) if name not in _KINDS]
    return names[place] if names else None


_LAST_WORD = re.compile(r"(?<!\w)[A-Z]\w{3,63}(?= ?\Z)", re.ASCII)


def _former_without_quotes(before: str) -> str:
    """The name of an older torch at the end of a line without its quotation marks; empty for other names."""
    found = _LAST_WORD.search(before[-80:])
    return found[0] if found is not None and torch_names.is_former_source_name(found[0]) else ""


_HEADER = re.compile(r"""['"<\u2018]?([A-Za-z][\w./+-]{1,200})""")


def library_header(hit: Hit, _values: Values) -> Values | None:
    """The `header` that a compiler does not find; applies to those of the catalogue of libraries."""
    found = _HEADER.match(hit.rest)
    return {"header": found[1]} if found is not None and library_of_header(found[1].rstrip(":")) is not None else None


def torch_member(hit: Hit, _values: Values) -> Values | None:
    """The qualified `name` that is missing in a class or namespace of torch."""
    behind, before = _name_behind(hit), _name_before(hit)
    if hit.word.startswith("does not name"):
        scope, name = before, _name_in(hit, hit.before.rpartition(" in namespace ")[0], last_quoted, -1)
    elif hit.word == "has no member":
        scope, name = before, behind
    elif hit.word == "no member named":
        scope, name = _name_in(hit, hit.rest[:640].partition(" in ")[2], first_quoted, 0), behind
    else:
        scope, name = behind, before
    for word in ("const ", "class ", "struct "):
        scope = (scope or "").removeprefix(word)
    scope = (scope or "").partition(" ")[0].rstrip("&*")
    if name is None or not name.isidentifier() or _SCOPE.fullmatch(scope) is None:
        return None
    found = {"name": f"{scope}::{name}"}
    is_later = name.startswith(_LATER) if scope == "torch" else name in _LATER_MEMBERS
    return {**found, "of_release": "later"} if is_later else found
