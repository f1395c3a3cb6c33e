"""Which Python environment is looked at: its interpreter, its version, and where its packages lie.

Everything is read from files (pyvenv.cfg, directory names, .pth files), as `site` of the standard library does. The
interpreter is started only for a path that is not an interpreter itself but something that leads to one, such as a
pyenv shim; in a file system other than this machine's own nothing is started.
"""

from __future__ import annotations

import os

from msgspec import Struct

from abiscan.binary import looks_like_binary
from abiscan.errors import UsageError
from abiscan.filesystem import HERE, FileSystem
from abiscan.model.python_version import PythonVersion

# Far more than a version of Python has.
_MAX_DIGITS = 8
# Bytes of pyvenv.cfg or of a .pth file.
_MAX_FILE = 1 << 16
# A .pth file of a real environment has a handful of lines.
_MAX_PTH_LINES = 1000


class PythonEnvironment(Struct, frozen=True):
    """A Python installation or virtual environment.

    Attributes:
        executable: the interpreter's binary, symbolic links resolved; None where only a directory of packages is known.
        launcher: the path by which a user would start it (a virtual environment's `bin/python`).
        version: with which of its builds it is, None if it is not known.
        prefix: `sys.prefix` of the environment.
        base_prefix: where the standard library lies; differs from `prefix` in a virtual environment.
        site_packages: directories that `import` searches for packages, in its order.
        stdlib: `lib/pythonX.Y` of the base installation (`lib/pythonX.Yt` of a free-threaded one), if it is there.
        files: where all these paths are.
    """

    executable: str | None
    launcher: str | None
    version: PythonVersion | None
    prefix: str
    base_prefix: str
    site_packages: tuple[str, ...]
    stdlib: str | None
    files: FileSystem = HERE

    @property
    def label(self) -> str:
        """For a message: `Python 3.11 at /opt/venv`."""
        version = "" if self.version is None else f" {self.version}"
        return f"Python{version} at {self.prefix}"

    @property
    def module_tags(self) -> tuple[str, ...]:
        """Tags of extension modules that it imports, best first (importlib's EXTENSION_SUFFIXES)."""
        if self.version is None:
            return ("abi3",)
        # Until 3.7 the tag has the flag of pymalloc (PEP 3149); free-threaded builds import no abi3 (PEP 703).
        flag = "t" if self.version.free_threaded else "m" if self.version < PythonVersion(3, 8) else ""
        tag = f"cpython-{self.version.major}{self.version.minor}{flag}"
        return (tag,) if self.version.free_threaded else (tag, "abi3")


def read_environment(
    path: str,
    *,
    python_path: str | None = None,
    user_base: str | None = None,
    files: FileSystem = HERE,
    may_run: bool = False,
) -> PythonEnvironment:
    """Describe the environment that `path` names.

    Args:
        path: an interpreter, a pyenv-like shim, or the directory of an environment.
        python_path: value of PYTHONPATH to honour, if any.
        user_base: `~/.local`, to look for user packages; None to leave them out.
        files: where all of it lies.
        may_run: whether a script that `path` itself names may be run to learn which interpreter it starts; only for
            what the user names as an interpreter, never for what lies in an input.

    Raises:
        UsageError: nothing is there, or it is no Python.
    """
    if files.is_directory(path):
        launchers = [os.path.join(path, name) for name in ("bin/python3", "bin/python")]
        for launcher in filter(files.exists, launchers):
            return read_environment(launcher, python_path=python_path, user_base=user_base, files=files)
        for launcher in filter(files.is_named, launchers):
            raise UsageError(f"{launcher}: a link to an interpreter that is not there")
        raise UsageError(f"{path}: a directory without bin/python: name an interpreter or a virtual environment")
    if not files.is_file(path):
        raise UsageError(f"{path}: no such interpreter")
    prefix = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    config = _read_pyvenv(os.path.join(prefix, "pyvenv.cfg"), files)
    real = files.real(os.path.abspath(path))
    if not _is_binary(real, files):
        if files.root or not may_run:
            why = "nothing below --root is run" if files.root else "only one that --python names itself is run"
            raise UsageError(f"{path}: not an interpreter but a script, and {why}: name the interpreter that it starts")
        return _ask(path, python_path, user_base)
    if config is None and os.path.abspath(path) != real:
        # A plain link such as /usr/bin/python3 or ~/bin/python: the installation is where the link leads.
        prefix = os.path.dirname(os.path.dirname(real))
    base = prefix
    configured = None
    system_packages = True
    if config is not None:
        home = config.get("home")
        base = os.path.dirname(home) if home else os.path.dirname(os.path.dirname(real))
        configured = config.get("version") or config.get("version_info")
        system_packages = config.get("include-system-site-packages", "false").lower() == "true"
    version = _version(os.path.basename(real), configured, prefix, base, files)
    stdlib = _stdlib(base, version, files)
    return PythonEnvironment(
        executable=real,
        launcher=os.path.abspath(path),
        version=version,
        prefix=prefix,
        base_prefix=base,
        site_packages=_search_path(
            [p for p in (python_path or "").split(os.pathsep) if p],
            [
                directory
                for root in _roots(prefix, base, config is not None, system_packages, user_base)
                for directory in _site_directories(root, version, stdlib)
            ],
            files,
        ),
        stdlib=stdlib,
        files=files,
    )


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
    """By the interpreter's own name, by pyvenv.cfg, by the newest `lib/pythonX.Y` of the installation.

    Only names tell a free-threaded build (`python3.13t`, `lib/python3.13t`); pyvenv.cfg has bare numbers.
    """
    named = _parse_version(executable.removeprefix("python"))
    libraries = _versions_of_lib(prefix, files) or _versions_of_lib(base, files)
    if named is not None:
        return named
    stated = _parse_version(configured)
    if stated is None:
        return max(libraries, default=None)
    threaded = PythonVersion(stated.major, stated.minor, free_threaded=True)
    return threaded if threaded in libraries and stated not in libraries else stated


