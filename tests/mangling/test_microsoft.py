"""Microsoft mangling. Oracle: LLVM's demangler (pycxxfilt), without `class` and `struct`, access and calling
conventions, which the parts omit. The names of compiled/microsoft.txt are from Windows wheels of torch, torchvision,
torchaudio and others."""

from __future__ import annotations

import re
from pathlib import Path

import pycxxfilt
import pytest

from abiscan.mangling import (
    CxxName,
    Demangler,
    DifferenceKind,
    NameKind,
    SpecialKind,
    classify,
    differences,
    parse,
    search_prefixes,
)
from abiscan.mangling.parser.name_nodes import Local, Special
from abiscan.mangling.parser.render import RenderStyle
from abiscan.mangling.parser.type_nodes import Function
from abiscan.model.imports import DemangledBy
from tests.processor_time import at_most

NAMES = (Path(__file__).parent / "compiled" / "microsoft.txt").read_text("utf-8").splitlines()
# Parts of LLVM's output that have no part here; and its spelling of types.
_LEFT_OUT = re.compile(
    r"\b(?:class|struct|enum|union|public:|private:|protected:|virtual|static|__cdecl|__ptr64) ?|\[thunk\]: |"
    r"'::`\d+(?=')|[`']"
)
_TABLE = re.compile(r"(?:const )?(.*?)(?:::| )`(?:vftable|vbtable|RTTI [A-Za-z ]+)'(?:\{for `(.*)'\})?$")


def _squeezed(text: str) -> str:
    text = re.sub(r"\s", "", _LEFT_OUT.sub("", text)).replace("__int64", "longlong").replace("(void)", "()")
    return text.replace("(anonymousnamespace)", "anonymousnamespace")


def _is_comparable(name: CxxName) -> bool:
    # LLVM also prints class arguments after a constructor's name, and the type before a conversion operator.
    structor = name.scope and name.base.lstrip("~") == name.scope[-1] and name.in_style(RenderStyle.DISPLAY).name
    return not (structor and "<" in structor) and not name.base.startswith("operator ")


def _parsed(mangled: str) -> CxxName:
    name = parse(mangled)
    assert name is not None
    return name


def test_every_name_is_read() -> None:
    assert [name for name in NAMES if parse(name) is None] == []
    assert len(NAMES) > 300


def _differs(mangled: str) -> bool:
    text = pycxxfilt.msvc_demangle(mangled)
    name = _parsed(mangled)
    table = _TABLE.match(text)
    if table is not None and isinstance(name.root, Special):
        return not _squeezed(name.display).endswith(_squeezed(table[1]))
    if isinstance(name.root, Special) or not _is_comparable(name):
        return name.base.lstrip("~").partition(" ")[0] not in text
    shown = _squeezed(name.display)
    # The type of an object surrounds its name.
    return shown not in _squeezed(text) if name.kind is SpecialKind.DATA else _squeezed(text) != shown


def test_texts_are_those_of_llvm() -> None:
    assert [(name, _parsed(name).display) for name in NAMES if _differs(name)] == []
    assert sum(_is_comparable(_parsed(name)) for name in NAMES) > 250


def test_a_name_is_found_by_its_prefixes() -> None:
    for mangled in NAMES:
        prefixes = search_prefixes(_parsed(mangled))
        assert mangled.startswith(prefixes)
        # Entities in functions, and non-classes, are found by their own name only.
        assert mangled not in prefixes or isinstance(_parsed(mangled).searched, (Local, Function))


@pytest.mark.parametrize(
    ("mangled", "kind", "qualified", "parts"),
    [
        (
            "?empty@at@@YA?AVTensor@1@V?$ArrayRef@_J@c10@@V?$optional@W4MemoryFormat@c10@@@std@@@Z",
            SpecialKind.FUNCTION,
            "at::empty",
            (None, ("c10::ArrayRef<long long>", "std::optional<c10::MemoryFormat>"), (), ""),
        ),
        (
            "??$const_data_ptr@M@TensorBase@at@@QEBAPEBMXZ",
            SpecialKind.FUNCTION,
            "at::TensorBase::const_data_ptr",
            (("float",), (), ("const",), "public"),
        ),
        ("??_7Node@autograd@torch@@6B@", SpecialKind.VTABLE, "torch::autograd::Node", (None, None, (), "")),
        ("??_R0?AVError@c10@@@8", SpecialKind.TYPEINFO, "c10::Error", (None, None, (), "")),
        ("??1Tensor@at@@UEAA@XZ", SpecialKind.FUNCTION, "at::Tensor::~Tensor", (None, (), (), "public virtual")),
        ("?log_level@c10@@3HA", SpecialKind.DATA, "c10::log_level", (None, None, (), "")),
        ("?made@Pool@at@@0HA", SpecialKind.DATA, "at::Pool::made", (None, None, (), "private static")),
        (
            "??Bsymbol@c10@@QEBA_NXZ",
            SpecialKind.FUNCTION,
            "c10::symbol::operator bool",
            (None, (), ("const",), "public"),
        ),
        ("?f@?A0x1234abcd@@YAXXZ", SpecialKind.FUNCTION, "(anonymous namespace)::f", (None, (), (), "")),
        ("?print@@YAXPEBDZZ", SpecialKind.FUNCTION, "print", (None, ("char const*", "..."), (), "")),
        ("__imp_?f@at@@YAXXZ", SpecialKind.FUNCTION, "at::f", (None, (), (), "")),
    ],
)
def test_parts(mangled: str, kind: SpecialKind, qualified: str, parts: object) -> None:
    """Expected values are from the output of llvm-undname."""
    name = _parsed(mangled)
    assert (name.kind, name.qualified) == (kind, qualified)
    assert (name.template_args, name.parameters, name.qualifiers, name.member) == parts


