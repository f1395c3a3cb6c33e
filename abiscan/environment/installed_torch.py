"""The installed torch: found on disk and described, never imported."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable

from msgspec import Struct

from abiscan.binary import open_binary
from abiscan.environment.python import PythonEnvironment, sites_below
from abiscan.errors import UnknownBuild, UnreadableFile
from abiscan.filesystem import HERE, FileSystem
from abiscan.model import versions
from abiscan.ownership.torch_names import is_of_torch_folder, is_torch_library, torch_stem

# In the order of lookup: the libraries with the most symbols first.
_LOOKUP_ORDER = (
    "libc10",
    "libtorch_cpu",
    "libtorch_python",
    "libtorch_cuda",
    "libc10_cuda",
    "libtorch_hip",
    "libc10_hip",
    "libtorch",
)
_ASSIGNMENT = r"(?m)^(\w+)\s*(?::[^=\n]*)?=\s*(?:'([^'\n]*)'|\"([^\"\n]*)\"|None)"
# The package `torch` of an installation of Python, and its prefix.
_IN_PREFIX = r"(.*)/lib(?:64)?/python[^/]+/(?:site|dist)-packages/torch$"
_MAX_VERSION_FILE = 1 << 16
_MAX_BUILD_FILE = 200


class InstalledTorch(Struct, frozen=True):
    """A torch package or libtorch folder on disk.

    Attributes:
        root: the `torch` package directory, or the libtorch folder.
        library_dir: directory of its libraries.
        libraries: paths of its own libraries (libtorch*, libc10*, libshm), in the order of symbol lookup.
        extension: path of `torch/_C*.so`; None for a libtorch folder.
        version: its own version with local label (`2.13.0+cpu`).
        torch: the public version (`2.13.0`).
        variant: `cpu`, `cu126`, `rocm6.2`.
        cuda, hip: versions it was built with, if any.
        git_revision: the commit it was built from, if recorded.
        cxx11_abi: whether its exports use the new std::string; None if unknown.
        python: the environment in which it was found, if any.
        files: the file system of all these paths.
    """

    root: str
    library_dir: str
    libraries: tuple[str, ...]
    extension: str | None
    version: str
    torch: str
    variant: str
    cuda: str | None
    hip: str | None
    git_revision: str | None
    cxx11_abi: bool | None
    machine: str
    python: PythonEnvironment | None
    files: FileSystem = HERE

    @property
    def sonames(self) -> tuple[str, ...]:
        """File names of its own libraries, which are their sonames."""
        return tuple(os.path.basename(path) for path in self.libraries)


def find_torches(environment: PythonEnvironment) -> tuple[str, ...]:
    """Package directories of every torch on the environment's path; `import torch` takes the first."""
    found: dict[str, str] = {}
    for directory in environment.site_packages:
        root = os.path.join(directory, "torch")
        if environment.files.is_file(os.path.join(root, "__init__.py")):
            found.setdefault(environment.files.real(root), root)
    return tuple(found.values())


def read_torch(root: str, environment: PythonEnvironment | None = None, files: FileSystem = HERE) -> InstalledTorch:
    """Read the torch in a directory: a torch package, a libtorch folder, or the `lib` folder of either.

    Args:
        files: the file system of `root`; that of the environment, if there is one.

    Raises:
        UnknownBuild: it contains no libtorch.
        UnreadableFile: its libc10.so is damaged.
    """
    if environment is not None:
        files = environment.files
    root = _top_of(os.path.abspath(root), files)
    library_dir, libraries = _locate_libraries(root, files)
    if not libraries:
        raise UnknownBuild(f"{root}: no libtorch in it (looked for lib/libtorch*.so and lib/libc10.so)")
    values = _version_values(root, files)
    version = values.get("__version__") or "unknown"
    public, _, label = version.partition("+")
    cuda, hip = values.get("cuda"), values.get("hip") or values.get("rocm")
    c10 = next((p for p in libraries if torch_stem(p) == "libc10"), libraries[0])
    return InstalledTorch(
        root=root,
        library_dir=library_dir,
        libraries=libraries,
        extension=_extension(root, environment, files),
        version=version,
        torch=public,
        variant=_variant(label, cuda, hip, set(map(torch_stem, libraries))),
        cuda=cuda,
        hip=hip,
        git_revision=values.get("git_version"),
        cxx11_abi=_string_abi(libraries, files),
        machine=open_binary(files.host(c10), c10).machine,
        python=environment,
        files=files,
    )


def _top_of(root: str, files: FileSystem) -> str:
    """The directory of a torch package or libtorch folder, from its `lib` folder, one that contains it, or the prefix
    of the Python in which it is installed."""
    if os.path.basename(root) == "lib" and _own_libraries(root, files):
        root = os.path.dirname(root)
    own = _own_libraries(os.path.join(root, "lib"), files)
    if not own and files.is_directory(os.path.join(root, "torch")):
        return os.path.join(root, "torch")
    for package in (os.path.join(site, "torch") for site in sites_below(root, files)):
        # A package with its own libraries is another torch than that of the libraries in the prefix.
        is_other = bool(own) and _is_whole(_own_libraries(os.path.join(package, "lib"), files))
        if files.is_file(os.path.join(package, "version.py")) and not is_other:
            return package
    return root


