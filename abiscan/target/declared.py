"""The target environment that a file declares: in its metadata, tags, name and folder."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from abiscan.environment.python_names import known_versions
from abiscan.model import dependency_specifiers
from abiscan.model.dependency_specifiers import InvalidDependency, concerns_torch, holds, is_specifier
from abiscan.model.module_name import module_name
from abiscan.model.python_version import PythonVersion
from abiscan.model.target import TargetSource
from abiscan.wheel.metadata import ContainerFacts, ContainerKind
from abiscan.wheel.requirement_lines import required_name
from abiscan.wheel.tags import TorchRequirement, read_declared_tags, torch_requirements


class DeclaredTorch(Struct, frozen=True):
    """The torch releases that a file is made for.

    Attributes:
        specifiers: version specifiers, such as `==2.4.*`; a release must satisfy all of them.
        variant: build variant from a label: `cu121` or `cpu`.
        because: where it was read, as text.
    """

    specifiers: tuple[str, ...]
    source: TargetSource
    because: str
    variant: str | None = None

    def admits(self, version: str) -> bool:
        """Whether a version, with or without a label (`2.6.0+cu124`), satisfies every specifier."""
        public = version.partition("+")[0]
        return all(_admits(specifier, version, public) for specifier in self.specifiers)

    def admits_release(self, version: str) -> bool:
        """Whether a public version satisfies every specifier, ignoring labels in the specifiers."""
        return all(_admits(re.sub(_LABEL, "", specifier), version, version) for specifier in self.specifiers)


# A local version label in a specifier: `==2.6.0+cu118`.
_LABEL = r"\+[\w.]+"


def _admits(specifier: str, version: str, public: str) -> bool:
    return dependency_specifiers.admits(specifier, (version, public))


class DeclaredGpu(Struct, frozen=True):
    """The accelerator that a file is built for.

    Attributes:
        text: `CUDA 12`, `ROCm 6`, `ROCm` or `XPU`; with the major release if it is declared.
        because: where it was read, as text.
    """

    text: str
    source: TargetSource
    because: str

    @property
    def kind(self) -> str:
        """`CUDA`, `ROCm`, `XPU`, `NPU`."""
        return self.text.partition(" ")[0]

    def admits(self, cuda: str | None, hip: str | None, variant: str = "") -> bool:
        """Whether a torch build with these CUDA and ROCm versions (`12.8` or None) matches."""
        kind, _, major = self.text.partition(" ")
        if kind not in ("CUDA", "ROCm"):
            return variant.startswith(kind.lower())
        version = cuda if kind == "CUDA" else hip
        return version is not None and (not major or version.partition(".")[0] == major)


class DeclaredPython(Struct, frozen=True):
    """The CPythons that a file is made for.

    Attributes:
        oldest: the oldest of them.
        later: whether all later versions match too (the stable ABI).
    """

    oldest: PythonVersion
    later: bool
    source: TargetSource
    because: str

    @property
    def text(self) -> str:
        """`3.11`, `3.13t`, `>=3.9`."""
        return f">={self.oldest}" if self.later else str(self.oldest)

    def admits(self, version: PythonVersion) -> bool:
        """Whether a CPython matches. Free-threaded builds do not support the stable ABI (PEP 703)."""
        if self.later:
            return version >= self.oldest and not version.free_threaded
        return version == self.oldest


class Declared(Struct, frozen=True):
    """Everything that a file declares. A field is None or empty if nothing is declared.

    Attributes:
        torch: from the source with the highest precedence.
        gpu: from the source with the highest precedence.
        pythons: one for each tag or suffix; empty if any Python matches (`py3-none`).
        glibc: oldest glibc of the platform tag, as (major, minor).
        requires_python: `Requires-Python` specifier; empty for any.
        other_python: whether all tags are for Pythons that are not supported (PyPy, GraalPy).
    """

    torch: DeclaredTorch | None = None
    gpu: DeclaredGpu | None = None
    pythons: tuple[DeclaredPython, ...] = ()
    glibc: tuple[int, int] | None = None
    requires_python: str = ""
    other_python: bool = False

    def admits_python(self, version: PythonVersion) -> bool:
        """Whether an installer accepts the file for a CPython. An invalid specifier accepts all."""
        if not self.requires_python:
            return True
        try:
            return dependency_specifiers.admits(self.requires_python, (f"{version.major}.{version.minor}.99",))
        except InvalidDependency:
            return True


def declared_by(container: ContainerFacts, place: str, machine: str) -> Declared:
    """Read what a file declares.

    Args:
        container: metadata of the container; empty for a single file.
        place: path of the file in its container; the file name for a single file.
        machine: architecture, for requirement markers.
    """
    declared = read_declared_tags(container.file_tags or container.metadata_tags)
    pythons = _pythons(place, declared.interpreters)
    return Declared(
        torch=next(_torches(container, place, pythons, machine), None),
        gpu=next(_gpus(container, place), None),
        pythons=pythons,
        glibc=declared.glibc,
        requires_python=container.requires_python or "",
        other_python=not pythons
        and bool(declared.interpreters)
        and not any(_is_known(*p) for p in declared.interpreters),
    )


# --- torch ------------------------------------------------------------------------------------------------------

# Some projects ship one build per torch release and put the release in the name of a folder or file: `torch-2.9/`,
# `libx_torch24.so`, `_C_torch2_4.so`. Two digits without a point are major and minor.
_OF_A_TORCH = r"(?a)(?:^|[/_.-])(?:py)?torch[-_.]?v?(?P<version>[12](?:[._]\d{1,2}(?:[._]\d)?|\d{1,2}))(?=$|[/_.-])"
# `2.1.2+pt24cu121` (torch-scatter), `2.7.4+cu12torch2.5cxx11abifalse` (flash-attn), `0.0.29+torch2.5.1.cu124`.
_LABEL_TORCH = r"(?a)(?:pt|torch)(?P<version>[12](?:\.\d+){1,2}|[12]\d{1,2})(?=$|[a-z.])"
# `extra == "torch"` in a marker.
_EXTRA = r"""\bextra\s*==\s*["']([^"']+)"""
_LABEL_VARIANT = r"(?a)(?<![a-z])(cu\d{2,3}|cpu|rocm[\d.]+)"


def release_in_name(place: str) -> str | None:
    """The torch release in a path of a package: `2.9` for `torch-2.9/lib/x.so`, `2.4` for `libx_torch24.so`."""
    found = re.search(_OF_A_TORCH, place) if "torch" in place else None
    return None if found is None else _dotted(found["version"])


# Parts of a name that distinguish the builds of one module, besides the torch release: accelerator, instruction set.
@functools.cache
def _of_a_build() -> re.Pattern[str]:
    return re.compile(
        r"(?<=[/_.-])(?:cu(?:da)?(?:[-_]?(?P<cuda>[89]|1\d)(?:[._]?\d)?x?)?|rocm[-_]?[\d.]*|hip|cpu|xpu|sm_?\d+[a-z]?|gfx\w+|avx\w*|sse[\d_]*|amx\w*|neon|sve\d*)"
        r"(?=[/_.-])"
    )


def without_build(place: str, cuda: str | None = None) -> str:
    """The path without torch release, accelerator and instruction set: the same text for all builds of one module.

    Args:
        cuda: the CUDA version that the file was built with, if known. A different number in the name is not a version:
            `x_cuda_128` and `x_cuda_64` are two kernels.
    """

    def shortened(found: re.Match[str]) -> str:
        contradicted = cuda is not None and found["cuda"] not in (None, cuda.partition(".")[0])
        return found[0] if contradicted else ""

    return _of_a_build().sub(shortened, re.sub(_OF_A_TORCH, "torch", f"/{place}"))


def _dotted(text: str) -> str:
    """`24` to `2.4`, `210` to `2.10`, `2_9` to `2.9`."""
    dotted = text.replace("_", ".")
    return dotted if "." in dotted else f"{dotted[0]}.{dotted[1:]}"


def _torches(
    container: ContainerFacts, place: str, pythons: Sequence[DeclaredPython], machine: str
) -> Iterator[DeclaredTorch]:
    named = release_in_name(place)
    if named is not None:
        yield DeclaredTorch((_any_patch(named),), TargetSource.FOLDER, f"its path {place} names torch {named}")
    labelled = _labelled(container)
    required = torch_requirements(container.requires_dist)
    environments = marker_environments(required, pythons, container.requires_python or "", machine)
    # The oldest Python of the tags, or the newest known Python if the tags match any.
    environment = environments[0 if pythons else -1]
    asked = [
        requirement
        for requirement in required
        if not requirement.optional and is_specifier(requirement.specifier) and holds(requirement.marker, environment)
    ]
    specifiers = tuple(r.specifier for r in asked if r.specifier)
    if labelled is not None:
        # The label selects one of the releases that the wheel requires.
        yield replace(labelled, specifiers=(*labelled.specifiers, *specifiers))
    if specifiers:
        lines = ", ".join(f"torch{r.specifier}" for r in asked)
        yield DeclaredTorch(specifiers, TargetSource.REQUIREMENT, f"Requires-Dist: {lines}", _variant(specifiers))
    optional = [r for r in required if r.optional and r.specifier and is_specifier(r.specifier)]
    optional = [
        r
        for r in optional
        if any(holds(r.marker, {**environment, "extra": name}) for name in re.findall(_EXTRA, r.marker))
    ]
    if len({r.specifier for r in optional}) == 1:
        first = optional[0]
        yield DeclaredTorch((first.specifier,), TargetSource.REQUIREMENT, f"Requires-Dist: {first.text}")


def _labelled(container: ContainerFacts) -> DeclaredTorch | None:
    """From the label of the wheel's version, then from the distribution name (`nvfuser_cu121_torch25`)."""
    label = (container.version or "").partition("+")[2].lower()
    found = re.search(_LABEL_TORCH, label) if label else None
    if found is not None:
        variant = re.search(_LABEL_VARIANT, label[: found.start()] + " " + label[found.end() :])
        return DeclaredTorch(
            (_any_patch(_dotted(found["version"])),),
            TargetSource.VERSION_LABEL,
            f"the label of its version {container.version}",
            None if variant is None else variant[1],
        )
    named = release_in_name((container.name or "").lower())
    if named is None:
        return None
    because = f"the name of its distribution {container.name}"
    return DeclaredTorch((_any_patch(named),), TargetSource.VERSION_LABEL, because)


def marker_environments(
    requirements: Iterable[TorchRequirement], pythons: Sequence[DeclaredPython], requires_python: str, machine: str
) -> tuple[Mapping[str, str], ...]:
    """Marker environments, one for each CPython that the container supports, oldest first. One arbitrary environment if
    no requirement has a marker other than `extra`."""
    from abiscan.wheel.markers import marker_environment

    if not any(requirement.marker and not requirement.optional for requirement in requirements):
        return (marker_environment(machine, PythonVersion(3, 0)),)
    declared = Declared(pythons=tuple(pythons), requires_python=requires_python)
    found = [
        version
        for version in known_versions()
        if version.major >= 3
        and not version.free_threaded
        and (not pythons or any(python.admits(version) for python in pythons))
        and declared.admits_python(version)
    ]
    # Only the declaration is known about a version that is not in the table.
    found += [python.oldest for python in pythons if python.oldest not in found]
    return tuple(marker_environment(machine, python) for python in sorted(found) or [max(known_versions())])


def _any_patch(release: str) -> str:
    return f"=={release}" if release.count(".") > 1 else f"=={release}.*"


def _variant(specifiers: Iterable[str]) -> str | None:
    for specifier in specifiers:
        label = specifier.partition("+")[2].partition(",")[0]
        if label:
            return label
    return None


# Limits for listing invalid requirements: number of lines, characters of each.
_MOST_LINES = 3
_MOST_CHARACTERS = 200


def unread_requirements(container: ContainerFacts) -> Iterator[str]:
    """Reasons why requirements are unknown, as sentences about `it`."""
    if container.unread:
        yield f"{container.unread}: its requirements are unknown"
    lines = [line for line in container.requires_dist if _is_unread(line, container.kind)]
    for line in lines[:_MOST_LINES]:
        yield f"not read, invalid: Requires-Dist: {_shortened(line)}"
    if len(lines) > _MOST_LINES:
        yield f"{len(lines) - _MOST_LINES} more of its requirements are invalid"


def _is_unread(line: str, kind: ContainerKind) -> bool:
    """Whether a requirement may be for torch and cannot be parsed. Conda package names may begin with an underscore."""
    if not concerns_torch(line):
        return kind is not ContainerKind.CONDA and required_name(line) is None
    read = torch_requirements([line])
    return not read or not is_specifier(read[0].specifier)


def _shortened(line: str) -> str:
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}..."


