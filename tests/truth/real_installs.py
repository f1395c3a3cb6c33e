"""Wheels as a user installs them, compared with abiscan's result for their path alone.

    python -m tests.truth.real_installs --torches DIR WHEEL...

For each wheel, abiscan checks it in an environment without torch. Then pip installs it, without dependencies, in a
directory of its own. The torch that pip would choose for its requirements (the newest allowed release) is imported,
then the packages of the wheel, and then every shared object of the wheel is opened as CPython opens an extension. This
runs the contents of the wheels: only for trusted ones.

DIR/<version> is a virtual environment with that release of torch; the row states if there is none of the required
release. Other imports of the packages are installed as far as the wheel, or an installed dependency, requires them. If
the loader stops at a library that neither pip nor torch provides, the result is unknown: for the GPU driver, a
replacement is made (nm and gcc) and the file is opened again; for others (FFmpeg, SoX), the file is `absent` and
decides nothing. Libraries of the wheel itself are loaded first, as its package does.

This is not a test of the suite, since it takes gigabytes: CONTRIBUTING.md has the command.
"""

from __future__ import annotations

import argparse
import email.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from abiscan.model.imports import Owner
from abiscan.ownership.gpu_libraries import is_driver
from abiscan.ownership.names import owner_of_library
from abiscan.releases import open_index
from tests.corpus.fetch import installed_name, shared_objects
from tests.programs import run_program
from tests.truth.oracle import LOADER_VARIABLES, Answer, ask

_ABSENT_MODULE = re.compile(r"No module named '([^'.]+)")
# Import names whose distribution has another name.
_DISTRIBUTIONS = {"PIL": "pillow", "yaml": "pyyaml", "cv2": "opencv-python-headless", "sklearn": "scikit-learn"}
_ABSENT_LIBRARY = re.compile(r"([^/\s:]+): cannot open shared object file")
_DRIVER_NAME = re.compile(r" U ((?:cu[A-Z]|nvml[A-Z])\w*)$", re.MULTILINE)
_FETCHED_AT_MOST = 8
_GPU_WANTED = re.compile(r"NVIDIA driver|[Nn]o CUDA GPUs|CUDA error|libcuda\.so|libnvidia-ml\.so|0 active drivers")


@dataclass(frozen=True, slots=True)
class Row:
    """One wheel.

    Attributes:
        torch: its torch requirement; may be empty.
        environment: the release in whose environment it was installed; None if there is none.
        status: abiscan's exit status.
        chosen: installed path of each shared object -> the torch build that abiscan checked it against.
        imported: the exception of importing its packages; empty if there was none.
        opened: installed path of each shared object -> the loader's result.
        judged: installed path of each shared object -> abiscan's verdict.
    """

    wheel: str
    torch: str
    environment: str | None
    status: int
    chosen: dict[str, str] = field(default_factory=dict)
    imported: str = ""
    opened: dict[str, Answer] = field(default_factory=dict)
    judged: dict[str, str] = field(default_factory=dict)

    def differing(self) -> Iterator[str]:
        """Shared objects for which abiscan and the loader disagree."""
        for member, verdict in self.judged.items():
            answer = self.opened.get(member)
            if answer is None or answer.outcome == "absent" or verdict not in ("loads", "fails") or self._other(member):
                continue
            if (verdict == "loads") != (answer.outcome == "loads"):
                yield f"{member}: abiscan {verdict}; loader: {answer.text or answer.outcome}"

    def _other(self, member: str) -> bool:
        """Whether it is a build for another release than that of the environment."""
        return self.chosen.get(member, self.environment or "").partition("+")[0] != self.environment

    def works(self) -> bool | None:
        """Whether its packages can be imported and its files for this torch opened; None if the only problem is an
        import that needs a GPU or a package that was not installed."""
        for member, answer in self.opened.items():
            judged = self.judged.get(member) != "not-torch" and not self._other(member)
            if judged and answer.outcome not in ("loads", "absent"):
                return False
        if not self.imported:
            return True
        return None if _GPU_WANTED.search(self.imported) or _ABSENT_MODULE.search(self.imported) else False


def _metadata(wheel: Path) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", each))
        return archive.read(name)


def _requirements(metadata: bytes) -> list[Requirement]:
    """Requirements in a METADATA file for this platform, without extras and invalid ones."""
    found = []
    for line in email.parser.BytesParser().parsebytes(metadata, headersonly=True).get_all("Requires-Dist", []):
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        if requirement.marker is None or requirement.marker.evaluate({"extra": "", "python_version": "3.11"}):
            found.append(requirement)
    return found


