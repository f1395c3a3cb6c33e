"""Who uses a name decides whether it must be rewritten: the project's own functions, or what torch's headers left."""

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
        # A stripped file keeps no name for it, and a name that no site is known of may be used anywhere.
        ((OF_TORCH, None), False),
        ((), False),
    ],
)
def test_only_functions_of_torch_make_it_go(functions: tuple[str | None, ...], expected: bool) -> None:
    sites = [CallSite(0, 0, function, None, True) for function in functions]
    assert _is_used_by_headers_alone(sites) is expected