def unknown_of(container: ContainerFacts) -> Iterator[str]:
    """Declared parts of the target environment that have no known meaning, as sentences about `it`."""
    if container.lacks:
        yield f"it has no {container.lacks}: its requirements are unknown"
    references = [line for line in container.requires_dist if _names_no_release(line)]
    for line in references[:_MOST_LINES]:
        yield f"the reference names no release of torch: Requires-Dist: {_shortened(line)}"
    if len(references) > _MOST_LINES:
        yield f"{len(references) - _MOST_LINES} more references name no release of torch"
    pairs = read_declared_tags(container.file_tags).interpreters
    pythons = list(dict.fromkeys(python for python, _ in pairs))
    if any(python[:1].isdigit() for python in pythons):
        yield (
            f"its Python tag {'.'.join(pythons)} is no valid one: a dot stands between two tags, and "
            f"{next(python for python in pythons if python[:1].isdigit())} names no Python"
        )
    tags = [f"{pair[0]}-{pair[1]}" for pair in pairs if not pair[0][:1].isdigit() and not _is_known(*pair)]
    for tag in list(dict.fromkeys(tags))[:_MOST_LINES]:
        yield f"the tag {tag} names a Python whose exports are not in the table of CPythons"


def _is_known(python: str, abi: str) -> bool:
    """Whether the table of CPythons contains a match for a wheel's tags (PEP 425), or the tags match any."""
    if re.fullmatch(_ANY_PYTHON, python):
        return True
    tag = _of_tag(python, abi)
    if tag is None:
        return python.startswith("cp") and abi == "none" and _version(python) in known_versions()
    return any(tag.admits(version) for version in known_versions())


