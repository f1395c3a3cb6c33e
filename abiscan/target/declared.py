"""The target environment that a file declares: in its metadata, tags, name and folder."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from abiscan.environment.python_names import known_versions
from abiscan.model import dependency_specifiers
from abiscan.model.dependency_specifiers import InvalidDependency, holds, is_specifier
from abiscan.model.python_version import PythonVersion
from abiscan.model.target import TargetSource
from abiscan.target.build_names import dotted, release_in_name
from abiscan.target.declared_pythons import DeclaredPython, is_known_python, pythons_of_file
from abiscan.wheel.container_facts import ContainerFacts
from abiscan.wheel.tags import TorchRequirement, read_declared_tags, torch_requirements


class DeclaredTorch(Struct, frozen=True):
    """The torch releases that a file is made for.

    Attributes:
        specifiers: version specifiers, such as `==2.4.*`; a release must satisfy all of them.
        variant: build variant from a label: `cu121` or `cpu`.
        detected_from: where it was read, as text.
    """

    specifiers: tuple[str, ...]
    source: TargetSource
    detected_from: str
    variant: str | None = None

    def admits(self, version: str) -> bool:
        """Whether a version, with or without a label (`2.6.0+cu124`), satisfies every specifier."""
        public = version.partition("+")[0]
        return all(_admits(specifier, version, public) for specifier in self.specifiers)

    def admits_release(self, version: str) -> bool:
        """Whether a public version satisfies every specifier, ignoring labels in the specifiers."""
        return _admit_release(self.specifiers, version)


# The files of a package are checked against the same releases.
@functools.lru_cache(maxsize=1024)
def _admit_release(specifiers: tuple[str, ...], version: str) -> bool:
    return all(_admits(re.sub(_LABEL, "", specifier), version, version) for specifier in specifiers)


# A local version label in a specifier: `==2.6.0+cu118`.
_LABEL = r"\+[\w.]+"


def _admits(specifier: str, version: str, public: str) -> bool:
    return dependency_specifiers.admits(specifier, (version, public))


class DeclaredGpu(Struct, frozen=True):
    """The accelerator that a file is built for.

    Attributes:
        text: `CUDA 12`, `ROCm 6`, `ROCm` or `XPU`; with the major release if it is declared.
        detected_from: where it was read, as text.
    """

    text: str
    source: TargetSource
    detected_from: str

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

    @property
    def has_unknown_python(self) -> bool:
        """Whether it declares Pythons, and the table of CPythons has none of them."""
        named = self.pythons
        return self.other_python or (bool(named) and not any(p.admits(v) for p in named for v in known_versions()))

    def admits_python(self, version: PythonVersion) -> bool:
        """Whether an installer accepts the file for a CPython. An invalid specifier accepts all."""
        if not self.requires_python:
            return True
        try:
            return dependency_specifiers.admits(self.requires_python, (f"{version.major}.{version.minor}.99",))
        except InvalidDependency:
            return True


def declared_by(
    container: ContainerFacts, place: str, machine: str, is_module: Callable[[], bool] = lambda: True
) -> Declared:
    """Read what a file declares.

    Args:
        container: metadata of the container; empty for a single file.
        place: path of the file in its container; the file name for a single file.
        machine: architecture, for requirement markers.
        is_module: whether Python can import the file.
    """
    declared = read_declared_tags(container.declared_tags)
    pythons = pythons_of_file(place, declared.interpreters, is_module)
    return Declared(
        torch=next(_torches(container, place, pythons, machine), None),
        gpu=next(_gpus(container, place), None),
        pythons=pythons,
        glibc=declared.glibc,
        requires_python=container.requires_python or "",
        other_python=not pythons
        and bool(declared.interpreters)
        and not any(is_known_python(*p) for p in declared.interpreters),
    )


# `2.1.2+pt24cu121` (torch-scatter), `2.7.4+cu12torch2.5cxx11abifalse` (flash-attn), `0.0.29+torch2.5.1.cu124`.
_LABEL_TORCH = r"(?a)(?:pt|torch)(?P<version>[12](?:\.\d+){1,2}|[12]\d{1,2})(?=$|[a-z.])"
# `extra == "torch"` in a marker.
_EXTRA = r"""\bextra\s*==\s*["']([^"']+)"""
_LABEL_VARIANT = r"(?a)(?<![a-z])(cu\d{2,3}|cpu|rocm[\d.]+)"


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
    if not optional:
        return
    found = DeclaredTorch(
        tuple(dict.fromkeys(r.specifier for r in optional)),
        TargetSource.REQUIREMENT,
        f"Requires-Dist: {', '.join(r.text for r in optional)}",
    )
    # Extras for several releases are alternatives; one that satisfies all of them is named in one of them.
    versions = re.findall(r"\d+(?:\.\d+)*", " ".join(found.specifiers))
    if len(found.specifiers) == 1 or any(found.admits_release(version) for version in versions):
        yield found


def _labelled(container: ContainerFacts) -> DeclaredTorch | None:
    """From the label of the wheel's version, then from the distribution name (`nvfuser_cu121_torch25`)."""
    label = (container.version or "").partition("+")[2].lower()
    found = re.search(_LABEL_TORCH, label) if label else None
    if found is not None:
        variant = re.search(_LABEL_VARIANT, label[: found.start()] + " " + label[found.end() :])
        return DeclaredTorch(
            (_any_patch(dotted(found["version"])),),
            TargetSource.VERSION_LABEL,
            f"the label of its version {container.version}",
            None if variant is None else variant[1],
        )
    named = release_in_name((container.name or "").lower())
    if named is None:
        return None
    detected_from = f"the name of its distribution {container.name}"
    return DeclaredTorch((_any_patch(named),), TargetSource.VERSION_LABEL, detected_from)


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


# CUDA or ROCm in a file name, folder name or label: `_cu12.`, `libx_cuda118.so`, `/rocm6/`, `+pt24cu121`, `+rocm700`.
# The major version has two digits for CUDA, one for ROCm.
_GPU_WORD = (
    r"(?:^|[/_.+-]|(?<=\d))(?:cu(?:da)?[-_]?(?P<cuda>1\d)(?:[._]?\d)?x?|(?:rocm|hip)[-_]?(?P<rocm>\d)(?:\d{1,2}|(?:\.\d+)*))"
    r"(?=$|[/_.+-]|torch)"
)


# `nvidia-cuda-runtime-cu12`: NVIDIA distributions have the CUDA major version in their names.
_NVIDIA = r"(?i)\s*nvidia-[a-z0-9-]+-cu(1\d)\b"


def _gpus(container: ContainerFacts, place: str) -> Iterator[DeclaredGpu]:
    """From the path, then the label of the wheel's version, the wheel's name, and its requirements."""
    yield from _gpu_of(place, TargetSource.FOLDER, f"its path {place}")
    label = (container.version or "").partition("+")[2]
    yield from _gpu_of(label, TargetSource.VERSION_LABEL, f"the label of its version {container.version}")
    yield from _gpu_of(container.name or "", TargetSource.REQUIREMENT, f"the name of its distribution {container.name}")
    yield from _accelerators(container)
    for line in container.requires_dist:
        found = re.match(_NVIDIA, line)
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
    for text, detected_from in texts:
        # Most have none, and compiling the pattern takes longer than all texts.
        found = re.search(_ACCELERATOR, text.lower()) if any(kind in text.lower() for kind in _KINDS) else None
        # NPU extensions are built with the CPU build of torch.
        if found is not None and not (found[1] == "npu" and required):
            yield DeclaredGpu(_KINDS[found[1]], TargetSource.REQUIREMENT, detected_from)


def _gpu_of(text: str, source: TargetSource, detected_from: str) -> Iterator[DeclaredGpu]:
    """The last match in a text: a file name is more specific than its folders."""
    text = text.lower()
    words = re.finditer(_GPU_WORD, text) if any(name in text for name in ("cu", "rocm", "hip")) else ()
    for found in reversed(list(words)):
        yield DeclaredGpu(f"CUDA {found['cuda']}" if found["cuda"] else f"ROCm {found['rocm']}", source, detected_from)
