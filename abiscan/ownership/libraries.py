"""Which libraries are torch's own, and which of them brings which others into a file's scope."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

# File names of torch's own libraries; what else begins with libtorch (libtorchaudio, libtorch_tensorrt) is others'.
_TORCH_LIBRARY = re.compile(
    r"lib(torch(_(cpu|cuda|hip|xpu|mps|python|global_deps|cuda_linalg|cuda_cpp|cuda_cu|nvshmem|mtia|xpu_ops\w*))?"
    r"|c10(_(cuda|hip|xpu))?|c10d\w*|shm|caffe2(_(gpu|nvrtc|observers|detectron_ops\w*|module\w*))?)\.so(\.[0-9.]+)?$"
)
# Which of torch's libraries brings which others into scope (their own DT_NEEDED, the same in every release; a library
# that a build does not have is left out).
_BRINGS: dict[str, tuple[str, ...]] = {
    "libtorch_python": ("libtorch", "libshm"),
    "libtorch": ("libtorch_cpu", "libtorch_cuda", "libtorch_hip", "libtorch_xpu", "libc10"),
    "libshm": ("libtorch_cpu", "libc10"),
    "libtorch_cuda": ("libtorch_cpu", "libc10_cuda", "libc10"),
    "libtorch_cuda_linalg": ("libtorch_cuda", "libtorch_cpu", "libc10_cuda", "libc10"),
    "libtorch_hip": ("libtorch_cpu", "libc10_hip", "libc10"),
    "libtorch_xpu": ("libtorch_cpu", "libc10_xpu", "libc10"),
    "libtorch_cpu": ("libc10",),
    "libtorch_global_deps": (),
    "libc10": (),
    "libc10_cuda": ("libc10",),
    "libc10_hip": ("libc10",),
    "libc10_xpu": ("libc10",),
}
# Those of the smaller ones (libtorchbind_test, libaoti_custom_ops).
_USUAL = ("libtorch", "libtorch_cpu", "libc10")


def is_torch_library(name: str) -> bool:
    """Whether a needed library is one of torch's own, of any variant."""
    return _TORCH_LIBRARY.match(name.rpartition("/")[2]) is not None


def in_scope(needed: Iterable[str], libraries: Collection[str]) -> frozenset[str]:
    """Which of a build's `libraries` (sonames) come into the scope of a file that needs `needed`."""
    reached: set[str] = set()
    waiting = [name for name in needed if name in libraries]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        brought = _BRINGS.get(name.partition(".so")[0], _USUAL)
        waiting += [f"{other}.so" for other in brought if f"{other}.so" in libraries]
    return frozenset(reached)