def _newest(requirements: Sequence[Requirement]) -> str:
    """The newest known release of torch that all of them allow; "" if there is none."""
    known = {build.torch for build in open_index().builds("x86_64")}
    return max((v for v in known if all(each.specifier.contains(v) for each in requirements)), key=Version, default="")


def _pip(python: Path, target: Path, what: str) -> str:
    """Install into `target` without requirements. Return pip's last line if it fails."""
    command = [python, "-m", "pip", "install", "-q", "--no-deps", "--no-cache-dir", "--only-binary=:all:"]
    done = run_program([*command, "--target", target, what])
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["pip failed"])[-1]


def _import(python: Path, modules: Sequence[str], env: dict[str, str]) -> str:
    """Import the modules in one process. Return the last line of its traceback, or ""."""
    code = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    try:
        done = run_program([python, "-c", code, *modules], env=env, timeout=300)
    except subprocess.TimeoutExpired:
        return "no answer in 300 s"
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return lines[-1] if done.returncode > 0 and lines else f"ended with status {done.returncode}"


def _packages(installed: Path) -> list[str]:
    """The importable contents of a wheel: folders with an __init__.py, and top-level extension modules."""
    packages = [path.parent.name for path in sorted(installed.glob("*/__init__.py"))]
    modules = [path.name.partition(".")[0] for path in sorted(installed.glob("*.so"))]
    return [name for name in (*packages, *modules) if name.isidentifier() and name not in ("tests", "test")]


def _driver_stand_in(files: Sequence[Path], directory: Path) -> None:
    """Libraries that replace the GPU driver's: every driver function that the files import returns "no device"."""
    names: set[str] = set()
    for file in files:
        listed = subprocess.run(["nm", "-D", "-u", file], capture_output=True, check=True).stdout
        names.update(_DRIVER_NAME.findall(listed.decode(errors="replace")))
    source = directory / "driver.c"
    source.write_text("".join(f"int {name}(void) {{ return 100; }}\n" for name in sorted(names)))
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", directory / "libcuda.so.1"], check=True)
    shutil.copy(directory / "libcuda.so.1", directory / "libnvidia-ml.so.1")


def _absent(answer: Answer) -> str | None:
    """The library that the loader did not find."""
    found = _ABSENT_LIBRARY.match(answer.text)
    return None if found is None else found[1]


def _open(
    python: Path, files: Sequence[Path], modules: Sequence[str], env: dict[str, str], driver: Path
) -> dict[str, Answer]:
    """The loader's result for each file, after importing the modules; `driver` is an empty folder."""
    answers = ask(files, python=python, modules=modules, env=env)
    absent = {path: name for path, answer in answers.items() if (name := _absent(answer))}
    folders = set(filter(None, env.get("LD_LIBRARY_PATH", "").split(":")))
    folders |= {str(file.parent) for file in files if file.name in absent.values()}
    if any(is_driver(name) for name in absent.values()):
        _driver_stand_in(files, driver)
        folders.add(str(driver))
    if absent and folders:
        again = [Path(path) for path in absent]
        answers |= ask(again, python=python, modules=modules, env=env | {"LD_LIBRARY_PATH": ":".join(sorted(folders))})
    for path, answer in answers.items():
        name = _absent(answer)
        if name and owner_of_library(name) not in (Owner.TORCH, Owner.CUDA, Owner.HIP):
            answers[path] = Answer("absent", answer.text)
    return answers


