"""The Python environment of a run: its interpreter, version and package directories.

Everything is read from files (pyvenv.cfg, directory names, .pth files), as by `site` of the standard library. The
interpreter is started only for a path that is a script leading to one, such as a pyenv shim; in another file system
nothing is started.
"""

from __future__ import annotations

import codecs
import contextlib
import os
from collections.abc import Iterator, Mapping

from msgspec import Struct

from abiscan.binary import looks_like_binary
from abiscan.errors import UsageError
from abiscan.filesystem import HERE, FileSystem
from abiscan.model.python_version import PythonVersion, python_of_dll

# Of an installation or virtual environment, as they are on Linux and macOS, and on Windows.
_LAUNCHERS = ("bin/python3", "bin/python", "Scripts/python.exe", "python.exe")
# Far more than a Python version has.
_MAX_DIGITS = 8
# In bytes, for pyvenv.cfg and .pth files.
_MAX_FILE = 1 << 16
# A .pth file of a real environment has a handful of lines.
_MAX_PTH_LINES = 1000


class PythonEnvironment(Struct, frozen=True):
    """A Python installation or virtual environment.

    Attributes:
        executable: the interpreter's binary, with symbolic links resolved; None if only a package directory is known.
        launcher: path of the command that starts it (`bin/python` of a virtual environment).
        version: Python version and build; None if unknown.
        prefix: `sys.prefix` of the environment.
        site_packages: directories that `import` searches for packages, in order.
        stdlib: `lib/pythonX.Y` of the base installation (`lib/pythonX.Yt` of a free-threaded one), if it exists; None
            for Windows, where extension modules of the standard library lie elsewhere.
        files: the file system of all these paths.
    """

    executable: str | None
    launcher: str | None
    version: PythonVersion | None
    prefix: str
    site_packages: tuple[str, ...]
    stdlib: str | None
    files: FileSystem = HERE

    @property
    def label(self) -> str:
        """Name for messages: `Python 3.11 at /opt/venv`."""
        version = "" if self.version is None else f" {self.version}"
        return f"Python{version} at {self.prefix}"

    @property
    def module_tags(self) -> tuple[str, ...]:
        """Tags of extension modules that it imports, best first (importlib's EXTENSION_SUFFIXES)."""
        if self.version is None:
            return ("abi3",)
        # Up to 3.7 the tag has the pymalloc flag (PEP 3149); free-threaded builds do not import abi3 (PEP 703).
        flag = "t" if self.version.free_threaded else "m" if self.version < PythonVersion(3, 8) else ""
        prefix = "cp" if is_of_windows(self.launcher) else "cpython-"
        tag = f"{prefix}{self.version.major}{self.version.minor}{flag}"
        return (tag,) if self.version.free_threaded else (tag, "abi3")


def read_environment(
    path: str,
    *,
    python_path: str | None = None,
    user_base: str | None = None,
    files: FileSystem = HERE,
    may_run: bool = False,
) -> PythonEnvironment:
    """Read the environment at `path`.

    Args:
        path: an interpreter, a pyenv-like shim, or the directory of an environment.
        python_path: value of PYTHONPATH, if it applies.
        user_base: `~/.local`, to include user packages; None to leave them out.
        files: the file system of all paths.
        may_run: whether a script at `path` may be run to find the interpreter that it starts; only for a path that the
            user named as an interpreter, never for one in an input.

    Raises:
        UsageError: it does not exist, or is not a Python.
    """
    if files.is_directory(path):
        return read_environment(_launcher_in(path, files), python_path=python_path, user_base=user_base, files=files)
    if not files.is_file(path):
        raise UsageError(f"{path}: no such interpreter")
    launcher = os.path.abspath(path)
    real = files.real(launcher)
    if not _is_binary(real, files):
        if files.root or not may_run:
            why = "nothing below --root is run" if files.root else "only one that --python names itself is run"
            raise UsageError(f"{path}: not an interpreter but a script, and {why}: name the interpreter that it starts")
        return _run_launcher(path, python_path, user_base)
    prefix = _prefix_of(launcher)
    config = _read_pyvenv(os.path.join(prefix, "pyvenv.cfg"), files)
    if config is None and launcher != real:
        # A plain link such as /usr/bin/python3 or ~/bin/python: the installation is at its target.
        prefix = _prefix_of(real)
    base = prefix
    configured = None
    system_packages = True
    if config is not None:
        home = config.get("home")
        base = _prefix_of(os.path.join(home, os.path.basename(real)) if home else real)
        configured = config.get("version") or config.get("version_info")
        system_packages = config.get("include-system-site-packages", "false").lower() == "true"
    version = _version(os.path.basename(real), configured, prefix, base, files)
    windows = is_of_windows(real)
    stdlib = None if windows else _stdlib(base, version, files)
    sites: list[str] = []
    for root in _roots(prefix, base, config is not None, system_packages, user_base):
        sites += (
            _site_directories_of_windows(root, version, files) if windows else _site_directories(root, version, stdlib)
        )
    return PythonEnvironment(
        executable=real,
        launcher=launcher,
        version=version,
        prefix=prefix,
        site_packages=_search_path([p for p in (python_path or "").split(os.pathsep) if p], sites, files),
        stdlib=stdlib,
        files=files,
    )