def _kinds(a: str, b: str) -> list[tuple[DifferenceKind, str | None, str | None]]:
    return [(each.kind, each.old, each.new) for each in differences(_parsed(a), _parsed(b))]


def test_differences() -> None:
    """The first row is torch's change of 2.1: `c10::optional` became `std::optional`."""
    assert _kinds("?f@at@@YAXV?$optional@H@c10@@@Z", "?f@at@@YAXV?$optional@H@std@@@Z") == [
        (DifferenceKind.NAMESPACE_ALIAS, "c10::optional<int>", "std::optional<int>")
    ]
    assert _kinds("?f@at@@YAXH@Z", "?f@at@@YAX_J@Z") == [(DifferenceKind.PARAMETERS, "int", "long long")]
    assert _kinds("?f@at@@YAXH@Z", "?f@at@@YAHH@Z") == [(DifferenceKind.RETURN_TYPE, "void", "int")]
    assert _kinds("?f@T@@QEAAXXZ", "?f@T@@UEAAXXZ") == [(DifferenceKind.DECLARATION, "public", "public virtual")]
    assert _kinds("?f@T@@QEAAXXZ", "?f@T@@QEBAXXZ") == [(DifferenceKind.QUALIFIERS, "", "const")]
    assert [kind for kind, _, _ in _kinds("?f@@YAXUT@@@Z", "?f@@YAXVT@@@Z")] == [DifferenceKind.DECLARATION]
    assert _kinds("?f@at@@YAXH@Z", "?f@at@@YAXH@Z") == []


def test_the_canonical_form_is_that_of_the_other_mangling() -> None:
    """Except for the return type, which Microsoft mangling has for every function. Both names are of one
    declaration."""
    pairs = (
        ("??$data_ptr@M@TensorBase@at@@QEBAPEAMXZ", "_ZNK2at10TensorBase8data_ptrIfEEPT_v"),
        (
            "?f@at@@YAXAEBV?$basic_string@DU?$char_traits@D@std@@V?$allocator@D@2@@std@@@Z",
            "_ZN2at1fERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
        ),
        (
            "?f@at@@YAXAEBV?$basic_string@DU?$char_traits@D@std@@V?$allocator@D@2@@std@@@Z",
            "__ZN2at1fERKNSt3__112basic_stringIcNS0_11char_traitsIcEENS0_9allocatorIcEEEE",
        ),
        ("?g@c10@@YAXP6AHPEAY02J@Z@Z", "_ZN3c101gEPFiPA3_lE"),
        ("??_7Error@c10@@6B@", "_ZTVN3c105ErrorE"),
    )
    for microsoft, itanium in pairs:
        a, b = _parsed(microsoft), _parsed(itanium)
        assert a.canonical.partition(" -> ")[0] == b.canonical.partition(" -> ")[0]
        assert a.entity == b.entity


def test_a_hashed_name_has_no_parts() -> None:
    hashed = "??@1395e3acaac9ac1e1a1f9cc3577a9a1c@"
    assert classify(hashed) is NameKind.MSVC
    assert parse(hashed) is None
    assert Demangler().demangle(hashed).neither


def test_the_text_for_people_is_that_of_llvm() -> None:
    found = Demangler().demangle("?empty@at@@YA?AVTensor@1@PEB_J_K@Z")
    assert found.text == "class at::Tensor __cdecl at::empty(__int64 const *, unsigned __int64)"
    assert (found.by, found.only_llvm) == (DemangledBy.LLVM, False)


@pytest.mark.parametrize(
    "mangled",
    [
        "?",
        "?f",
        "?f@",
        "?f@@",
        "?f@@YA",
        "?f@@YAXX",
        "?f@@YAX0@Z",
        "?f@0@YAXXZ" + "x",
        "?9@@YAXXZ",
        "?f@@3",
        "??0@@QEAA@XZ",
        "??$@@YAXXZ",
        "?f@@YAX$$XZ",
        "?f@@YAXPEAY" + "9" * 70 + "H@Z",
        "??_7",
        "??_C@_0",
        "?" * 5000,
        "?f@" + "?$" * 3000,
        "?f@@YAX" + "PEA" * 3000 + "H@Z",
    ],
)
def test_invalid_names_have_no_parts(mangled: str) -> None:
    assert parse(mangled) is None


def test_names_that_stand_for_much_text_are_refused_in_time() -> None:
    # Each parameter is a function with eight of the previous type.
    params = "".join(f"P6AX{str(number - 1) * 8 if number else 'PEAH'}@Z" for number in range(9))
    # A long name, and thousands of references to it.
    scopes = "?f@" + "x" * 30_000 + "@" + "1" * 30_000 + "@YAXXZ"
    with at_most(2):
        for mangled in (f"?f@@YAX{params}@Z", scopes):
            assert parse(mangled) is None