def _real(
    python: Path,
    wheel: Path,
    place: Path,
    required: Sequence[Requirement],
    *,
    before: Sequence[str],
    env: dict[str, str],
) -> tuple[str, dict[str, Answer]]:
    """Install, import after `before`, open: (exception of the import, the loader's result for each file)."""
    installed, beside, driver = place / "wheel", place / "beside", place / "driver"
    beside.mkdir()
    driver.mkdir()
    if failed := _pip(python, installed, str(wheel)):
        return failed, {}
    env |= {"PYTHONPATH": f"{installed}:{beside}", "HOME": str(place)}
    works: list[str] = []
    ended = ""
    for package in _packages(installed):
        tried: set[str] = set()
        while (message := _import(python, [*before, package], env)) and len(tried) < _FETCHED_AT_MOST:
            absent = _ABSENT_MODULE.search(message)
            name = "" if absent is None else canonicalize_name(_DISTRIBUTIONS.get(absent[1], absent[1]))
            known = [
                *required,
                *(r for path in beside.glob("*.dist-info/METADATA") for r in _requirements(path.read_bytes())),
            ]
            wanted = {canonicalize_name(each.name) for each in known} | {"numpy", "packaging"}
            if name not in wanted - tried - {"torch"} or _pip(python, beside, name):
                break
            tried.add(name)
        if message:
            ended = ended or f"import {package}: {message}"
        else:
            works.append(package)
    answers = _open(python, list(shared_objects(installed)), [*before, *works], env, driver)
    return ended, {str(Path(path).relative_to(installed)): answer for path, answer in answers.items()}


def judge(wheel: Path, plain: Path, torches: Path, torch: str | None = None, libraries: str | None = None) -> Row:
    """One wheel: abiscan's result (against `torch`, if given), and the real one."""
    command = [sys.executable, "-m", "abiscan", "-q", "--python", plain, wheel, "-f", "json"]
    command += ["--torch", torch] if torch else []
    done = run_program(command)
    ours = [each for each in json.loads(done.stdout)["artifacts"] if each["kind"] == "shared-object"]
    places = [str(installed_name(each["member"])) for each in ours]
    chosen = {place: each["target"]["torch"]["value"] for place, each in zip(places, ours, strict=True)}
    judged = {place: each["verdict"] for place, each in zip(places, ours, strict=True)}
    required = _requirements(_metadata(wheel))
    of_torch = [each for each in required if canonicalize_name(each.name) == "torch"]
    release = torch or _newest(of_torch)
    stated = ", ".join(str(each.specifier) or "any" for each in of_torch)
    row = Row(wheel.name, stated, None, done.returncode, chosen, judged=judged)
    python = torches / release / "bin" / "python"
    if not release or not python.exists():
        return row
    env = {name: value for name, value in os.environ.items() if name not in LOADER_VARIABLES}
    env |= {"LD_LIBRARY_PATH": libraries} if libraries else {}
    with tempfile.TemporaryDirectory(prefix="real-install-") as scratch:
        needs_torch = bool(of_torch) or any(verdict != "not-torch" for verdict in judged.values())
        before = ["torch"] if needs_torch else []
        imported, opened = _real(python, wheel, Path(scratch), required, before=before, env=env)
    return replace(row, environment=release, imported=imported, opened=opened)


def _lines(row: Row) -> Iterator[str]:
    """The wheel in one line, with explanations below."""
    said = f"abiscan {row.status} (against {', '.join(sorted(set(row.chosen.values()))) or 'no torch'})"
    if row.environment is None:
        yield f"{row.wheel}: requires torch {row.torch or '-'}; {said}; no environment has it"
        return
    works = {True: "works", False: "fails", None: "opens, but its import wants more"}[row.works()]
    counts = Counter(answer.outcome for answer in row.opened.values())
    opened = ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or "nothing to open"
    absent = {_absent(answer) or "" for answer in row.opened.values() if answer.outcome == "absent"}
    opened += f": {' '.join(sorted(absent))}" if absent else ""
    agrees = "agree" if (row.status == 0) == (row.works() is not False) else "DIFFER"
    yield f"{row.wheel}: requires torch {row.torch or '-'} -> {row.environment}; {said}; {works} ({opened}); {agrees}"
    if row.imported:
        yield f"    {row.imported}"
    for line in row.differing():
        yield f"    {line}"
    for member, answer in row.opened.items():
        if answer.outcome != "loads" and row.judged.get(member) not in ("loads", "fails"):
            yield f"    {member} ({row.judged.get(member, 'not judged')}): {answer.text}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.truth.real_installs", description=__doc__.splitlines()[0])
    parser.add_argument("--torches", type=Path, required=True, help="folder of environments named for their torch")
    parser.add_argument("--torch", help="judge against and install beside this release, whatever a wheel requires")
    parser.add_argument("--libraries", help="folders of libraries that pip does not bring, such as FFmpeg, with colons")
    parser.add_argument("wheels", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="plain-") as scratch:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", scratch], check=True)
        for wheel in options.wheels:
            row = judge(wheel, Path(scratch), options.torches, options.torch, options.libraries)
            print("\n".join(_lines(row)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
