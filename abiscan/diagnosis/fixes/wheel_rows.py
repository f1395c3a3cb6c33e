"""Rows of wheels in the package catalogue, filled in for a torch, a variant and a platform."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from abiscan.diagnosis.catalogue.load_packages import wheels_of
from abiscan.diagnosis.catalogue.package_row import Package, Wheels
from abiscan.diagnosis.fixes.build_requirements import install_imports
from abiscan.diagnosis.fixes.hip_sources import is_for_hip
from abiscan.diagnosis.missing_name import MissingName
from abiscan.model import versions
from abiscan.model.platforms import OperatingSystem, system_of
from abiscan.model.python_version import PythonVersion
from abiscan.releases.build import has_the_new_string
from abiscan.releases.pythons import with_wheels

_Entry = TypeVar("_Entry")
PIP: Final = "pip install --force-reinstall --no-deps"
PIP_WITH_TORCH: Final = "pip install --force-reinstall"
# `cu92`, `cu128`, or all variants of one CUDA major release: `cu12`.
_CUDA = r"cu(1\d|[2-9])\d?"
# The first release whose builds on the package index all have the C++11 std::string.
_NEW_STRING: Final = (2, 7)
_PLATFORMS: Final = (("win_amd64", ("\\", ".dll", ".pyd")), ("macosx", (".dylib", "-darwin.so", "macosx")))


class PublishedWheel(Struct, frozen=True):
    """A wheel of a package for a torch.

    Attributes:
        arguments: of `pip install`.
        with_torch: whether they name torch, too.
        release: of the package, possibly its first parts only; empty if the place of the wheel decides.
        remark: what to replace in the arguments; empty if nothing.
        requires: the command that installs what `--no-deps` leaves out; empty if it needs nothing.
    """

    arguments: str
    with_torch: bool
    release: str = ""
    remark: str = ""
    requires: str = ""

    @property
    def command(self) -> str:
        """The command that replaces an installed build of the same release, too."""
        how = PIP_WITH_TORCH if self.with_torch else PIP
        if self.requires and not self.with_torch:
            how = f"{self.requires} && {how}"
        return f"{how} {self.arguments}" + (f"  # {self.remark}" if self.remark else "")


def together(package: Package, others: Sequence[Package]) -> Package:
    """The package for a command that also installs others with the same wheels: a row names them all at `{name}`."""
    imports = dict.fromkeys(chain(package.imports, *(each.imports for each in others)))
    return replace(package, name=" ".join((package.name, *(each.name for each in others))), imports=tuple(imports))


def rows_of(package: Package, missing: MissingName) -> tuple[Wheels, ...]:
    """The rows of wheels of a package for the platform of the file, and for its GPU where that is of AMD."""
    platform = platform_of(missing)
    for_platform = tuple(row for row in wheels_of(package) if platform in row.platforms)
    if platform == "win_amd64":
        # Builds for ROCm are for Linux only (https://pytorch.org/get-started/previous-versions).
        for_platform = tuple(_filtered(row, lambda variant: not variant.startswith("rocm")) for row in for_platform)
    if not is_for_hip(missing):
        return for_platform
    return tuple(_filtered(row, lambda variant: not cuda_major(variant)) for row in for_platform if _has_rocm(row))


def _has_rocm(wheels: Wheels) -> bool:
    """Whether some of the wheels are for ROCm, or none for CUDA."""
    variants = tuple(chain(*wheels.variants.values()))
    return any(each.startswith("rocm") for each in variants) or not any(map(cuda_major, variants))


def _filtered(row: Wheels, fits: Callable[[str], bool]) -> Wheels:
    """The row with some of its variants, for the releases of torch that have one."""
    variants = {torch: tuple(filter(fits, known)) for torch, known in row.variants.items()}
    return replace(row, variants={torch: known for torch, known in variants.items() if known})


def releases_of(wheels: Wheels) -> Mapping[str, str]:
    """The release of the package for each torch of a row; empty if one release is for several."""
    if "=={minor}" not in wheels.install:
        return wheels.releases
    return {torch: versions.minor(torch) for torch in wheels.variants}


def cuda_major(variant: str) -> str:
    """The CUDA major release of a variant (`12` for `cu128`); empty if it is of no CUDA."""
    found = re.fullmatch(_CUDA, variant)
    return "" if found is None else found[1]


def cuda_release(variant: str) -> str:
    """The CUDA release of a variant (`12.8` for `cu128`); empty if it is of no CUDA."""
    digits = variant.removeprefix("cu")
    return f"{digits[:-1]}.{digits[-1]}" if cuda_major(variant) else ""


def patch_release(torch: str) -> str:
    """The first release of the minor release that names a row (`2.8`); a full version is unchanged."""
    return torch if torch.count(".") > 1 else f"{torch}.0"


def published_wheel(wheels: Wheels, package: Package, torch: str, variant: str, missing: MissingName) -> PublishedWheel:
    """The wheel of a row for a torch and a variant."""
    arguments = fill_row(wheels, package, torch, variant, missing)
    release = entry_of_release(wheels.releases, torch) or ""
    remark = ""
    is_unknown = missing.loading_python is None or not is_for_python(wheels, missing)
    if is_unknown and re.search("{py(?:thon)?}", wheels.install) and wheels.pythons:
        python = newest_python(wheels, torch)
        tag = python_tag(python)
        remark = (
            f"{tag.replace('cp', 'py') if '{py}' in wheels.install else tag} is Python {python}: replace with yours"
        )
    return PublishedWheel(arguments, wheels.with_torch, release, remark, install_imports(package.imports, torch))


def fill_row(wheels: Wheels, package: Package, torch: str, variant: str, missing: MissingName) -> str:
    """The arguments of `pip install` of a row, with every place filled."""
    abi = missing.knowledge.target_cxx11_abi
    if abi is None:
        at = versions.order(torch) or ()
        abi = has_the_new_string(f"{torch}+{variant}") or at[:2] >= _NEW_STRING
    python = missing.loading_python if is_for_python(wheels, missing) else None
    tag = python_tag(newest_python(wheels, torch) if python is None else str(python))
    of_process = {"abi": "TRUE" if abi else "FALSE", "python": tag, "py": tag.replace("cp", "py")}
    places = {**fill_places(wheels, package, torch, variant), **of_process, "platform": platform_of(missing)}
    return wheels.install.format_map(places)


def is_for_python(wheels: Wheels, missing: MissingName) -> bool:
    """Whether a row may have wheels for the CPython of the text or this machine."""
    python = missing.loading_python
    return python is None or not wheels.pythons or _is_in_span(python, wheels.pythons)


def fill_places(wheels: Wheels, package: Package, torch: str, variant: str) -> dict[str, str]:
    """The places of a row that do not depend on the file and its process."""
    minor = versions.minor(torch)
    return {
        "name": package.name,
        "release": entry_of_release(wheels.releases, torch) or "",
        "torch": torch,
        "minor": minor,
        "short": minor.replace(".", ""),
        "digits": torch.replace(".", ""),
        "variant": variant,
        "major": cuda_major(variant) or variant,
        "abi": "TRUE",
    }


def entry_of_release(table: Mapping[str, _Entry], version: str) -> _Entry | None:
    """The entry of a torch: by full version, else by minor release."""
    found = table.get(version)
    return found if found is not None else table.get(versions.minor(version))


def newest_entry(table: dict[str, str], version: str) -> str | None:
    """The same, or for a minor release alone the entry of its newest patch release."""
    found = entry_of_release(table, version)
    patches = [each for each in table if versions.minor(each) == version]
    return found or (table[max(patches, key=lambda each: versions.order(each) or ())] if patches else None)


def nearest_variant(known: tuple[str, ...], variant: str) -> str | None:
    """The variant, if it is known; else the next newer of the same CUDA, whose driver needs are the closest, or the
    newest of that CUDA or ROCm; the newest of all if none is given."""
    if variant in known:
        return variant
    if variant.startswith("rocm") or not any(map(cuda_major, known)):
        rocm = [each for each in known if each.startswith("rocm")]
        of_major = [each for each in rocm if each.partition(".")[0] == variant.partition(".")[0]]
        return max(of_major or rocm, key=lambda each: versions.order(each.removeprefix("rocm")) or (), default=None)
    cuda = [each for each in known if cuda_major(each)]
    major = cuda_major(variant)
    if variant and not major:
        return None
    of_major = [each for each in cuda if cuda_major(each) == major]
    newer = [each for each in of_major if variant and each > variant]
    return min(newer, default=max(of_major or cuda, default=None))


def pythons_of_wheel(wheels: Wheels, torch: str) -> tuple[PythonVersion, ...]:
    """The CPythons for which a torch and the wheel of a package both exist, oldest first."""
    return tuple(each for each in with_wheels(torch) if not wheels.pythons or _is_in_span(each, wheels.pythons))


def newest_python(wheels: Wheels, torch: str) -> str:
    """The newest CPython of a row, if possible one that the torch has wheels for; empty if the row names none."""
    both = pythons_of_wheel(wheels, torch) if wheels.pythons else ()
    return str(both[-1]) if both else wheels.pythons[-1] if wheels.pythons else ""


def pythons_of_package(package: Package, torch: str) -> tuple[PythonVersion, ...]:
    """The same for the first row of wheels of a package that has the torch."""
    rows = (row for row in wheels_of(package) if entry_of_release(row.variants, torch) is not None)
    return next((pythons_of_wheel(row, torch) for row in rows), ())


def _is_in_span(python: PythonVersion, span: tuple[str, ...]) -> bool:
    """Whether a CPython is one of a row's."""
    first, last = (versions.order(each) or () for each in span)
    return first[:2] <= (python.major, python.minor) <= last[:2]


def python_tag(python: str) -> str:
    """`cp312` of `3.12`."""
    return "cp" + python.replace(".", "")


def is_on_windows(missing: MissingName) -> bool:
    """Whether that platform is Windows."""
    return platform_of(missing) == "win_amd64"


def platform_of(missing: MissingName) -> str:
    """The platform in wheel tags: from the file's name or format, else from the text, else Linux."""
    path = missing.file.path
    for platform, marks in _PLATFORMS:
        if any(mark in path for mark in marks):
            return platform
    system = system_of(missing.knowledge.machine)
    if missing.macho or system is OperatingSystem.MACOS:
        return "macosx"
    if system is OperatingSystem.WINDOWS:
        return missing.knowledge.machine
    if "aarch64" in path:
        return "linux_aarch64"
    return missing.environment.platform or f"linux_{missing.knowledge.machine}"


def upgrade(package: Package) -> str:
    """The command that installs its newest release."""
    return f"pip install --upgrade {package.name}"