def _names_no_release(line: str) -> bool:
    read = torch_requirements([line])
    return bool(read) and bool(read[0].reference) and not read[0].specifier


# --- CUDA and ROCm ----------------------------------------------------------------------------------------------

# CUDA or ROCm in a file name, folder name or label: `_cu12.`, `libx_cuda118.so`, `/rocm6/`, `+pt24cu121`, `+rocm700`.
# The major version has two digits for CUDA, one for ROCm.
_GPU_WORD = (
    r"(?:^|[/_.+-]|(?<=\d))(?:cu(?:da)?[-_]?(?P<cuda>1\d)(?:[._]?\d)?x?|(?:rocm|hip)[-_]?(?P<rocm>\d)(?:\d{1,2}|(?:\.\d+)*))"
    r"(?=$|[/_.+-]|torch)"
)


# `nvidia-cuda-runtime-cu12`: NVIDIA distributions have the CUDA major version in their names.
@functools.cache
def _nvidia() -> re.Pattern[str]:
    return re.compile(r"^\s*nvidia-[a-z0-9-]+-cu(1\d)\b", re.IGNORECASE)


def _gpus(container: ContainerFacts, place: str) -> Iterator[DeclaredGpu]:
    """From the path, then the label of the wheel's version, the wheel's name, and its requirements."""
    yield from _gpu_of(place, TargetSource.FOLDER, f"its path {place}")
    label = (container.version or "").partition("+")[2]
    yield from _gpu_of(label, TargetSource.VERSION_LABEL, f"the label of its version {container.version}")
    yield from _gpu_of(container.name or "", TargetSource.REQUIREMENT, f"the name of its distribution {container.name}")
    yield from _accelerators(container)
    for line in container.requires_dist:
        found = _nvidia().match(line)
        if found is not None and "extra" not in line.partition(";")[2]:
            yield DeclaredGpu(f"CUDA {found[1]}", TargetSource.REQUIREMENT, f"Requires-Dist: {line}")