def _launcher_in(directory: str, files: FileSystem) -> str:
    """The interpreter of an environment.

    Raises:
        UsageError: it has none.
    """
    launchers = list_launchers(directory)
    for launcher in filter(files.exists, launchers):
        return launcher
    for launcher in filter(files.is_named, launchers):
        raise UsageError(f"{launcher}: a link to a missing interpreter")
    raise UsageError(
        f"{directory}: a directory without bin/python or python.exe: name an interpreter or a virtual environment"
    )


def list_launchers(prefix: str) -> list[str]:
    """The paths at which the interpreter of an environment may be, on any system."""
    return [os.path.join(prefix, *name.split("/")) for name in _LAUNCHERS]


def sites_below(prefix: str, files: FileSystem) -> Iterator[str]:
    """`lib/pythonX.Y/site-packages` of every Python of a prefix, by name."""
    for library in ("lib", "lib64"):
        directory = os.path.join(prefix, library)
        if not files.is_directory(directory) or files.real(directory) != os.path.join(files.real(prefix), library):
            continue  # lib64 is a link to lib on many systems
        for name in sorted(files.names(directory)):
            site = os.path.join(directory, name, "site-packages")
            if name.startswith("python") and _parse_version(name.removeprefix("python")) and files.is_directory(site):
                yield site


def is_of_windows(launcher: str | None) -> bool:
    """Whether an interpreter is one for Windows, whatever system this is."""
    return launcher is not None and launcher.lower().endswith(".exe")


def user_base(variables: Mapping[str, str]) -> str | None:
    """site.USER_BASE of the interpreters of this user; None if PYTHONNOUSERSITE excludes it.

    Args:
        variables: environment variables.
    """
    if variables.get("PYTHONNOUSERSITE"):
        return None
    if variables.get("PYTHONUSERBASE"):
        return variables["PYTHONUSERBASE"]
    if os.name == "nt":
        return os.path.join(variables.get("APPDATA") or os.path.expanduser("~"), "Python")
    return os.path.expanduser("~/.local")


def _prefix_of(launcher: str) -> str:
    """The prefix of an interpreter: on Windows its own directory, except in a virtual environment."""
    directory = os.path.dirname(launcher)
    in_prefix = is_of_windows(launcher) and os.path.basename(directory).lower() != "scripts"
    return directory if in_prefix else os.path.dirname(directory)


def _is_binary(path: str, files: FileSystem = HERE) -> bool:
    return looks_like_binary(files.read(path, 16) or b"")


def _read_pyvenv(path: str, files: FileSystem) -> dict[str, str] | None:
    content = files.read(path, _MAX_FILE)
    if content is None:
        return None
    lines = content.decode("utf-8", "replace").splitlines()
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _version(
    executable: str, configured: str | None, prefix: str, base: str, files: FileSystem
) -> PythonVersion | None:
    """The version from the interpreter's name, pyvenv.cfg, or the newest `lib/pythonX.Y` of the installation.

    Only names show a free-threaded build (`python3.13t`, `lib/python3.13t`); pyvenv.cfg has only numbers.
    """
    named = _parse_version(executable.removeprefix("python"))
    libraries = _versions_of_lib(prefix, files) or _versions_of_lib(base, files)
    if named is not None:
        return named
    configured_version = _parse_version(configured)
    if configured_version is None:
        return max(libraries, default=None)
    threaded = PythonVersion(configured_version.major, configured_version.minor, free_threaded=True)
    return threaded if threaded in libraries and configured_version not in libraries else configured_version


def _parse_version(text: str | None) -> PythonVersion | None:
    """Parse `3.13`, `3.13t` or `3.13.0`; None for other text."""
    major, _, rest = (text or "").partition(".")
    minor = rest.partition(".")[0]
    number = minor.removesuffix("t")
    if major.isdecimal() and number.isdecimal() and len(major + number) < _MAX_DIGITS:
        return PythonVersion(int(major), int(number), number != minor)
    return None


