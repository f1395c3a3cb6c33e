"""Operators from the strings of real extensions. Expected values are those of torch's dispatcher after loading them
(`torch._C._dispatch_get_all_op_names()`)."""

from __future__ import annotations

import subprocess
from pathlib import Path

from abiscan.elf import open_elf
from abiscan.model.cause import Confidence
from abiscan.model.operators import Operator, Registration
from abiscan.provenance.read_operators import find_operators
from tests.tables import data_text, table_rows

DEF = "_ZNR5torch7Library4_defEON3c1014FunctionSchemaE"


def of(texts: list[bytes], tmp_path: Path, name: str = DEF) -> list[Operator]:
    """The operators of a file with these bytes in its read-only data."""
    assembly = '.section .rodata,"a"\n' + "".join(f".byte {','.join(map(str, text))}\n" for text in texts)
    out = tmp_path / "x.so"
    command = ["gcc", "-shared", "-nostdlib", "-x", "assembler", "-", "-o", str(out)]
    subprocess.run(command, input=assembly, text=True, check=True)
    return list(find_operators(open_elf(out), [name]))


def test_whole_schemas(tmp_path: Path) -> None:
    found = of(
        [
            b"torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor\0",
            b"custom_sdpa.out(Tensor q, SymInt start_pos, *, Tensor(a!) out) -> Tensor(a!)\0",
            b"cuda_version() -> int?\0",
            b"execute(Tensor[] inputs, __torch__.torch.classes.x.Engine e) -> Tensor[]\0",
            b'split(Tensor t, int[2] n=[1, 2], str s="") -> (Tensor, Tensor)\0',
            b"aten::add(Tensor a, Tensor b) -> Tensor\0",
        ],
        tmp_path,
    )
    assert [(o.name, o.overload, o.confidence) for o in found] == [
        ("aten::add", "", Confidence.LOW),
        ("cuda_version", "", Confidence.HIGH),
        ("custom_sdpa", "out", Confidence.HIGH),
        ("execute", "", Confidence.HIGH),
        ("split", "", Confidence.HIGH),
        ("torchvision::nms", "", Confidence.HIGH),
    ]
    assert all(o.schema is not None and o.registration is Registration.TORCH_LIBRARY for o in found)


def test_what_an_optimizer_took_apart_has_a_name_and_no_schema(tmp_path: Path) -> None:
    # As compiled by GCC in torchvision 0.28.0's _C.so, with the dispatcher entries torchvision::nms and
    # torchvision::qnms.
    found = of(
        [
            b"torchvision::deform(Tensor input) -> Tensor\0",
            b".ops.deform.deformtorchvision::nms(Tensor dets, Tensor scores, float iou_thresholdshold) -> Tensorcsrc"
            b"torchvision::qnms(Tensor dets, Tensor scores, float iou_thresholtorchvision::q\xff\0",
        ],
        tmp_path,
    )
    assert [(o.name, o.schema is None) for o in found] == [
        ("torchvision::deform", False),
        ("torchvision::nms", True),
        ("torchvision::qnms", True),
    ]


@table_rows
def test_the_interface_is_that_of_the_imports(name: str, kind: Registration | None, tmp_path: Path) -> None:
    found = of([b"f(Tensor x) -> Tensor\0"], tmp_path, name)
    assert [o.registration for o in found] == ([] if kind is None else [kind])


def test_texts_without_schemas(tmp_path: Path) -> None:
    found = of(
        [b"expected (Tensor) -> bool\0", b"f(x) -> y\0", b"(Tensor a) -> b\0", b"auto f(Tensor const&) -> int\0"],
        tmp_path,
    )
    assert [o for o in found if o.confidence is Confidence.HIGH] == []


MACROS = data_text(__file__, "library_macros.cpp")


def built(source: str, tmp_path: Path, *flags: str) -> list[tuple[str, str, bool | None]]:
    """(name, overload, defines) of a C++ file with the macros of torch/library.h."""
    out = tmp_path / "x.so"
    command = ["g++", "-shared", "-fPIC", "-O0", "-x", "c++", "-", "-o", out, *flags]
    subprocess.run(command, input=MACROS + source, text=True, check=True)
    elf = open_elf(out)
    return [(o.name, o.overload, o.defines) for o in find_operators(elf, [i.name for i in elf.facts().imports])]


def test_the_namespace_of_a_macro_is_that_of_its_function(tmp_path: Path) -> None:
    source = """TORCH_LIBRARY(my_ns, m) {
        m._def("f(Tensor x) -> Tensor");
        m._def("f.out(Tensor x, *, Tensor(a!) o) -> Tensor(a!)");
    }"""
    assert built(source, tmp_path) == [("my_ns::f", "", True), ("my_ns::f", "out", True)]
    # Stripped, the namespace is gone.
    assert built(source, tmp_path, "-s") == [("f", "", True), ("f", "out", True)]


def test_which_of_two_namespaces_is_not_guessed(tmp_path: Path) -> None:
    source = """
        TORCH_LIBRARY(one, m) { m._def("f(Tensor x) -> Tensor"); }
        TORCH_LIBRARY(two, m) { m._def("g(Tensor x) -> Tensor"); }
    """
    assert built(source, tmp_path) == [("f", "", True), ("g", "", True)]


def test_operators_by_name_alone(tmp_path: Path) -> None:
    """As torchao registers its CUDA kernels, and torchaudio operators without a schema of their own."""
    implemented = """TORCH_LIBRARY_IMPL(ao_2, CUDA, m) {
        m._impl("ao_2::gemm"); m._impl("ao_2::gemm.out"); puts("ao_2::x y"); puts("other::name");
    }"""
    assert built(implemented, tmp_path) == [("ao_2::gemm", "", False), ("ao_2::gemm", "out", False)]
    defined = 'TORCH_LIBRARY_FRAGMENT(sox, m) { m._def("sox::load"); puts("other::name"); }'
    assert built(defined, tmp_path) == [("sox::load", "", None)]


def test_a_schema_and_the_name_of_its_implementation_are_one_operator(tmp_path: Path) -> None:
    """As in torchvision 0.29.2's _C_stable.so, with an inlined function of definitions."""
    source = """
        void define(torch::Library& m) { m._def("nms(Tensor x) -> Tensor"); m._def("other(Tensor x) -> Tensor"); }
        TORCH_LIBRARY_IMPL(tv, CPU, m) { m._impl("tv::nms"); define(m); }
    """
    assert built(source, tmp_path) == [("other", "", True), ("tv::nms", "", True)]


def test_a_name_that_was_copied_by_registers_is_put_together(tmp_path: Path) -> None:
    """Constants from torchaudio 2.8.0's libtorchaudio.so; 2.9.1 has the name as one string. A 32-byte name that is a
    string of its own stays."""
    run = "torchaudio::_lfifilter_core_loopN12_GLOBAL__N_117DifferentiableF7DifferentiableI"
    source = f"""TORCH_LIBRARY_IMPL(torchaudio, CPU, m) {{
        m._impl("{run}"); m._impl("torchaudio::_overdrive_core_loop");
    }}"""
    assert [name for name, _, _ in built(source, tmp_path)] == [
        "torchaudio::_lfilter_core_loop",
        "torchaudio::_overdrive_core_loop",
    ]
