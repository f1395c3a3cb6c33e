"""The GPUs that builds of torch were compiled for, compared with torch itself."""

from __future__ import annotations

import pytest

from abiscan.model.gpu_architecture import parse_architecture
from abiscan.releases import open_index
from abiscan.releases.kernel_lists import kernel_list
from tests import torch_here
from tests.forking_process import Run
from tools.build_kernel_lists import list_in


def test_every_released_build_with_cuda_has_a_list_and_no_other_has() -> None:
    builds = open_index().builds()
    assert [build.key for build in builds if (kernel_list(build) is not None) != (build.cuda is not None)] == []
    named = {name for build in builds for name in kernel_list(build) or ()}
    assert [name for name in named if parse_architecture(name) is None] == []


@pytest.mark.parametrize(
    ("content", "listed"),
    [
        # As in 2.13.0 and 2.8.0; the second follows the end of a text whose beginning the compiler put into code.
        (b"x\0sm_75 sm_80 sm_86 sm_90 sm_100 sm_120\0", "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"),
        (b"std::string ipc_hsm_70 sm_75 compute_90\0x", "sm_70 sm_75 compute_90"),
        (b"sm_70 sm_75\0sm_70 sm_75\0", "sm_70 sm_75"),
        # Ambiguous texts and parts of sentences are not used.
        (b"sm_70 sm_75\0sm_80 sm_90\0", ""),
        (b"built for sm_70 sm_75, and others\0", ""),
    ],
)
def test_the_list_among_other_texts(content: bytes, listed: str) -> None:
    assert " ".join(list_in(content)) == listed


@pytest.mark.torch
def test_the_list_of_the_torch_that_is_here(run_with_torch: Run) -> None:
    """Oracle: `torch.cuda.get_arch_list()`, which returns it if there is a GPU."""
    ask = "import torch; print(getattr(torch._C, '_cuda_getArchFlags', lambda: '')() or '')"
    listed = tuple(run_with_torch(ask).stdout.split())
    assert list_in(torch_here.library("libtorch_python.so").read_bytes()) == listed
    version, variant = torch_here.version()
    for build in open_index().builds("x86_64"):
        if (build.torch, build.variant) == (version, variant):
            assert kernel_list(build) == listed