def _versions_of_lib(root: str, files: FileSystem) -> list[PythonVersion]:
    """Versions of the `lib/pythonX.Y` directories of an installation or virtual environment; on Windows, of its
    `pythonXY.dll`."""
    found = []
    with contextlib.suppress(OSError):
        names = files.names(os.path.join(root, "lib"))
        found += [_parse_version(name.removeprefix("python")) for name in names if name.startswith("python")]
    if not found:
        with contextlib.suppress(OSError):
            found += map(python_of_dll, files.names(root))
    return [version for version in found if version is not None]


def _stdlib(base: str, version: PythonVersion | None, files: FileSystem) -> str | None:
    if version is None:
        return None
    for lib in ("lib", "lib64"):
        path = os.path.join(base, lib, f"python{version}")
        if files.is_directory(os.path.join(path, "lib-dynload")):
            return path
    return None


def _roots(prefix: str, base: str, virtual: bool, system_packages: bool, user_base: str | None) -> list[str]:
    """Installations with importable packages, in the order of `sys.path`."""
    roots = [prefix] if virtual else []
    if not virtual or system_packages:
        roots += [user_base, base] if user_base is not None else [base]
    return roots


def _site_directories_of_windows(root: str, version: PythonVersion | None, files: FileSystem) -> list[str]:
    """site.getsitepackages and site.getusersitepackages of Windows, where a prefix has one Python."""
    found = [os.path.join(root, lib, "site-packages") for lib in ("Lib", "lib")]
    if version is not None:
        found.append(os.path.join(root, f"Python{version.major}{version.minor}", "site-packages"))
    return found[: 1 if files.is_directory(found[0]) else None]


def _site_directories(root: str, version: PythonVersion | None, stdlib: str | None) -> list[str]:
    """site.getsitepackages: below `sys.platlibdir`, the directory of the standard library, and below `lib`."""
    if version is None:
        return []
    name = f"python{version}"
    in_lib = stdlib is not None and os.path.basename(os.path.dirname(stdlib)) == "lib"
    found = [os.path.join(root, lib, name, "site-packages") for lib in (("lib",) if in_lib else ("lib64", "lib"))]
    if root in ("/usr", "/usr/local"):
        # Debian's layout (site.py of its Python).
        found += [f"/usr/local/lib/{name}/dist-packages", "/usr/lib/python3/dist-packages"]
    return found


def _search_path(named: list[str], sites: list[str], files: FileSystem) -> tuple[str, ...]:
    """The existing directories, each once (one may be a link to another); each site directory is followed by those of
    its .pth files.

    Args:
        named: directories of PYTHONPATH, whose .pth files do not apply.
    """
    unique: dict[str, str] = {}
    for path in named:
        if files.is_directory(path):
            unique.setdefault(files.real(path), path)
    for site in sites:
        if files.is_directory(site):
            for path in (site, *_pth_directories(site, files)):
                unique.setdefault(files.real(path), path)
    return tuple(unique.values())


def _pth_directories(site: str, files: FileSystem) -> list[str]:
    """Directories added by .pth files of a site directory (site.addpackage), as used by editable installs and shared
    environments. Lines of code ("import ...") are not run."""
    found = []
    try:
        names = sorted(n for n in files.names(site) if n.endswith(".pth") and not n.startswith("."))
    except OSError:
        return []
    for name in names:
        content = files.read(os.path.join(site, name), _MAX_FILE) or b""
        text = content.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
        lines = text.splitlines()[:_MAX_PTH_LINES]
        for line in lines:
            if line.strip() and not line.startswith(("#", "import ", "import\t")):
                path = os.path.normpath(os.path.join(site, line.rstrip()))
                if "\0" not in path and files.is_directory(path):
                    found.append(path)
    return found


def _run_launcher(path: str, python_path: str | None, user_base: str | None) -> PythonEnvironment:
    """Run a shim or wrapper script to find the interpreter that it starts."""
    from abiscan.child_processes import Failed, run_tool

    try:
        done = run_tool([os.path.abspath(path), "-I", "-c", "import sys; print(sys.executable)"], timeout=20)
    except Failed as error:
        raise UsageError(f"{path}: it is not an interpreter, and running it failed: {error}") from error
    if done.returncode != 0:
        raise UsageError(f"{path}: it is not an interpreter, and running it failed: status {done.returncode}")
    real = done.stdout.strip()
    if not real or not os.path.isfile(real) or not _is_binary(os.path.realpath(real)):
        raise UsageError(f"{path}: it starts no readable Python interpreter ({real or 'no output'})")
    return read_environment(real, python_path=python_path, user_base=user_base)