def _is_whole(libraries: Iterable[str]) -> bool:
    return any(torch_stem(path) == "libtorch_cpu" for path in libraries)


def _variant(label: str, cuda: str | None, hip: str | None, names: Collection[str | None]) -> str:
    """The variant of a build, by its label, the versions it was built with, or its libraries without suffix."""
    if label and not label.startswith("git"):
        return label
    if hip or "libtorch_hip" in names:
        return f"rocm{hip}" if hip else "rocm"
    if cuda or "libtorch_cuda" in names:
        return "cu" + cuda.replace(".", "") if cuda else "cuda"
    return "xpu" if "libtorch_xpu" in names else "cpu"


# Of download.pytorch.org and PyPI, for x86_64: `2.0.1+cu117`, `2.13.0+cpu`. Builds for macOS and of conda have none.
_ALL_LABELLED = (2, 0)
_INSTALLERS = (b"pip", b"uv")


def is_wheel_without_label(torch: InstalledTorch) -> bool:
    """Whether it was installed from a wheel that has a version as no published wheel: `2.13.0`. The setup.py of torch
    takes it from PYTORCH_BUILD_VERSION."""
    order = versions.order(torch.torch) or ()
    if torch.version != torch.torch or torch.machine != "x86_64" or order < _ALL_LABELLED:
        return False
    if any(not path.endswith(".so") for path in torch.libraries):
        return False
    folder = f"torch-{torch.torch}.dist-info"
    installer = torch.files.read(os.path.join(os.path.dirname(torch.root), folder, "INSTALLER"), _MAX_BUILD_FILE)
    return installer is not None and installer.strip() in _INSTALLERS


def _own_libraries(
    directory: str, files: FileSystem, is_own: Callable[[str], bool] = is_of_torch_folder
) -> tuple[str, ...]:
    try:
        names = files.names(directory)
    except OSError:
        return ()
    # Debian's torch has links to libraries of other packages, which may not be installed.
    own = [n for n in names if is_own(n) and files.is_file(os.path.join(directory, n))]
    rank = {stem: at for at, stem in enumerate(_LOOKUP_ORDER)}
    own.sort(key=lambda n: (rank.get(torch_stem(n) or "", len(rank)), n))
    return tuple(os.path.join(directory, n) for n in own)


def _locate_libraries(root: str, files: FileSystem) -> tuple[str, tuple[str, ...]]:
    """torch/lib; for distributions that split it (conda-forge's libtorch), the lib folder of the installation that
    contains the package: that of a virtual environment may be another."""
    directory = os.path.join(root, "lib")
    libraries = _own_libraries(directory, files)
    prefix = re.match(_IN_PREFIX, root)
    if prefix and not _is_whole(libraries):
        shared = _own_libraries(os.path.join(prefix[1], "lib"), files, is_torch_library)
        if _is_whole(shared):
            have = {os.path.basename(p) for p in shared}
            extra = tuple(p for p in libraries if os.path.basename(p) not in have)
            return os.path.join(prefix[1], "lib"), shared + extra
    if not libraries:
        flat = _own_libraries(root, files)
        if flat:
            return root, flat
    return directory, libraries


def _version_values(root: str, files: FileSystem) -> dict[str, str | None]:
    """The assignments of torch/version.py, or the equivalent files of a libtorch folder."""
    text = (files.read(os.path.join(root, "version.py"), _MAX_VERSION_FILE) or b"").decode("utf-8", "replace")
    values: dict[str, str | None] = {}
    for match in re.finditer(_ASSIGNMENT, text):
        values[match[1]] = match[2] if match[2] is not None else match[3]
    for name, key in (("build-version", "__version__"), ("build-hash", "git_version")):
        content = files.read(os.path.join(root, name), _MAX_BUILD_FILE)
        if content is not None:
            values.setdefault(key, content.decode("utf-8", "replace").strip() or None)
    return values


def _extension(root: str, environment: PythonEnvironment | None, files: FileSystem) -> str | None:
    try:
        names = sorted(n for n in files.names(root) if n.startswith("_C.") and n.endswith((".so", ".pyd")))
    except OSError:
        return None
    if environment is not None:
        tag = f"_C.{environment.module_tags[0]}-"
        names.sort(key=lambda n: not n.startswith(tag))
    return os.path.join(root, names[0]) if names else None


# Functions with a std::string parameter in every release, so each is exported in one of the two spellings.
_STRING_PROBES = ("_ZN3c106detail14torchCheckFail", "_ZN3c105ErrorC1E", "_ZN3c104WarnE", "_ZN5torch3jit11parseSchemaE")


def _string_abi(libraries: Iterable[str], files: FileSystem) -> bool | None:
    for path in libraries:
        if torch_stem(path) not in ("libc10", "libtorch_cpu"):
            continue
        try:
            library = open_binary(files.host(path), path)
        except (UnreadableFile, FileNotFoundError):
            continue
        for probe in _STRING_PROBES:
            names = library.names_with_prefix(probe, limit=50)
            if any("NSt7__cxx1112basic_string" in name for name in names):
                return True
            if any("RKSs" in name or name.endswith("ESs") for name in names):
                return False
    return None
