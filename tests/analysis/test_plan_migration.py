"""The user of a name decides whether it must be rewritten: the project's own functions, or inlined torch headers."""

from __future__ import annotations

import pytest

from abiscan.analysis.plan_migration import _is_used_by_headers_alone
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
