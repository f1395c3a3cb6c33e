"""The torch of a command: for a driver, a toolkit, a Jetson. Oracle: the wheels of each release
(https://pytorch.org/get-started/previous-versions), NVIDIA's rule that the driver's CUDA is the newest that it
supports, and that torch.utils.cpp_extension refuses another major release only."""

from __future__ import annotations

import pytest

from abiscan.library.api import explain

DRIVER = "RuntimeError: The NVIDIA driver on your system is too old (found version {})."
TOOLKIT = (
    "RuntimeError: The detected CUDA version ({}) mismatches the version that was used to compile PyTorch ({}). Please "
    "make sure to use the same CUDA versions."
)


def fix_of(text: str) -> str:
    return explain(text)[0].causes[0].fix


@pytest.mark.parametrize(
    ("found", "variant"), [("10020", "cu102"), ("11040", "cu113"), ("11080", "cu118"), ("12020", "cu118")]
)
def test_a_torch_for_the_driver(found: str, variant: str) -> None:
    assert f"https://download.pytorch.org/whl/{variant}" in fix_of(DRIVER.format(found))


def test_no_torch_is_known_for_an_old_driver() -> None:
    assert "pip install" not in fix_of(DRIVER.format("6050"))


@pytest.mark.parametrize(("toolkit", "variant"), [("12.2", "cu121"), ("11.5", "cu113"), ("12.6", "cu126")])
def test_a_torch_of_the_cuda_major_release_of_the_toolkit(toolkit: str, variant: str) -> None:
    other = "11.7" if toolkit.startswith("12") else "12.1"
    assert f"https://download.pytorch.org/whl/{variant}" in fix_of(TOOLKIT.format(toolkit, other))


def test_a_jetson_has_its_own_packages() -> None:
    error = "OSError: libcurand.so.10: cannot open shared object file: No such file or directory"
    assert "sudo apt install nvidia-jetpack" in fix_of(f"Jetson Nano, JetPack 4.6\n{error}")
    assert "nvidia-jetpack" not in fix_of(error)


def test_a_module_of_a_checkout_is_built() -> None:
    fix = fix_of("ImportError: /h/p/p/a_cpu.cpython-38-x86_64-linux-gnu.so: invalid ELF header")
    assert "rm /h/p/p/a_cpu.cpython-38-x86_64-linux-gnu.so; pip install" in fix
    installed = fix_of(
        "ImportError: /v/lib/python3.8/site-packages/p/a_cpu.cpython-38-x86_64-linux-gnu.so: invalid ELF header"
    )
    assert installed.startswith("pip install --force-reinstall --no-cache-dir --no-deps p")


def test_a_message_that_a_terminal_broke() -> None:
    text = "OSError: /v/torch/lib/libgomp-d22c30c5.so.1: cannot\nallocate memory in static TLS block"
    assert "LD_PRELOAD=/v/torch/lib/libgomp-d22c30c5.so.1" in fix_of(text)
