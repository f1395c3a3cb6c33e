"""Which Python environment is looked at: its interpreter, its version, and where its packages lie.

Everything is read from files (pyvenv.cfg, directory names, .pth files). The interpreter is started only for a path that
is not an interpreter itself but something that leads to one, such as a pyenv shim.
"""

from __future__ import annotations

import os

from msgspec import Struct

from abiscan.binary import looks_like_binary
from abiscan.errors import UsageError

# A .pth file of a real environment has a handful of lines.
_MAX_PTH_LINES = 1000


class PythonEnvironment(Struct, frozen=True):
    """A Python installation or virtual environment.

    Attributes:
        executable: the interpreter's binary, symbolic links resolved; None where only a directory of packages is known.
        launcher: the path by which a user would start it (a virtual environment's `bin/python`).
        version: (major, minor), None if it is not known.
        prefix: `sys.prefix` of the environment.
        base_prefix: where the standard library lies; differs from `prefix` in a virtual environment.
        site_packages: directories that `import` searches for packages, in its order.
        stdlib: `lib/pythonX.Y` of the base installation, if it is there.
    """

    executable: str | None
    launcher: str | None
    version: tuple[int, int] | None
    prefix: str
    base_prefix: str
    site_packages: tuple[str, ...]
    stdlib: str | None

    @property
    def label(self) -> str:
        """For a message: `Python 3.11 at /opt/venv`."""
        version = "" if self.version is None else f" {self.version[0]}.{self.version[1]}"
        return f"Python{version} at {self.prefix}"


def read_environment(path: str, *, python_path: str | None = None, user_base: str | None = None) -> PythonEnvironment:
    """Describe the environment that `path` names.

    Args:
        path: an interpreter, a pyenv-like shim, or the directory of an environment.
        python_path: value of PYTHONPATH to honour, if any.
        user_base: `~/.local`, to look for user packages; None to leave them out.

    Raises:
        UsageError: nothing is there, or it is no Python.
    """
    if os.path.isdir(path):
        for name in ("bin/python3", "bin/python"):
            if os.path.exists(os.path.join(path, name)):
                return read_environment(os.path.join(path, name), python_path=python_path, user_base=user_base)
        raise UsageError(f"{path}: a directory without bin/python: name an interpreter or a virtual environment")
    if not os.path.isfile(path):
        raise UsageError(f"{path}: no such interpreter")
    prefix = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    config = _read_pyvenv(os.path.join(prefix, "pyvenv.cfg"))
    real = os.path.realpath(path)
    if not _is_binary(real):
        return _ask(path, python_path, user_base)
    if config is None and not os.path.samefile(path, real):
        # A plain link such as /usr/bin/python3 or ~/bin/python: the installation is where the link leads.
        prefix = os.path.dirname(os.path.dirname(real))
    base = prefix
    version = None
    system_packages = True
    if config is not None:
        home = config.get("home")
        base = os.path.dirname(home) if home else os.path.dirname(os.path.dirname(real))
        version = _parse_version(config.get("version") or config.get("version_info"))
        system_packages = config.get("include-system-site-packages", "false").lower() == "true"
    version = version or _parse_version(os.path.basename(real).removeprefix("python")) or _version_of_lib(base)
    return PythonEnvironment(
        executable=real,
        launcher=os.path.abspath(path),
        version=version,
        prefix=prefix,
        base_prefix=base,
        site_packages=_existing(
            [p for p in (python_path or "").split(os.pathsep) if p]
            + [
                directory
                for root in _roots(prefix, base, config is not None, system_packages, user_base)
                for directory in _site_directories(root, version)
            ]
        ),
        stdlib=_stdlib(base, version),
    )


def _is_binary(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return looks_like_binary(file.read(16))
    except OSError:
        return False


def _read_pyvenv(path: str) -> dict[str, str] | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(1 << 16).splitlines()
    except OSError:
        return None
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _parse_version(text: str | None) -> tuple[int, int] | None:
    parts = (text or "").split(".")
    if len(parts) >= 2 and parts[0].isdigit() and parts[1].isdigit():
        return int(parts[0]), int(parts[1])
    return None


def _version_of_lib(base: str) -> tuple[int, int] | None:
    """The newest `lib/pythonX.Y` below an installation."""
    try:
        names = os.listdir(os.path.join(base, "lib"))
    except OSError:
        return None
    found = [_parse_version(name.removeprefix("python")) for name in names if name.startswith("python")]
    return max((v for v in found if v is not None), default=None)


def _stdlib(base: str, version: tuple[int, int] | None) -> str | None:
    if version is None:
        return None
    for lib in ("lib", "lib64"):
        path = os.path.join(base, lib, f"python{version[0]}.{version[1]}")
        if os.path.isdir(os.path.join(path, "lib-dynload")):
            return path
    return None


def _roots(prefix: str, base: str, virtual: bool, system_packages: bool, user_base: str | None) -> list[str]:
    """Installations whose packages are importable, in the order of `sys.path`."""
    roots = [prefix] if virtual else []
    if not virtual or system_packages:
        roots += [user_base, base] if user_base is not None else [base]
    return roots


def _site_directories(root: str, version: tuple[int, int] | None) -> list[str]:
    if version is None:
        return []
    name = f"python{version[0]}.{version[1]}"
    found = [os.path.join(root, lib, name, "site-packages") for lib in ("lib", "lib64")]
    if root in ("/usr", "/usr/local"):
        # Debian's layout (site.py of its Python).
        found += [f"/usr/local/lib/{name}/dist-packages", "/usr/lib/python3/dist-packages"]
    return found


def _existing(directories: list[str]) -> tuple[str, ...]:
    """Those that exist, each once (lib64 is often a link to lib), then what their .pth files add."""
    unique: dict[str, str] = {}
    for path in directories:
        if os.path.isdir(path):
            unique.setdefault(os.path.realpath(path), path)
    for path in list(unique.values()):
        for extra in _pth_directories(path):
            unique.setdefault(os.path.realpath(extra), extra)
    return tuple(unique.values())


def _pth_directories(site: str) -> list[str]:
    """Directories that .pth files of a site directory add: how an editable install is found. Lines of code ("import
    ...") are not run."""
    found = []
    try:
        names = sorted(n for n in os.listdir(site) if n.endswith(".pth"))
    except OSError:
        return []
    for name in names:
        try:
            with open(os.path.join(site, name), encoding="utf-8", errors="replace") as file:
                lines = file.read(1 << 16).splitlines()[:_MAX_PTH_LINES]
        except OSError:
            continue
        for line in lines:
            text = line.strip()
            if text and not text.startswith(("#", "import ", "import\t")):
                path = os.path.join(site, text)
                if os.path.isdir(path):
                    found.append(path)
    return found


def _ask(path: str, python_path: str | None, user_base: str | None) -> PythonEnvironment:
    """Start what is no binary (a shim, a wrapper script) to learn which interpreter it leads to."""
    import subprocess

    try:
        # -I: neither the environment nor the working directory of the caller can put code in its way.
        done = subprocess.run(
            [path, "-I", "-c", "import sys; print(sys.executable)"],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(f"{path}: it is not an interpreter, and running it failed: {error}") from error
    real = done.stdout.strip()
    if not real or not os.path.isfile(real) or not _is_binary(os.path.realpath(real)):
        raise UsageError(f"{path}: it leads to no Python interpreter that can be read ({real or 'no answer'})")
    return read_environment(real, python_path=python_path, user_base=user_base)
