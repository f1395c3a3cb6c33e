"""Environments on disk, compared with the interpreter itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from abiscan.environment.python import PythonEnvironment, read_environment, user_base
from abiscan.errors import UsageError
from abiscan.model.python_version import PythonVersion
from tests.programs import run_program

HERE = PythonVersion(sys.version_info.major, sys.version_info.minor, "t" in sys.abiflags)
ELF = Path(__file__).parents[1] / "fixtures" / "empty-library.so"


def _installation(root: Path, *pythons: str, executable: str = "python3") -> Path:
    """A tree like CPython's `make install`, with an ELF file as its interpreter."""
    for python in pythons:
        (root / "lib" / python / "site-packages").mkdir(parents=True)
        (root / "lib" / python / "lib-dynload").mkdir()
    (root / "bin").mkdir()
    (root / "bin" / executable).write_bytes(ELF.read_bytes())
    return root / "bin" / executable


def _virtual(root: Path, home: Path, python: str, version: str) -> Path:
    """Like `python -m venv`: a link to the interpreter, and pyvenv.cfg with a bare version."""
    (root / "bin").mkdir(parents=True)
    (root / "lib" / python / "site-packages").mkdir(parents=True)
    (root / "pyvenv.cfg").write_text(f"home = {home.parent}\nversion = {version}\n")
    (root / "bin" / "python").symlink_to(home)
    return root / "bin" / "python"


def _search_path(python: Path, root: Path) -> list[str]:
    """The interpreter's own search path below a directory (sys.path after `site`)."""
    done = subprocess.run(
        [python, "-c", "import json, sys; print(json.dumps(sys.path))"],
        capture_output=True,
        check=True,
        env={"PYTHONNOUSERSITE": "1"},
        cwd="/",
    )
    return [path for path in json.loads(done.stdout) if path.startswith(str(root))]