def _parse_version(text: str | None) -> PythonVersion | None:
    """`3.13`, `3.13t`, `3.13.0`."""
    major, _, rest = (text or "").partition(".")
    minor = rest.partition(".")[0]
    number = minor.removesuffix("t")
    if major.isdecimal() and number.isdecimal() and len(major + number) < _MAX_DIGITS:
        return PythonVersion(int(major), int(number), number != minor)
    return None


def _versions_of_lib(root: str, files: FileSystem) -> list[PythonVersion]:
    """Those of the `lib/pythonX.Y` below an installation or virtual environment."""
    try:
        names = files.names(os.path.join(root, "lib"))
    except OSError:
        return []
    found = (_parse_version(name.removeprefix("python")) for name in names if name.startswith("python"))
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
    """Installations whose packages are importable, in the order of `sys.path`."""
    roots = [prefix] if virtual else []
    if not virtual or system_packages:
        roots += [user_base, base] if user_base is not None else [base]
    return roots


def _site_directories(root: str, version: PythonVersion | None, stdlib: str | None) -> list[str]:
    """site.getsitepackages: below `sys.platlibdir`, which is where the standard library lies, and below `lib`."""
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
    """Those that exist, each once (one may be a link to another), and behind a site directory what its .pth files add.

    Args:
        named: directories of PYTHONPATH, whose .pth files do not count.
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
    """Directories that .pth files of a site directory add (site.addpackage): how an editable install is found, or what
    environments share. Lines of code ("import ...") are not run."""
    found = []
    try:
        names = sorted(n for n in files.names(site) if n.endswith(".pth") and not n.startswith("."))
    except OSError:
        return []
    for name in names:
        content = files.read(os.path.join(site, name), _MAX_FILE) or b""
        lines = content.decode("utf-8-sig", "surrogateescape").splitlines()[:_MAX_PTH_LINES]
        for line in lines:
            if line.strip() and not line.startswith(("#", "import ", "import\t")):
                path = os.path.normpath(os.path.join(site, line.rstrip()))
                if "\0" not in path and files.is_directory(path):
                    found.append(path)
    return found


def _ask(path: str, python_path: str | None, user_base: str | None) -> PythonEnvironment:
    """Start what is no binary (a shim, a wrapper script) to learn which interpreter it leads to."""
    from abiscan.child_processes import Failed, run_tool

    try:
        done = run_tool([os.path.abspath(path), "-I", "-c", "import sys; print(sys.executable)"], timeout=20)
    except Failed as error:
        raise UsageError(f"{path}: it is not an interpreter, and running it failed: {error}") from error
    if done.returncode != 0:
        raise UsageError(f"{path}: it is not an interpreter, and running it failed: status {done.returncode}")
    real = done.stdout.strip()
    if not real or not os.path.isfile(real) or not _is_binary(os.path.realpath(real)):
        raise UsageError(f"{path}: it leads to no Python interpreter that can be read ({real or 'no answer'})")
    return read_environment(real, python_path=python_path, user_base=user_base)
