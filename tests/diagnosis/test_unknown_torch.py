"""Commands for a torch whose release is unknown: the example is of a release that can have the error.

Oracle: the release index, which has the exports of every release."""

from __future__ import annotations

import re

import pytest

from abiscan.diagnosis import explain
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.releases import ReleaseIndex

SITE = "ImportError: /v/lib/python3.10/site-packages/"
TEXTS = [
    # Of two rows of wheels.
    (
        f"{SITE}torchtext/lib/libtorchtext.so: undefined symbol: ",
        "_ZN2at4_ops5zeros4callEN3c108ArrayRefINS2_6SymIntEEENS2_8optionalINS2_10ScalarTypeEEENS6_INS2_6LayoutEEENS6_INS2_6"
        "DeviceEEENS6_IbEE",
    ),
    (f"{SITE}fbgemm_gpu/fbgemm_gpu_py.so: undefined symbol: ", "_ZN3c104impl8GPUTrace13gpuTraceStateE"),
    (
        f"{SITE}torchtext/lib/libtorchtext.so: undefined symbol: ",
        "_ZN2at4_ops10select_int4callERKNS_6TensorElN3c106SymIntE",
    ),
    (f"{SITE}vllm/_C.abi3.so: undefined symbol: ", "_ZNK3c1011StorageImpl27throw_data_ptr_access_errorEv"),
    (f"{SITE}exllama_kernels.cpython-310-x86_64-linux-gnu.so: undefined symbol: ", "_ZN3c104cuda9SetDeviceEi"),
]


@pytest.mark.parametrize(("text", "symbol"), TEXTS)
def test_the_example_lacks_the_symbol(text: str, symbol: str, index: ReleaseIndex) -> None:
    best = explain(text + symbol, Knowledge(releases=index))[0].causes[0]
    history = index.history(symbol, "x86_64")
    assert history is not None
    examples = re.findall(r"# for torch ([\d.]+\d)", best.fix)
    assert examples
    assert "None" not in best.fix
    assert not any(history.exported_in.contains(each) for each in examples), best.fix