# Accelerators in the names of torch builds and related distributions: `torchcodec-xpu`, `torch==2.8.0+xpu`.
_ACCELERATOR = r"(?:^|[-_.+])(xpu|rocm|npu)(?=$|[-_.\d])"
_KINDS = {"xpu": "XPU", "rocm": "ROCm", "npu": "NPU"}


def _accelerators(container: ContainerFacts) -> Iterator[DeclaredGpu]:
    """From the label of the required torch, then the version label, then the distribution name."""
    required = torch_requirements(container.requires_dist)
    texts = [(f"+{_variant([r.specifier]) or ''}", f"Requires-Dist: {r.text}") for r in required if not r.optional]
    label = (container.version or "").partition("+")[2]
    texts += [
        (f"+{label}", f"the label of its version {container.version}"),
        (container.name or "", f"the name of its distribution {container.name}"),
    ]
    for text, because in texts:
        found = re.search(_ACCELERATOR, text.lower())
        # NPU extensions are built with the CPU build of torch.
        if found is not None and not (found[1] == "npu" and required):
            yield DeclaredGpu(_KINDS[found[1]], TargetSource.REQUIREMENT, because)


def _gpu_of(text: str, source: TargetSource, because: str) -> Iterator[DeclaredGpu]:
    """The last match in a text: a file name is more specific than its folders."""
    text = text.lower()
    words = re.finditer(_GPU_WORD, text) if any(name in text for name in ("cu", "rocm", "hip")) else ()
    for found in reversed(list(words)):
        yield DeclaredGpu(f"CUDA {found['cuda']}" if found["cuda"] else f"ROCm {found['rocm']}", source, because)


