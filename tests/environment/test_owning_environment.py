"""The environment of a path, with layouts of venv, conda, Debian and `pip --target`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.environment.installed_torch import read_torch
from abiscan.environment.owning_environment import environments_of, owning_environment
from abiscan.environment.python import PythonEnvironment, read_environment
from abiscan.errors import UsageError
from abiscan.loader import LoaderSettings
from abiscan.model.python_version import PythonVersion
from abiscan.model.report import ArtifactReport, ArtifactVerdict
from abiscan.model.target import TargetSource
from tests import torch_here
from tests.fixtures.wheels import record_package

HERE = f"python{sys.version_info.major}.{sys.version_info.minor}"
FIXTURES = Path(__file__).parents[1] / "fixtures"


def virtual(root: Path, library: str = HERE) -> Path:
    """Make a virtual environment like `python -m venv --without-pip`. Return its site-packages."""
    site = root / "lib" / library / "site-packages"
    site.mkdir(parents=True)
    (root / "bin").mkdir()
    (root / "bin" / "python3").symlink_to(os.path.realpath(sys.executable))
    (root / "pyvenv.cfg").write_text(f"home = {os.path.dirname(os.path.realpath(sys.executable))}\n")
    return site


def empty(tmp_path: Path) -> PythonEnvironment:
    """An active environment without packages."""
    return read_environment(str(virtual(tmp_path / "active").parents[2]))


def touch(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return str(path)


def test_a_file_in_the_site_packages_of_a_virtual_environment(tmp_path: Path) -> None:
    site = virtual(tmp_path / "other")
    found = owning_environment(touch(site / "pkg" / "_C.so"), empty(tmp_path))
    assert found is not None
    assert found.launcher == str(tmp_path / "other" / "bin" / "python3")
    assert found.site_packages[0] == str(site)


def test_files_of_the_active_environment_belong_to_it(tmp_path: Path) -> None:
    active = empty(tmp_path)
    assert owning_environment(touch(Path(active.site_packages[0]) / "pkg" / "_C.so"), active) is active


@pytest.mark.parametrize("named", [".", "lib", "lib/libx.so"])
def test_a_named_environment_and_its_files(named: str, tmp_path: Path) -> None:
    virtual(tmp_path / "other")
    touch(tmp_path / "other" / "lib" / "libx.so")
    found = owning_environment(os.path.normpath(tmp_path / "other" / named), empty(tmp_path))
    assert found is not None
    assert found.prefix == str(tmp_path / "other")


def test_a_conda_prefix(tmp_path: Path) -> None:
    site = virtual(tmp_path / "conda")
    (tmp_path / "conda" / "pyvenv.cfg").unlink()
    (tmp_path / "conda" / "conda-meta").mkdir()
    assert owning_environment(touch(tmp_path / "conda" / "lib" / "libx.so"), None) is not None
    found = owning_environment(touch(site / "pkg" / "_C.so"), None)
    assert found is not None


@pytest.mark.parametrize("named", [".", "lib", "lib/python3.9/site-packages", "lib/python3.9/site-packages/torch"])
def test_a_torch_with_its_libraries_in_its_prefix(named: str, tmp_path: Path) -> None:
    """The layout of libtorch and pytorch of conda-forge. A virtual environment made from it, or PYTHONPATH, leads to
    the package alone (`python -m venv --system-site-packages`; torch imports there)."""
    package = tmp_path / "lib" / "python3.9" / "site-packages" / "torch"
    touch(package / "lib" / "libtorch_global_deps.so")
    (package / "version.py").write_text("__version__ = '2.8.0'\n")
    libraries = [tmp_path / "lib" / name for name in ("libc10.so", "libtorch_cpu.so")]
    for library in libraries:
        shutil.copy(FIXTURES / "good-extension.so", library)
    found = read_torch(os.path.normpath(tmp_path / named), empty(tmp_path / "other"))
    assert (found.version, found.library_dir) == ("2.8.0", str(tmp_path / "lib"))
    assert found.libraries[:2] == tuple(map(str, libraries))
    # With libraries in the package, those of the prefix are another torch, made by `cmake --install`.
    shutil.copy(libraries[0], package / "lib" / "libtorch_cpu.so")
    of_prefix = named in (".", "lib")
    assert (
        read_torch(os.path.normpath(tmp_path / named), empty(tmp_path / "third")).root == str(tmp_path)
    ) is of_prefix


def test_a_site_packages_without_an_interpreter_has_the_version_of_its_path(tmp_path: Path) -> None:
    site = tmp_path / "copied" / "lib" / "python3.9" / "site-packages"
    found = owning_environment(touch(site / "pkg" / "_C.so"), empty(tmp_path))
    assert found is not None
    assert (found.executable, found.version, found.site_packages) == (None, PythonVersion(3, 9), (str(site),))


def test_user_packages_are_of_the_installation_behind_a_virtual_environment(tmp_path: Path) -> None:
    """The oracle is `site`: a virtual environment leaves user packages out, its interpreter finds them."""
    active = empty(tmp_path)
    base = tmp_path / "home" / ".local"
    file = touch(base / "lib" / HERE / "site-packages" / "pkg" / "_C.so")
    assert active.executable is not None
    shown = subprocess.run(
        [active.executable, "-c", "import site; print(*site.getsitepackages(), sep='\\n')"],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONUSERBASE": str(base)},
    )
    for path in (file, str(base)):
        (found,) = environments_of(path, active)
        assert found.launcher == active.executable
        assert found.site_packages[0] == str(base / "lib" / HERE / "site-packages")
        assert set(shown.stdout.split()) & set(found.site_packages)
        assert not set(active.site_packages) & set(found.site_packages)


def test_a_target_directory_is_searched_first_by_the_active_interpreter(tmp_path: Path) -> None:
    """`pip install --target D` and PYTHONPATH=D."""
    active = empty(tmp_path)
    touch(tmp_path / "D" / "torch" / "version.py")
    (tmp_path / "D" / "torch" / "lib").mkdir()
    found = owning_environment(touch(tmp_path / "D" / "pkg" / "_C.so"), active)
    assert found is not None
    assert found.site_packages == (str(tmp_path / "D"), *active.site_packages)
    assert found.executable == active.executable
    touch(tmp_path / "D" / "torch" / "_C.cpython-39-x86_64-linux-gnu.so")
    other = owning_environment(str(tmp_path / "D" / "pkg" / "_C.so"), active)
    assert other is not None
    assert (other.executable, other.version) == (None, PythonVersion(3, 9))


def test_a_torch_source_tree_is_not_an_environment(tmp_path: Path) -> None:
    touch(tmp_path / "src" / "torch" / "version.py")
    (tmp_path / "src" / "torch" / "lib").mkdir()
    active = empty(tmp_path)
    assert owning_environment(touch(tmp_path / "src" / "torch" / "lib" / "libc10.so"), active) is None
    assert owning_environment(touch(tmp_path / "build" / "_C.so"), active) is None


@pytest.mark.torch
def test_a_file_is_checked_against_the_torch_of_its_environment(tmp_path: Path) -> None:
    """The torch of the interpreter that runs the tests, linked into another environment: a run from an environment
    without torch finds it for each file."""
    import importlib.util

    spec = importlib.util.find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    site = virtual(tmp_path / "other")
    (site / "torch").symlink_to(Path(spec.origin).parent)
    (site / "pkg").mkdir()
    (site / "pkg" / "_C.so").write_bytes((FIXTURES / "good-extension.so").read_bytes())
    record_package(site, "pkg", "pkg/_C.so", requires=("torch==2.6.0",))
    loose = tmp_path / "loose.so"
    loose.write_bytes((FIXTURES / "good-extension.so").read_bytes())

    def run(*targets: str, torch: str | None = None) -> dict[str, ArtifactReport]:
        options = ScanOptions(torch, empty_once, LoaderSettings(str(tmp_path)))
        return {each.path: each for each in scan(targets, options).artifacts}

    empty_once = empty(tmp_path)
    inside = str((site / "pkg" / "_C.so").relative_to(tmp_path))
    for targets in ((inside, "loose.so"), ("other", "loose.so"), (str((site / "pkg").relative_to(tmp_path)),)):
        found = run(*targets)
        setting = found[inside].target
        assert setting is not None
        assert setting.torch is not None
        assert setting.torch.source is TargetSource.ENVIRONMENT
        assert str(tmp_path / "other") in setting.torch.detected_from
        if "loose.so" in found:
            loose_setting = found["loose.so"].target
            assert loose_setting is not None
            assert loose_setting.torch is not None
            assert loose_setting.torch.source is TargetSource.NEWEST_KNOWN
    declared = run(inside, torch="declared")[inside].target
    assert declared is not None
    assert declared.torch is not None
    assert declared.torch.detected_from == "Requires-Dist: torch==2.6.0"


@pytest.mark.parametrize("named", ["", "/lib/{HERE}/site-packages/p/x.so", "/bin/python3"])
def test_no_script_in_an_input_is_run(named: str, tmp_path: Path) -> None:
    """The interpreter of the environment is a script that writes a file; the test also asserts that it does."""
    root = tmp_path / "venv"
    file = virtual(root) / "p" / "x.so"
    touch(file)
    file.write_bytes((FIXTURES / "good-extension.so").read_bytes())
    for name in ("python3", "python", HERE):
        script = root / "bin" / name
        script.unlink(missing_ok=True)
        script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\necho {sys.executable}\n")
        script.chmod(0o755)
    options = ScanOptions(torch=None, environment=empty(tmp_path), settings=LoaderSettings(cwd=str(tmp_path)))
    scan([f"{root}{named.format(HERE=HERE)}"], options)
    with pytest.raises(UsageError, match="only one that --python names itself is run"):
        read_environment(str(root / "bin" / "python3"))
    assert not (tmp_path / "ran").exists()
    assert read_environment(str(root / "bin" / "python3"), may_run=True).executable == os.path.realpath(sys.executable)
    assert (tmp_path / "ran").exists()


def test_a_named_target_directory_is_its_environment_by_the_record_of_torch(tmp_path: Path) -> None:
    """`abiscan D` after `pip install --target D torch`; a source tree of torch has no RECORD."""
    touch(tmp_path / "D" / "torch" / "version.py")
    (tmp_path / "D" / "torch" / "lib").mkdir()
    active = empty(tmp_path)
    assert environments_of(str(tmp_path / "D"), active) == ()
    (tmp_path / "D" / "torch-2.8.0.dist-info").mkdir()
    (found,) = environments_of(str(tmp_path / "D"), active)
    assert found.site_packages[0] == str(tmp_path / "D")


def test_of_a_prefix_the_environments_of_all_its_pythons(tmp_path: Path) -> None:
    """`~/.local`, `pip install --prefix`, /usr/local: `sysconfig` has a site-packages for each version there."""
    # Neither version runs these tests: the active environment is the active one.
    for version in ("3.9", "3.10"):
        (tmp_path / "prefix" / "lib" / f"python{version}" / "site-packages").mkdir(parents=True)
    (tmp_path / "prefix" / "lib64").symlink_to("lib")
    found = environments_of(str(tmp_path / "prefix"), empty(tmp_path))
    assert [(each.version, each.prefix) for each in found] == [
        (version, str(tmp_path / "prefix" / "lib" / f"python{version}" / "site-packages"))
        for version in (PythonVersion(3, 10), PythonVersion(3, 9))
    ]


def test_a_virtual_environment_is_of_one_python(tmp_path: Path) -> None:
    """After an upgrade, the folder of the former Python stays; nothing is imported from it."""
    site = virtual(tmp_path / "other")
    (site.parents[1] / "python3.6" / "site-packages").mkdir(parents=True)
    (found,) = environments_of(str(tmp_path / "other"), empty(tmp_path))
    assert found.site_packages[0] == str(site)


@pytest.mark.torch
def test_an_installed_torch_without_an_interpreter_has_its_libraries(tmp_path: Path) -> None:
    """A user site without an interpreter here: the verdict is that of the environment with one."""
    other = "python3.11" if HERE != "python3.11" else "python3.12"
    site = tmp_path / "home" / "lib" / other / "site-packages"
    (site / "pkg").mkdir(parents=True)
    (site / "torch").symlink_to(torch_here.directory())
    (site / "pkg" / "_C.so").write_bytes((FIXTURES / "good-extension.so").read_bytes())
    options = ScanOptions(None, empty(tmp_path), LoaderSettings(str(tmp_path)))
    (artifact,) = scan([f"home/lib/{other}/site-packages/pkg/_C.so"], options).artifacts
    assert artifact.verdict is ArtifactVerdict.LOADS
    assert [finding.rule for finding in artifact.findings if finding.rule == "missing-library"] == []
    assert artifact.loader.outcome is None


def test_links_to_libraries_that_are_not_installed(tmp_path: Path) -> None:
    """Debian's python3-torch 1.13 has links to libraries of Caffe2, which are in no package that it depends on."""
    lib = tmp_path / "torch" / "lib"
    lib.mkdir(parents=True)
    shutil.copy(FIXTURES / "empty-library.so", lib / "libc10.so")
    (lib / "libcaffe2_observers.so").symlink_to("../../../libcaffe2_observers.so.1.13")
    assert [os.path.basename(path) for path in read_torch(str(lib.parent)).libraries] == ["libc10.so"]
