"""Operators by the texts of real extensions: what torch's dispatcher lists after loading them
(`torch._C._dispatch_get_all_op_names()`) stands beside each."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from abiscan.analysis.read_operators import operators_of
from abiscan.elf import open_elf
from abiscan.model.cause import Confidence
from abiscan.model.operators import Operator, Registration

DEF = "_ZNR5torch7Library4_defEON3c1014FunctionSchemaE"


def of(texts: list[bytes], tmp_path: Path, name: str = DEF) -> list[Operator]:
    """The operators of a file with these bytes in its read-only data."""
    assembly = '.section .rodata,"a"\n' + "".join(f".byte {','.join(map(str, text))}\n" for text in texts)
    out = tmp_path / "x.so"
    command = ["gcc", "-shared", "-nostdlib", "-x", "assembler", "-", "-o", str(out)]
    subprocess.run(command, input=assembly, text=True, check=True)
    return list(operators_of(open_elf(out), [name]))


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
    # As GCC left it in torchvision 0.28.0's _C.so, whose dispatcher entries are torchvision::nms and torchvision::qnms.
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


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("aoti_torch_library_def", Registration.STABLE_TORCH_LIBRARY),
        ("_ZN3c1017RegisterOperatorsC1Ev", Registration.LEGACY),
        ("_ZN2at4_ops3add4callE", None),
    ],
)
def test_the_interface_is_that_of_the_imports(name: str, kind: Registration | None, tmp_path: Path) -> None:
    found = of([b"f(Tensor x) -> Tensor\0"], tmp_path, name)
    assert [o.registration for o in found] == ([] if kind is None else [kind])


def test_texts_that_are_no_schemas(tmp_path: Path) -> None:
    found = of(
        [b"expected (Tensor) -> bool\0", b"f(x) -> y\0", b"(Tensor a) -> b\0", b"auto f(Tensor const&) -> int\0"],
        tmp_path,
    )
    assert [o for o in found if o.confidence is Confidence.HIGH] == []