# --- Python -----------------------------------------------------------------------------------------------------

_ANY_PYTHON = r"py\d+|cp[23]"
_CP = r"(?:cp)?(\d)(\d+)(t?)$"


def _pythons(place: str, interpreters: Iterable[tuple[str, str]]) -> tuple[DeclaredPython, ...]:
    """From the module suffix, which decides what an interpreter imports; else from the wheel's tags."""
    module = module_name(place.rpartition("/")[2])
    tags = pythons_of_tags(interpreters)
    if module is not None and module.cpython is not None:
        version = _version(module.cpython.rstrip("dmu"))
        if version is not None:
            tag = "cp" if place.endswith(".pyd") else "cpython-"
            return (DeclaredPython(version, False, TargetSource.FILE_NAME, f"its name ends in .{tag}{module.cpython}"),)
    if module is not None and module.abi3 and not tags:
        return (DeclaredPython(PythonVersion(3, 2), True, TargetSource.FILE_NAME, "its name ends in .abi3.so"),)
    return tags


def pythons_of_tags(interpreters: Iterable[tuple[str, str]]) -> tuple[DeclaredPython, ...]:
    """The CPythons of a wheel's (python tag, abi tag) pairs; empty if any Python matches."""
    return tuple(dict.fromkeys(tag for pair in interpreters if (tag := _of_tag(*pair)) is not None))


def _of_tag(python: str, abi: str) -> DeclaredPython | None:
    version = _version(python)
    if version is None or not python.startswith("cp"):
        return None
    because = f"the wheel's tag {python}-{abi}"
    if abi == "abi3":
        return DeclaredPython(version, True, TargetSource.TAG, because)
    if abi.startswith("cp"):
        exact = PythonVersion(version.major, version.minor, abi.endswith("t"))
        return DeclaredPython(exact, False, TargetSource.TAG, because)
    return None


def _version(text: str) -> PythonVersion | None:
    found = re.match(_CP, text)
    return None if found is None else PythonVersion(int(found[1]), int(found[2]), bool(found[3]))
