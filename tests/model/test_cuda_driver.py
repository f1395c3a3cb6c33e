"""PTX and CUDA versions that NVIDIA drivers support: rows of PTX ISA, "PTX Release History", and of CUDA's release
notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.environment.driver_here import driver_here
from abiscan.model.cuda_driver import branch_for_ptx, branch_for_runtime, compiles, driver_branch, toolkit_of_ptx


@pytest.mark.parametrize(
    ("ptx", "toolkit", "branch"),
    [
        *(("6.4", "10.1", 418), ("7.0", "11.0", 445), ("7.8", "11.8", 520), ("8.2", "12.2", 535), ("8.4", "12.4", 550)),
        # 12.6 (driver r560) has the PTX of 12.5; 8.6 belongs to 12.7, which was a driver only (r565).
        *(("8.5", "12.5 or 12.6", 555), ("8.6", "12.7", 565), ("9.0", "13.0", 580), ("9.4", "13.4", 615)),
        ("99.0", None, None),
    ],
)
def test_the_table_of_ptx(ptx: str, toolkit: str | None, branch: int | None) -> None:
    assert (toolkit_of_ptx(ptx), branch_for_ptx(ptx)) == (toolkit, branch)
    if branch is not None:
        assert (compiles(ptx, branch - 1), compiles(ptx, branch)) == (False, True)


@pytest.mark.parametrize(
    ("ptx", "driver", "answer"),
    [
        # Newer than the table, with a driver in it, and with a newer one.
        *(("99.0", 615, False), ("99.0", 616, None), ("9.4", 999, True)),
        # Older than the table.
        *(("4.1", 384, True), ("4.1", 340, None), ("6.0", 340, False)),
        # A version that does not exist, between two others.
        ("8.9", 575, False),
    ],
)
def test_at_the_ends_of_the_table(ptx: str, driver: int, answer: bool | None) -> None:
    assert compiles(ptx, driver) is answer


@pytest.mark.parametrize(("cuda", "branch"), [("11.2", 450), ("12", 525), ("13.0", 580), ("10.2", None), ("14", None)])
def test_the_oldest_driver_of_a_runtime(cuda: str, branch: int | None) -> None:
    assert branch_for_runtime(cuda) == branch


@pytest.mark.parametrize(
    ("text", "branch"),
    [
        *(("535", 535), ("535.104", 535), ("580.65.06", 580)),
        *(
            (text, None)
            for text in ("", "1", "12.4", "5351", "535.", "535.1.2.3", "r535", "535.x", "\u0665\u0663\u0665")
        ),
    ],
)
def test_versions_of_drivers(text: str, branch: int | None) -> None:
    assert driver_branch(text) == branch


# In the form of the two kinds of kernel modules.
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version:  13\n"
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (root@host)\n"


@pytest.mark.parametrize(
    ("text", "version"), [(CLOSED, "535.104.05"), (OPEN, "580.65.06"), ("GCC version: 13.2.0\n", None)]
)
def test_the_driver_of_the_kernel(text: str, version: str | None, tmp_path: Path) -> None:
    module = tmp_path / "version"
    module.write_text(text)
    assert driver_here(None, str(module)) == (None if version is None else (version, str(module)))


def test_the_library_comes_before_the_kernel(tmp_path: Path) -> None:
    """It compiles PTX; a forward compatibility package ships a newer one than the kernel's."""
    module, library = tmp_path / "version", tmp_path / "libcuda.so.1"
    module.write_text(CLOSED)
    (tmp_path / "libcuda.so.570.26").touch()
    library.symlink_to("libcuda.so.570.26")
    assert driver_here(str(library), str(module)) == ("570.26", str(library))
    library.unlink()
    library.symlink_to("libcuda.so.1.1")  # the Windows one in WSL, which has no version
    (tmp_path / "libcuda.so.1.1").touch()
    assert driver_here(str(library), str(module)) == ("535.104.05", str(module))
    assert driver_here(None, str(tmp_path / "nothing")) is None
