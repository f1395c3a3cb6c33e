"""A CPython 3.11 for Windows that runs under Wine, put together from wheels of the package index.

`apt-get install wine gcc-mingw-w64-x86-64`. It lies in `wine/` of the corpus directory (tests/corpus/fetch.py): the
interpreter's DLLs and extension modules are those that panda3d's wheel has for its own users, the C++ runtime is that
of msvc-runtime, and the library is that of the CPython 3.11 that runs the tests. `python.exe` is a few lines of C.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from abiscan.binary import open_binary
from abiscan.environment.python_names import stable_abi
from tests.corpus.fetch import corpus_dir, download
from tests.corpus.wheels import Wheel
from tests.programs import run_program

PYTHON = Wheel(
    "panda3d-1.10.16-cp311-cp311-win_amd64.whl", "37acfb92655c4226879f95c988e2ef1449a53c54486d6c1ebc00e2772429af82", 65
)
RUNTIME = Wheel(
    "msvc_runtime-14.44.35112-cp311-cp311-win_amd64.whl",
    "aba7fbe71897d25ed53fbb7f391e9f50289378a8a9ae218ba18530c663448391",
    2,
)
_LAUNCHER = """#include <windows.h>
int wmain(int count, wchar_t **words) {
    HMODULE python = LoadLibraryW(L"python311.dll");
    int (*run)(int, wchar_t **) = python ? (void *)GetProcAddress(python, "Py_Main") : NULL;
    return run ? run(count, words) : 120;
}
"""
# Wine has libraries of its own of these names, which lack parts of the C++ runtime.
_NATIVE = "concrt140,msvcp140,msvcp140_1,msvcp140_2,msvcp140_atomic_wait,vcomp140,vcruntime140,vcruntime140_1"
_NOT_COPIED = ("site-packages", "lib-dynload", "test", "config-*", "__pycache__", "idlelib", "tkinter", "ensurepip")

# Wine's line for each symbol that no library exports (dlls/ntdll/loader.c, import_dll), and for a library that is not
# found. Wine cuts lines at 1 KiB.
_UNRESOLVED = re.compile(r'No implementation for (\S+?\.(?:dll|pyd))\.(.+?) imported from L"(.*?)", setting to')
_NOT_FOUND = re.compile(r'Library (\S+) \(which is needed by L"(.*?)"\) not found')


def wine_dir() -> Path:
    """The directory of everything that is made here."""
    return corpus_dir() / "wine"


def windows_path(path: Path) -> str:
    """The path by which a program under Wine opens a file."""
    return "Z:" + str(path.resolve()).replace("/", "\\")


def windows_python() -> Path:
    """The folder of the interpreter, made if it is not there.

    Raises:
        RuntimeError: a wheel was not fetched, Wine or a compiler is missing, or this is no CPython 3.11.
    """
    target = wine_dir() / "python"
    if target.exists():
        return target
    if sys.version_info[:2] != (3, 11):
        raise RuntimeError("the library of CPython 3.11 is copied from the interpreter that runs the tests: run 3.11")
    for program in ("wine", "x86_64-w64-mingw32-gcc"):
        if shutil.which(program) is None:
            raise RuntimeError(f"{program}: not found: apt-get install wine gcc-mingw-w64-x86-64")
    partial = target.with_name(".python.partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(sysconfig.get_paths()["stdlib"], partial / "Lib", ignore=shutil.ignore_patterns(*_NOT_COPIED))
    (partial / "Lib/site-packages").mkdir()
    (partial / "DLLs").mkdir()
    for wheel, folder in ((PYTHON, "deploy_libs"), (RUNTIME, "Scripts")):
        with zipfile.ZipFile(download(wheel, corpus_dir())) as archive:
            for member in map(PurePosixPath, archive.namelist()):
                if member.parent.name == folder and not member.name.startswith("api-ms-"):
                    is_core = member.name.lower().startswith(("python", "vc", "msvcp", "concrt"))
                    place = partial / ("" if is_core else "DLLs") / member.name.lower()
                    place.write_bytes(archive.read(str(member)))
    compiler = ["x86_64-w64-mingw32-gcc", "-O1", "-o"]
    (partial / "launcher.c").write_text(_LAUNCHER)
    subprocess.run([*compiler, partial / "python.exe", "-municode", partial / "launcher.c"], check=True)
    (partial / "python3.def").write_text(_forwarders(partial / "python311.dll"))
    subprocess.run([*compiler, partial / "python3.dll", "-shared", "-nostdlib", partial / "python3.def"], check=True)
    partial.rename(target)
    return target


def _forwarders(python: Path) -> str:
    """Of python3.dll, which panda3d lacks: each symbol of the stable ABI leads to the DLL of the version."""
    binary = open_binary(python)
    names = [name for name in stable_abi() if binary.exports_name(name)]
    return "LIBRARY python3\nEXPORTS\n" + "".join(f"  {name} = {python.stem}.{name}\n" for name in names)


def install(*requirements: str) -> None:
    """Install wheels for Windows into the interpreter, as pip would there.

    Raises:
        subprocess.CalledProcessError: pip could not.
    """
    target = windows_python() / "Lib/site-packages"
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", target]
    command += ["--platform", "win_amd64", "--python-version", "3.11", "--implementation", "cp"]
    subprocess.run([*command, "--upgrade", "--only-binary=:all:", *requirements], check=True)


def run(
    arguments: Sequence[str], *, debug: str = "-all", variables: Mapping[str, str] | None = None, timeout: float = 600
) -> subprocess.CompletedProcess[str]:
    """Run the interpreter under Wine.

    Args:
        debug: WINEDEBUG.
        variables: environment variables of the interpreter.
        timeout: seconds.
    """
    environment = {
        **os.environ,
        "WINEPREFIX": str(wine_dir() / "prefix"),
        "WINEDEBUG": debug,
        "WINEDLLOVERRIDES": f"mscoree,mshtml=d;{_NATIVE}=n",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
        **(variables or {}),
    }
    return run_program(
        ["wine", windows_python() / "python.exe", *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        errors="replace",
        timeout=timeout,
    )


def unresolved_symbols(text: str) -> dict[str, set[tuple[str, str]]]:
    """Read Wine's log: path of the file that imports -> (DLL in small letters, symbol)."""
    found: dict[str, set[tuple[str, str]]] = {}
    for library, name, path in _UNRESOLVED.findall(text):
        found.setdefault(_unquoted(path), set()).add((library.lower(), name))
    return found


def unfound_libraries(text: str) -> dict[str, set[str]]:
    """Read Wine's log: path of the file that imports -> DLLs in small letters that were not found."""
    found: dict[str, set[str]] = {}
    for library, path in _NOT_FOUND.findall(text):
        found.setdefault(_unquoted(path), set()).add(library.lower())
    return found


def _unquoted(path: str) -> str:
    return path.replace("\\\\", "\\")
