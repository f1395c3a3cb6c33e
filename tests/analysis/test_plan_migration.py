"""The user of a name decides whether it must be rewritten: the project's own functions, or inlined torch headers."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.plan_migration import _is_used_by_headers_alone, plan_migration
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from abiscan.model.facts import CallSite

# c10::cuda::impl::CUDAGuardImpl::getDevice() const, and vision::ops::f(at::Tensor) (c++filt).
OF_TORCH, OWN = "_ZNK3c104cuda4impl13CUDAGuardImpl9getDeviceEv", "_ZN6vision3ops1fEN2at6TensorE"


@pytest.mark.parametrize(
    ("functions", "expected"),
    [
        ((OF_TORCH,), True),
        ((OF_TORCH, OWN), False),
        ((OWN,), False),
        # A stripped file has no names of functions, and a name without known sites may be used anywhere.
        ((OF_TORCH, None), False),
        ((), False),
    ],
)
def test_only_functions_of_torch_make_it_go(functions: tuple[str | None, ...], expected: bool) -> None:
    sites = [CallSite(0, 0, function, None, True) for function in functions]
    assert _is_used_by_headers_alone(sites) is expected


def test_macros_and_members_of_tensors_count(tmp_path: Path) -> None:
    """By hand: what a compiler would look up in torch's headers, without names of the project itself."""
    (tmp_path / "own.h").write_text("#define AT_OWN(x) x\n#ifdef TORCH_HIDDEN\n#endif\n")
    source = tmp_path / "op.cu"
    source.write_text(
        '#include "own.h"\n'
        "struct Own { int sizes() const; };\n"
        "at::Tensor f(at::Tensor x, const Own& own) {\n"
        "  AT_OWN(1); AT_CHECK(own.sizes()); int64_t blocks = THCCeilDiv(x.numel(), 512L);\n"
        "  THCudaCheck(cudaGetLastError());\n"
        "  return x.index_select(0, x).unknown_member(blocks); }\n"
    )
    plan = plan_migration(str(source), AnalysisContext(ScanOptions(None, None, LoaderSettings(str(tmp_path)))))
    found = {name: (r.kind.value, r.since) for r in plan.replacements for name in r.names}
    assert found == {
        "at::Tensor": ("stable", "2.9.0"),
        "AT_CHECK": ("headeronly", "2.9.0"),
        "THCCeilDiv": ("plain", ""),
        "at::Tensor::numel": ("stable", "2.9.0"),
        "THCudaCheck": ("stable", "2.10.0"),
        "at::Tensor::index_select": ("shim", "2.10.0"),
        "at::Tensor::unknown_member": ("unknown", ""),
    }