@pytest.fixture
def virtual_environment(tmp_path: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    return tmp_path / "venv"


def test_pth_files_extend_the_search_path_as_the_interpreter_does_it(virtual_environment: Path, tmp_path: Path) -> None:
    site = Path(read_environment(str(virtual_environment)).site_packages[0])
    for name in ("first", "second", "third", " spaced", "never"):
        (tmp_path / name).mkdir()
    (site / "inside").mkdir()
    ran = tmp_path / "ran"
    lines = [
        "# a comment",
        "",
        f"{tmp_path}/second   ",
        f"import pathlib; pathlib.Path({str(ran)!r}).touch()",
        "inside",
        "../../../../first/../first",
        f"{tmp_path}/absent",
        f" {tmp_path}/never",
        f"{tmp_path}/second",
    ]
    (site / "b.pth").write_text("\n".join(lines))
    (site / "a.pth").write_text(f"{tmp_path}/third\n")
    (site / "c.pth.off").write_text(f"{tmp_path}/never\n")
    (tmp_path / "third" / "nested.pth").write_text(f"{tmp_path}/never\n")

    found = read_environment(str(virtual_environment)).site_packages

    assert not ran.exists()
    assert [*found] == _search_path(virtual_environment / "bin" / "python", tmp_path)
    assert ran.exists(), "the interpreter runs the line: what abiscan left undone was there to be done"
    assert len(found) == 5


def test_where_the_standard_library_is_in_lib64_packages_are_in_both(tmp_path: Path) -> None:
    """Fedora's `sys.platlibdir` (site.getsitepackages: that first, then lib)."""
    python = _installation(tmp_path, "python3.12", executable="python3.12")
    (tmp_path / "lib").rename(tmp_path / "lib64")
    (tmp_path / "lib" / "python3.12" / "site-packages").mkdir(parents=True)
    environment = read_environment(str(python))
    assert environment.stdlib == f"{tmp_path}/lib64/python3.12"
    assert [Path(site).parts[-3] for site in environment.site_packages] == ["lib64", "lib"]


def test_where_it_is_in_lib_a_lib64_does_not_count(virtual_environment: Path) -> None:
    before = read_environment(str(virtual_environment)).site_packages
    (virtual_environment / "lib64").unlink(missing_ok=True)
    (virtual_environment / "lib64" / f"python{HERE}" / "site-packages").mkdir(parents=True)
    searched = _search_path(virtual_environment / "bin" / "python", virtual_environment)
    assert [*read_environment(str(virtual_environment)).site_packages] == searched == [*before]


def test_a_torch_that_comes_by_a_pth_file_is_found(virtual_environment: Path, tmp_path: Path) -> None:
    from abiscan.environment.installed_torch import find_torches

    (tmp_path / "shared" / "torch").mkdir(parents=True)
    (tmp_path / "shared" / "torch" / "__init__.py").touch()
    environment = read_environment(str(virtual_environment))
    assert find_torches(environment) == ()
    (Path(environment.site_packages[0]) / "shared.pth").write_text(f"{tmp_path}/shared\n")
    assert find_torches(read_environment(str(virtual_environment))) == (f"{tmp_path}/shared/torch",)


def test_directories_of_pythonpath_have_no_pth_files(virtual_environment: Path, tmp_path: Path) -> None:
    """See `site`: .pth files are read in site directories only."""
    (tmp_path / "named").mkdir()
    (tmp_path / "named" / "x.pth").write_text(f"{tmp_path}\n")
    found = read_environment(str(virtual_environment), python_path=f"{tmp_path}/named").site_packages
    assert found[0] == f"{tmp_path}/named"
    assert str(tmp_path) not in found


def test_a_hostile_pth_file_adds_nothing(virtual_environment: Path) -> None:
    before = read_environment(str(virtual_environment)).site_packages
    site = Path(before[0])
    (site / "bytes.pth").write_bytes(bytes(range(256)) + b"\n/\0/etc\n" + b"x" * 100_000)
    (site / "many.pth").write_text("/etc/absent\n" * 100_000)
    (site / "directory.pth").mkdir()
    (site / "loop.pth").symlink_to("loop.pth")
    os.mkfifo(site / "pipe.pth")
    assert read_environment(str(virtual_environment)).site_packages == before


def test_the_running_interpreter() -> None:
    environment = read_environment(sys.executable)
    assert environment.version == HERE
    assert environment.stdlib is not None
    assert Path(environment.stdlib).name == f"python{HERE}"
    endings = [ending for ending in EXTENSION_SUFFIXES if ending != ".so"]
    assert all(any(ending.startswith(f".{tag}") for ending in endings) for tag in environment.module_tags)
    assert len(environment.module_tags) == len(endings)


# File names of a free-threaded CPython (PEP 703; lib/sysconfig, `abi_thread`; docs.python.org/3.13/library/site).
@pytest.mark.parametrize("executable", ["python3.13t", "python3"])
def test_a_free_threaded_installation(tmp_path: Path, executable: str) -> None:
    python = _installation(tmp_path, "python3.13t", executable=executable)
    environment = read_environment(str(python))
    assert environment.version == PythonVersion(3, 13, free_threaded=True)
    assert environment.site_packages == (f"{tmp_path}/lib/python3.13t/site-packages",)
    assert environment.stdlib == f"{tmp_path}/lib/python3.13t"
    assert environment.module_tags == ("cpython-313t",)
    assert environment.label == f"Python 3.13t at {tmp_path}"


@pytest.mark.parametrize(("executable", "threaded"), [("python3.13t", True), ("python3.13", False)])
def test_both_builds_in_one_installation(tmp_path: Path, executable: str, threaded: bool) -> None:
    python = _installation(tmp_path, "python3.13", "python3.13t", executable=executable)
    assert read_environment(str(python)).version == PythonVersion(3, 13, threaded)


@pytest.mark.parametrize(("library", "threaded"), [("python3.14t", True), ("python3.14", False)])
@pytest.mark.parametrize("named", [True, False])
def test_a_virtual_environment_of_either_build(tmp_path: Path, library: str, threaded: bool, named: bool) -> None:
    home = _installation(tmp_path / "base", library, executable=library if named else "python")
    environment = read_environment(str(_virtual(tmp_path / "venv", home, library, "3.14.0")))
    assert environment.version == PythonVersion(3, 14, threaded)
    assert environment.site_packages == (f"{tmp_path}/venv/lib/{library}/site-packages",)
    assert environment.stdlib == f"{tmp_path}/base/lib/{library}"


@pytest.mark.parametrize(
    "variables",
    [{}, {"PYTHONUSERBASE": "/x"}, {"PYTHONUSERBASE": ""}, {"PYTHONUSERBASE": "/x", "PYTHONNOUSERSITE": "1"}],
)
def test_the_user_base_is_that_of_site(variables: dict[str, str], tmp_path: Path) -> None:
    code = "import site; print(site.USER_BASE if site.ENABLE_USER_SITE else None)"
    done = run_program([Path(sys.executable).resolve(), "-c", code], env={"HOME": str(tmp_path), **variables})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path))
        assert str(user_base(variables)) == done.stdout.strip(), done.stderr


def test_user_packages_of_a_free_threaded_build(tmp_path: Path) -> None:
    python = _installation(tmp_path / "base", "python3.13t", executable="python3.13t")
    user = tmp_path / "user" / "lib" / "python3.13t" / "site-packages"
    user.mkdir(parents=True)
    environment = read_environment(str(python), user_base=str(tmp_path / "user"))
    assert environment.site_packages == (str(user), f"{tmp_path}/base/lib/python3.13t/site-packages")


@pytest.mark.parametrize("name", ["python3.x", "python", "python99999999999.1", "pythonx.y", "python3.13td", "cat"])
def test_a_name_that_tells_no_version(tmp_path: Path, name: str) -> None:
    assert read_environment(str(_installation(tmp_path, executable=name))).version is None


def test_invalid_interpreters(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(UsageError, match=str(path)):
            read_environment(str(path))


def test_the_tag_of_old_interpreters_has_a_flag() -> None:
    """PEP 3149: `cpython-37m`, until 3.8 dropped the flag."""
    old = PythonEnvironment(None, None, PythonVersion(3, 7), "/x", (), None)
    assert old.module_tags == ("cpython-37m", "abi3")
