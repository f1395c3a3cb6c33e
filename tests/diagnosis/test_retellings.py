"""Reports as people retell them, in English and Chinese: torch built from source with prebuilt extensions, HIP's
`__ldg` without an overload for c10::Half, a symbol that only Clang makes, a kernel of TorchInductor with an undefined
size, and a pybind11 function under Dynamo. Oracle: what the sentences say; pytorch_scatter issue 412."""

from __future__ import annotations

import pytest

from abiscan.analysis.explanation import explain
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from abiscan.model.cause import CauseId, Confidence
from abiscan.report.explain_text import render

_OPTIONS = ScanOptions(None, None, LoaderSettings("/"))


def test_a_need_of_an_older_torch_is_said_once_and_of_numpy_where_it_is_used() -> None:
    """Oracle: torch_scatter of 2.1.2 imports no numpy; torch_sparse of 0.6.18 imports scipy."""
    (subject,) = explain("torch_scatter fails, I compiled PyTorch from source", _OPTIONS)
    assert subject.causes[0].fix.count("setuptools<70") == 1
    assert "numpy" not in subject.causes[0].fix
    (subject,) = explain("torch_sparse fails, I compiled PyTorch from source", _OPTIONS)
    assert subject.causes[0].fix.count("numpy<2") == 1


def test_graph_mode_is_not_the_first_advice_without_a_function() -> None:
    (subject,) = explain("vllm torch._dynamo.exc.Unsupported: Attempted to call function marked as skipped", _OPTIONS)
    lines = subject.causes[0].fix.splitlines()
    assert lines[0].startswith("The text does not name the function.")
    assert "enforce_eager=True" in lines[1]


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("NameError: name 's2' is not defined in my Flask app", Confidence.LOW),
        ("NameError: name 's2' is not defined when running my notebook", Confidence.LOW),
        ("pandas \u62a5\u9519 NameError: name 's1' is not defined", Confidence.LOW),
        ("NameError: name 's2' is not defined, with torch.compile", Confidence.MEDIUM),
        ("triton: NameError: name 's2' is not defined", Confidence.MEDIUM),
    ],
)
def test_a_name_of_any_program_is_torch_compiles_only_beside_its_words(text: str, confidence: Confidence) -> None:
    """Oracle: `s2` is a name that programs have, too (Python reference, Naming and binding)."""
    (subject,) = explain(text, _OPTIONS)
    (cause,) = subject.causes
    assert (cause.cause, cause.confidence) == (CauseId.GENERATED_KERNEL, confidence)
    is_sure = confidence is not Confidence.LOW
    assert ("pip install" in cause.fix) is is_sure
    assert ("If torch.compile is used" in cause.evidence[0]) is not is_sure
    assert render((subject,)).startswith("cause: " if is_sure else "possible cause: ")


def test_a_torch_that_the_text_does_not_name_may_have_the_fix() -> None:
    """Oracle: pytorch/pytorch issue 136504, fixed in torch 2.6.0: with it, the cache or another bug is left."""
    (subject,) = explain("torch.compile: NameError: name 's2' is not defined", _OPTIONS)
    lines = subject.causes[0].fix.splitlines()
    otherwise = lines.index("If it prints 2.6 or later:")
    assert "a release before 2.6" in lines[0]
    assert lines[otherwise + 1].startswith("rm -rf ")
    assert "short script" in lines[otherwise + 2]
