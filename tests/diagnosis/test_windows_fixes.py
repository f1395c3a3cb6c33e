"""Fixes in the form of Windows' command line."""

from __future__ import annotations

import pytest

from abiscan.diagnosis.windows_commands import for_windows
from abiscan.library.api import explain


@pytest.mark.parametrize(
    ("fix", "shown"),
    [
        ("pip install torch  # for CUDA 12", "pip install torch\n(for CUDA 12)"),
        ("or: pip install torch  # a", "or: pip install torch\n(a)"),
        ("python -c 'import torch; print(1)'", 'python -c "import torch; print(1)"'),
        ("python -c 'print(\"x\")'", "python -c 'print(\"x\")'"),  # no shell of Windows reads both quotes
        ("Install it  # not a command", "Install it  # not a command"),
        ("dumpbin /dependents FILE.pyd  # what it needs", "dumpbin /dependents FILE.pyd\n(what it needs)"),
        (
            'export TORCH_CUDA_ARCH_LIST="8.0;8.6+PTX"; pip install .',
            'set "TORCH_CUDA_ARCH_LIST=8.0;8.6+PTX" && pip install .',
        ),
        ("export FORCE_CUDA=1  # in a build", 'set "FORCE_CUDA=1"\n(in a build)'),
        ("export PATH=$CUDA_HOME/bin:$PATH", "export PATH=$CUDA_HOME/bin:$PATH"),
        (
            "export CUDA_HOME=/usr/local/cuda-12.8; export PATH=$CUDA_HOME/bin:$PATH",
            'set "CUDA_HOME=%ProgramFiles%\\NVIDIA GPU Computing Toolkit\\CUDA\\v12.8" && '
            'set "CUDA_PATH=%ProgramFiles%\\NVIDIA GPU Computing Toolkit\\CUDA\\v12.8"',
        ),
        (
            "grep -rnE 'gencode|arch=' --include=setup.py --include='*.cmake' .  # the list",
            'findstr /s /n "gencode arch=" setup.py CMakeLists.txt *.cmake\n(the list)',
        ),
        ("find . $(python -c 'import site; print(*site.getsitepackages())') -name '_ext*.so'", "dir /s /b _ext*.pyd"),
    ],
)
def test_cmd_has_no_comments_and_no_single_quotes(fix: str, shown: str) -> None:
    """https://learn.microsoft.com/windows-server/administration/windows-commands/cmd: only double quotes."""
    assert for_windows(fix) == shown


def test_a_fix_for_windows_has_no_comment_behind_a_command() -> None:
    text = (
        "ImportError: DLL load failed while importing onnxruntime_pybind11_state: The specified module could not be "
        "found.\nPyTorch version: 2.6.0+cu124\nOS: Microsoft Windows 11"
    )
    for cause in explain(text)[0].causes:
        assert not any(line.startswith("pip ") and "  # " in line for line in cause.fix.splitlines())
