"""The order in which `import torch` opens libraries: packages made of fixtures, imported and modelled. Oracle:
`dl_iterate_phdr` in the process that imported them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from abiscan.environment.installed_torch import find_torches, read_torch
from abiscan.environment.python import read_environment
from abiscan.loader.process import Process, build_process
from abiscan.loader.search import LoaderSettings
from tests.environment.test_torch_init import AFTER_FAILURE, IN_ANY_CASE
from tests.loader.loaded import loaded_objects

LOADER = Path(__file__).parents[1] / "fixtures" / "loader"
# An object that needs libdep.so without a path to it, and that library.
NEEDS_DEP = LOADER / "library-path-origin" / "target.so"
DEP = LOADER / "library-path-origin" / "libdep.so"
# Without a soname, so that its copies are different libraries.
ALONE = LOADER.parent / "empty-library.so"
IMPORTS = "import ctypes, glob, os, platform, sys\n"
RUN = '\n_load_global_deps()\nctypes.CDLL(os.path.join(os.path.dirname(__file__), "_C.so"))\n'
CURRENT = IN_ANY_CASE.replace('"/torch"', 'os.path.dirname(__file__), "lib"').replace("libcudart.so", "runtime.so")


class Environment:
    """A virtual environment with a torch that has three libraries.

    Args:
        source: of its `__init__.py`.
    """

    def __init__(self, root: Path, source: str) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", root], check=True)
        self.python = root / "bin" / "python"
        self.site = Path(read_environment(str(root)).site_packages[0])
        self.root = root
        self.install(ALONE, "torch/lib/libtorch_global_deps.so")
        for name in ("torch/lib/libc10.so", "torch/lib/libtorch_cpu.so", "torch/_C.so"):
            self.install(ALONE, name)
        (self.site / "torch" / "__init__.py").write_text(IMPORTS + source + RUN)
        (self.site / "torch" / "version.py").write_text("__version__ = '2.99.0+cu130'\ncuda = '13.0'\n")

    def install(self, library: Path, name: str) -> None:
        path = self.site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, path)

    def modelled(self) -> Process:
        environment = read_environment(str(self.root))
        torch = read_torch(find_torches(environment)[0], environment)
        builder = build_process(LoaderSettings("/"), environment, torch)
        assert builder is not None
        return builder.build(modules=True)

    def names(self, process: Process) -> list[str]:
        return self._own([item.name for item in process.namespace])

    def real(self) -> list[str]:
        return self._own(loaded_objects(self.python, "torch"))

    def _own(self, names: list[str]) -> list[str]:
        return [name for name in names if name.startswith(str(self.site))]


@pytest.fixture
def current(tmp_path: Path) -> Environment:
    """Like releases since 2.10: everything is opened where the runtime is mapped."""
    environment = Environment(tmp_path / "venv", CURRENT.replace("REQUIRED", "False"))
    environment.install(ALONE, "nvidia/nccl/lib/libnccl.so.2")
    environment.install(ALONE, "nvidia/cu13/lib/libcufft.so.12")
    environment.install(ALONE, "nvtx/lib/libnvToolsExt.so.1")
    return environment


def test_where_the_runtime_is_not_mapped_nothing_more_is_opened(current: Environment) -> None:
    names = current.names(current.modelled())
    assert names == current.real()
    assert len(names) == 2


def test_where_the_runtime_is_mapped_all_is_opened_from_every_place(current: Environment) -> None:
    # /proc/self/maps has the target of the link.
    library = current.site / "torch" / "lib" / "libtorch_global_deps.so"
    library.unlink()
    current.install(ALONE, "torch/lib/runtime.so.1")
    library.symlink_to("runtime.so.1")
    names = current.names(current.modelled())
    assert names == current.real()
    assert len(names) == 5


def test_a_library_that_is_absent_ends_the_sequence_where_it_is_required(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv", CURRENT.replace("REQUIRED", "True").replace("runtime.so", "lib"))
    environment.install(ALONE, "nvidia/nccl/lib/libnccl.so.2")
    environment.install(ALONE, "nvtx/lib/libnvToolsExt.so.1")
    names = environment.names(environment.modelled())
    assert names == environment.real()
    assert len(names) == 3


def test_a_library_that_cannot_be_opened_ends_the_sequence(current: Environment) -> None:
    source = current.site / "torch" / "__init__.py"
    source.write_text(source.read_text().replace("runtime.so", "lib"))
    (current.site / "nvidia" / "cu13" / "lib" / "libcufft.so.12").write_bytes(b"no library")
    names = current.names(current.modelled())
    assert names == current.real()
    assert len(names) == 3


def test_after_a_failure_the_libraries_come_first(tmp_path: Path) -> None:
    environment = Environment(
        tmp_path / "venv",
        AFTER_FAILURE.replace("libcublas.so.*[0-9]", "libdep.so*").replace(', "nvtx": "libnvToolsExt.so.*[0-9]"', ""),
    )
    environment.install(NEEDS_DEP, "torch/lib/libtorch_global_deps.so")
    environment.install(DEP, "nvidia/cublas/lib/libdep.so")
    environment.install(ALONE, "nvidia/cufile/lib/libcufile.so.0")
    names = environment.names(environment.modelled())
    assert names == environment.real()
    assert [Path(name).name for name in names] == [*("libdep.so", "libcufile.so.0", "libtorch_global_deps.so", "_C.so")]


@pytest.mark.parametrize("installed", [True, False], ids=["not named", "not installed"])
def test_after_a_failure_that_it_has_no_answer_to_the_import_fails(tmp_path: Path, installed: bool) -> None:
    source = AFTER_FAILURE if installed else AFTER_FAILURE.replace("libcublas.so.*[0-9]", "libdep.so*")
    environment = Environment(tmp_path / "venv", source)
    environment.install(NEEDS_DEP, "torch/lib/libtorch_global_deps.so")
    with pytest.raises(subprocess.CalledProcessError):
        environment.real()
    failure = environment.modelled().torch_failure
    assert failure is not None
    assert failure.startswith("`import torch` itself fails: ")
    assert ("libdep.so: cannot open shared object file" in failure) is installed
    assert ("nvidia/cublas/lib/libdep.so*: it is not installed" in failure) is not installed


def test_a_source_that_cannot_be_read_counts_as_its_release(current: Environment) -> None:
    """2.99 is like the newest known release: nccl and cufft are opened once libcudart.so is mapped, and it is not."""
    source = current.site / "torch" / "__init__.py"
    source.write_text(IMPORTS + "def _load_global_deps(:\n")
    assert len(current.names(current.modelled())) == 2
    current.install(ALONE, "torch/lib/libcudart.so.13")
    library = current.site / "torch" / "lib" / "libtorch_global_deps.so"
    library.unlink()
    library.symlink_to("libcudart.so.13")
    names = [Path(name).name for name in current.names(current.modelled())]
    assert names == ["libtorch_global_deps.so", "libcufft.so.12", "libnccl.so.2", "libnvToolsExt.so.1", "_C.so"]


def test_a_build_for_the_wheels_of_rocm_is_not_followed(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv", AFTER_FAILURE)
    environment.install(NEEDS_DEP, "torch/_C.so")
    (environment.site / "torch" / "_rocm_init.py").touch()
    failure = environment.modelled().torch_failure
    assert failure is not None
    assert failure.startswith("`import torch` loads ROCm in _rocm_init.py")
