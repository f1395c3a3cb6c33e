"""The guarantees of a wheel's tags and metadata, compared with the needs of its shared objects.

Pure functions over values: tags as defined by PEP 425 (compatibility tags), PEP 513, 571, 599 and 600 (manylinux) and
PEP 656 (musllinux), requirements as defined by the dependency specifiers specification.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from abiscan.data import read_table
from abiscan.model.dependency_specifiers import (
    InvalidDependency,
    admits,
    concerns_torch,
    holds,
    read_requirement,
    torch_specifier,
)
from abiscan.model.facts import VersionNeed
from abiscan.model.module_name import ModuleName
from abiscan.model.platforms import OperatingSystem, platform_of, system_of
from abiscan.wheel.wheel_name import expanded_tags, split_wheel_name

_PERENNIAL = r"^manylinux_(\d+)_(\d+)_(.+)$"
_LEGACY = r"^(manylinux1|manylinux2010|manylinux2014)_(.+)$"
_MUSL = r"^musllinux_(\d+)_(\d+)_(.+)$"
_LINUX = r"^linux_(.+)$"
# Of binaries for macOS with several architectures "universal2" and "intel" are in use
# (https://packaging.python.org/specifications/platform-compatibility-tags/#macos).
_MACOS = r"^macosx_(\d+)_(\d+)_(.+)$"
_NEWEST_MACOS = 26
_SEVERAL_MACHINES = {
    "macosx_universal2": ("macosx_arm64", "macosx_x86_64"),
    "macosx_intel": ("macosx_x86_64",),
    "macosx_universal": ("macosx_x86_64",),
}
_WINDOWS = ("win_amd64", "win_arm64", "win32")
# PEP 600, "Legacy manylinux tags".
_LEGACY_GLIBC = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}
# Tag machine -> name of the ELF machine in `abiscan.elf`, if different.
_MACHINES = {"i686": "i386", "armv7l": "arm", "armv6l": "arm", "arm64": "aarch64"}
# The reverse, for the tags that packaging.tags accepts.
_TAG_MACHINES = {"i386": "i686", "arm": "armv7l"}
# Libraries on every system of a manylinux tag, besides those of glibc and GCC (PEP 513 and 600; `lib_whitelist` of
# auditwheel's policy).
_GUARANTEED = frozenset(
    [
        *("libX11.so.6", "libXext.so.6", "libXrender.so.1", "libICE.so.6", "libSM.so.6", "libGL.so.1", "libz.so.1"),
        *("libgobject-2.0.so.0", "libgthread-2.0.so.0", "libglib-2.0.so.0", "libatomic.so.1"),
    ]
)
_CPYTHON_TAG = r"^cp(\d)(\d+)$"


class System(enum.StrEnum):
    """Operating system of a platform tag."""

    GLIBC = "glibc"
    MUSL = "musl"
    LINUX = "linux"
    WINDOWS = "windows"
    MACOS = "macos"
    ANY = "any"
    OTHER = "other"


class PlatformTag(Struct, frozen=True):
    """A parsed platform tag.

    Attributes:
        oldest: oldest supported glibc, musl or macOS; None if the tag has none (`linux_x86_64`).
        machine: key of the platform (`x86_64`, `win_amd64`, `macosx_arm64`, `macosx_universal2` for both of macOS);
            None for `any` and for other systems.
    """

    tag: str
    system: System
    oldest: tuple[int, int] | None
    machine: str | None


def platform_tag(tag: str) -> PlatformTag:
    """Parse the platform part of a compatibility tag (`manylinux_2_28_x86_64`)."""
    if tag == "any":
        return PlatformTag(tag, System.ANY, None, None)
    if match := re.match(_PERENNIAL, tag):
        return PlatformTag(tag, System.GLIBC, (int(match[1]), int(match[2])), _machine(match[3]))
    if match := re.match(_LEGACY, tag):
        return PlatformTag(tag, System.GLIBC, _LEGACY_GLIBC[match[1]], _machine(match[2]))
    if match := re.match(_MUSL, tag):
        return PlatformTag(tag, System.MUSL, (int(match[1]), int(match[2])), _machine(match[3]))
    if match := re.match(_LINUX, tag):
        return PlatformTag(tag, System.LINUX, None, _machine(match[1]))
    if match := re.match(_MACOS, tag):
        return PlatformTag(tag, System.MACOS, (int(match[1]), int(match[2])), f"macosx_{match[3]}")
    if tag in _WINDOWS:
        return PlatformTag(tag, System.WINDOWS, None, tag)
    return PlatformTag(tag, System.OTHER, None, None)


def _machine(text: str) -> str:
    return _MACHINES.get(text, text)


@cache
def _limits(machine: str) -> Mapping[tuple[int, int], Mapping[str, tuple[int, ...]]]:
    """glibc of a manylinux tag -> newest symbol versions that all of its systems have. For an unknown machine, those of
    x86_64."""
    machines = read_table("manylinux_policies.json", dict[str, Any])["newest"]
    return {
        (int(glibc.partition(".")[0]), int(glibc.partition(".")[2])): {
            family: tuple(map(int, version.split("."))) for family, version in newest.items()
        }
        for glibc, newest in machines.get(machine, machines["x86_64"]).items()
    }


def systems_of_wheel(file_name: str) -> frozenset[OperatingSystem]:
    """The systems that a wheel's file name is for: all for the tag `any`, and for a name that is not a wheel's."""
    named = split_wheel_name(file_name)
    systems = {platform_tag(tag.split("-")[2]).system for tag in named[2]} if named is not None else {System.ANY}
    if System.ANY in systems:
        return frozenset(OperatingSystem)
    others = {System.WINDOWS: OperatingSystem.WINDOWS, System.MACOS: OperatingSystem.MACOS}
    return frozenset(others.get(system, OperatingSystem.LINUX) for system in systems if system is not System.OTHER)


def list_platforms(machine: str) -> tuple[str, ...]:
    """Every platform tag of the wheels that pip installs on a machine: for Linux those with glibc, up to the newest
    known.

    Args:
        machine: key of a platform.
    """
    system = system_of(machine)
    if system is OperatingSystem.WINDOWS:
        return (machine,)
    if system is OperatingSystem.MACOS:
        architecture = platform_of(machine).architecture
        # As packaging.tags.mac_platforms: 10.x, and since macOS 11 major versions only.
        versions = [f"{major}_0" for major in range(_NEWEST_MACOS, 10, -1)] + [f"10_{m}" for m in range(16, 8, -1)]
        return tuple(f"macosx_{version}_{kind}" for version in versions for kind in (architecture, "universal2"))
    newest = max(_limits(machine))
    perennial = [f"manylinux_2_{minor}_{machine}" for minor in range(newest[1], 4, -1)]
    return (*perennial, *(f"{legacy}_{machine}" for legacy in _LEGACY_GLIBC), f"linux_{machine}")


class DeclaredTags(Struct, frozen=True):
    """The tags of a wheel. An installer accepts it if one of them fits, so the oldest and widest counts.

    Attributes:
        platforms: every parsed platform tag, in the order of the tags.
        interpreters: (python tag, abi tag) pairs, in the order of the tags.
        glibc: oldest declared glibc; None if no tag has one.
    """

    platforms: tuple[PlatformTag, ...]
    interpreters: tuple[tuple[str, str], ...]
    glibc: tuple[int, int] | None

    @property
    def oldest_platform(self) -> str | None:
        """The tag with the oldest glibc."""
        named = [p for p in self.platforms if p.system is System.GLIBC and p.oldest == self.glibc]
        return named[0].tag if named else None

    @property
    def abi3_since(self) -> tuple[int, int] | None:
        """Oldest CPython of an `abi3` tag; None if there is no such tag."""
        found = [v for python, abi in self.interpreters if abi == "abi3" and (v := cpython_of_tag(python)) is not None]
        return min(found, default=None)


def read_declared_tags(tags: Iterable[str]) -> DeclaredTags:
    """Parse expanded tags (`ContainerFacts.file_tags`); text that is not a triple is left out."""
    triples = [parts for tag in tags if len(parts := tag.split("-")) == 3]
    platforms = tuple(platform_tag(p) for p in dict.fromkeys(parts[2] for parts in triples))
    oldest = [p.oldest for p in platforms if p.system is System.GLIBC and p.oldest is not None]
    return DeclaredTags(
        platforms=platforms,
        interpreters=tuple(dict.fromkeys((parts[0], parts[1]) for parts in triples)),
        glibc=min(oldest, default=None),
    )


def differing_tags(file_tags: Iterable[str], metadata_tags: Iterable[str]) -> tuple[str, ...]:
    """Tags that only one of a wheel's file name and its WHEEL file has, sorted; empty if one of them has no tags."""
    in_name, in_metadata = set(file_tags), {tag for line in metadata_tags for tag in expanded_tags(line) or (line,)}
    return tuple(sorted(in_name ^ in_metadata)) if in_name and in_metadata else ()


# --- the platform -----------------------------------------------------------------------------------------------


class Excess(Struct, frozen=True):
    """A symbol version that is newer than a tag guarantees.

    Attributes:
        guaranteed: the newest version of that family on every system of the tag, such as `GLIBC_2.17`.
    """

    library: str
    version: str
    guaranteed: str


def versions_exceed(
    declared: DeclaredTags, needs: Iterable[VersionNeed], bundled: Iterable[str] = ()
) -> tuple[Excess, ...]:
    """Find the required GLIBC, GLIBCXX, CXXABI and GCC versions that the oldest declared system lacks, newest first.
    Weak needs are left out: the loader does not require them.

    Args:
        needs: of one shared object.
        bundled: sonames that the wheel bundles, which replace those of the system.
    """
    return () if declared.glibc is None else _newer(_guaranteed_versions(declared), needs, bundled)


def _newer(
    limits: Mapping[str, tuple[int, ...]], needs: Iterable[VersionNeed], bundled: Iterable[str]
) -> tuple[Excess, ...]:
    own = set(bundled)
    found: dict[tuple[str, tuple[int, ...]], Excess] = {}
    for need in needs:
        numbered = need.numbered
        if numbered is None or need.weak or need.library in own:
            continue
        family, version = numbered
        limit = limits.get(family)
        if limit is not None and version > limit:
            guaranteed = f"{family}_{'.'.join(map(str, limit))}"
            found.setdefault((family, version), Excess(need.library, need.name, guaranteed))
    return tuple(found[key] for key in sorted(found, reverse=True))


def _guaranteed_versions(declared: DeclaredTags) -> Mapping[str, tuple[int, ...]]:
    """The newest versions on the oldest declared system. Unknown tags guarantee only their glibc."""
    assert declared.glibc is not None
    limits: dict[str, tuple[int, ...]] = {"GLIBC": declared.glibc}
    for platform in declared.platforms:
        if platform.system is System.GLIBC and platform.oldest == declared.glibc and platform.machine is not None:
            # For a wheel of two machines the wider limits, since the machine of the file is unknown here.
            found = _limits(platform.machine).get(declared.glibc, {})
            limits.update((family, max(limits.get(family, ()), limit)) for family, limit in found.items())
    return limits


def is_guaranteed(soname: str) -> bool:
    """Whether every system of a manylinux tag has a library, besides those of glibc and GCC."""
    return soname in _GUARANTEED


def shipped_with(glibc: tuple[int, ...], machine: str, family: str) -> tuple[int, ...]:
    """The newest version of GLIBCXX or CXXABI in all reference distributions with this glibc; () if unknown."""
    known = _limits(machine)
    having = max((each for each in known if each <= glibc), default=None)
    return () if having is None else known[having].get(family, ())


def fitting_platform(needs: Iterable[VersionNeed], machine: str, bundled: Iterable[str] = ()) -> str | None:
    """The oldest manylinux tag whose systems have all of the versions; None if no known tag has."""
    needs, bundled = tuple(needs), tuple(bundled)
    glibc = [_glibc(need) for need in needs if not need.weak]
    newest = max((found for found in glibc if found is not None), default=(0, 0))
    known = _limits(machine)
    candidates = [tag for tag in sorted(known) if known[tag]["GLIBC"] >= newest]
    for tag in candidates or [newest]:
        if not _newer(known.get(tag, {"GLIBC": tag}), needs, bundled):
            return f"manylinux_{tag[0]}_{tag[1]}_{_TAG_MACHINES.get(machine, machine)}"
    return None


def _glibc(need: VersionNeed) -> tuple[int, int] | None:
    if need.name == "GLIBC_ABI_DT_RELR":
        return 2, 36  # introduced in glibc 2.36 (NEWS)
    match need.numbered:
        case ("GLIBC", (major, minor, *_)):
            return major, minor
    return None


def other_c_library(needed: Iterable[str]) -> str | None:
    """The soname of a C library other than glibc: musl's `libc.musl-x86_64.so.1` (Alpine) or `libc.so`, which Android
    has, too; None if the file needs none."""
    return next((soname for soname in needed if soname == "libc.so" or soname.startswith("libc.musl-")), None)


def machine_fits(declared: DeclaredTags, machine: str) -> bool:
    """Whether some platform tag is for the platform of a file. A wheel without readable tags fits everything; `any`,
    and tags of systems that are not known, fit no shared object."""
    if not declared.platforms:
        return True
    return any(machine in _SEVERAL_MACHINES.get(p.machine or "", (p.machine,)) for p in declared.platforms)


# --- the interpreter --------------------------------------------------------------------------------------------


def module_fits(declared: DeclaredTags, module: ModuleName) -> bool:
    """Whether every interpreter of the tags imports a file of that name.

    A `cp311-cp311` wheel with a `.cpython-310-...so` module installs but never imports; a `cp39-abi3` or `py3-none` one
    with a module for a single version fails on all other versions.
    """
    if module.plain or not declared.interpreters:
        return True
    if module.abi3:
        # CPython 3.2 and later take .abi3.so, except free-threaded builds.
        return all(not abi.endswith("t") for _python, abi in declared.interpreters)
    if module.cpython is not None:
        return all(abi == f"cp{module.cpython}" for _python, abi in declared.interpreters)
    return True


def cpython_of_tag(tag: str) -> tuple[int, int] | None:
    """(major, minor) of an interpreter tag (`cp311`); None for any other."""
    match = re.match(_CPYTHON_TAG, tag)
    return (int(match[1]), int(match[2])) if match else None


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def beyond_stable_abi(
    declared: DeclaredTags, module: ModuleName | None, imports: Iterable[str], stable: Mapping[str, str]
) -> tuple[str, ...]:
    """CPython symbols that a shared object imports and that are not guaranteed for several Pythons, sorted.

    Only `abi3` and `none` ABI tags declare several Pythons. For `none` there is no exact list of libraries that no
    interpreter imports, so only modules with an abi3 or plain suffix are checked.

    Args:
        imports: mangled names; those that are not CPython names are skipped.
        stable: names of CPython's stable ABI (Misc/stable_abi.toml) -> the version that added them (`3.10`).
    """
    abis = {abi for _python, abi in declared.interpreters}
    if not abis & {"abi3", "none"} or (module is not None and (module.cpython or module.other)):
        return ()
    since = declared.abi3_since
    found = set()
    for name in imports:
        if not name.startswith(("Py", "_Py")):
            continue
        added = stable.get(name)
        if added is None or (since is not None and _version(added) > since):
            found.add(name)
    return tuple(sorted(found))


# --- torch ------------------------------------------------------------------------------------------------------


class TorchRequirement(Struct, frozen=True):
    """A `Requires-Dist` line about torch.

    Attributes:
        specifier: `==2.4.0`; empty if every version satisfies it.
        marker: environment marker, including `extra == "..."`; empty if it always holds.
        reference: URL of a direct reference; if it is a wheel, `specifier` has the version of its name.
    """

    specifier: str
    marker: str
    reference: str = ""

    @property
    def text(self) -> str:
        """`torch>=2.4; python_version < "3.12"`."""
        return f"torch{self.specifier}" + (f"; {self.marker}" if self.marker else "")

    @property
    def optional(self) -> bool:
        """Whether it applies only with an extra."""
        return "extra" in self.marker


def torch_requirements(requires_dist: Iterable[str]) -> tuple[TorchRequirement, ...]:
    """The requirements on torch, in order, of wheels, sdists and conda packages (`pytorch >=2.4,<2.5.0a0`). Invalid
    lines are left out."""
    found = []
    for line in requires_dist:
        requirement = _requirement(line) if concerns_torch(line) else None
        if requirement is not None:
            found.append(requirement)
    return tuple(found)


def _requirement(line: str) -> TorchRequirement | None:
    specifier = torch_specifier(line)
    if specifier is not None:
        return TorchRequirement(specifier, "")
    try:
        parsed = read_requirement(line)
    except InvalidDependency:
        # conda: name, version and build, separated by spaces.
        parts = line.split()
        is_version = len(parts) > 1 and re.match(r"[<>=!~]*\d", parts[1]) is not None
        return TorchRequirement(parts[1], "") if is_version else None
    if parsed.url:
        return TorchRequirement(_referenced_version(parsed.url), str(parsed.marker or ""), parsed.url)
    return TorchRequirement(str(parsed.specifier), str(parsed.marker or ""))


def _referenced_version(url: str) -> str:
    """`==2.5.1+cu124` for a reference to `.../torch-2.5.1%2Bcu124-cp311-cp311-linux_x86_64.whl`; empty if it is not a
    wheel (dependency specifiers specification, "URL reqs")."""
    from urllib.parse import unquote

    path = url.partition("#")[0].partition("?")[0]
    name = split_wheel_name(unquote(path).replace("\\", "/").rpartition("/")[2])
    return "" if name is None else f"=={name[1]}"


def applicable(
    requirements: Iterable[TorchRequirement], environments: Iterable[Mapping[str, str]]
) -> tuple[TorchRequirement, ...]:
    """The requirements that hold in one of the environments, without extras."""
    environments = tuple(environments)
    return tuple(r for r in requirements if not r.optional and any(holds(r.marker, each) for each in environments))


def torch_allowed(
    requirements: Iterable[TorchRequirement], versions: Iterable[str], environments: Iterable[Mapping[str, str]]
) -> tuple[str, ...] | None:
    """The `versions` (public torch versions) that an installer accepts in one of the environments: those that satisfy
    every requirement that holds there without extras. None without requirements: then nothing is declared. The order is
    kept.
    """
    requirements, versions = tuple(requirements), tuple(versions)
    every = [required for each in environments if (required := applicable(requirements, (each,)))]
    if not every:
        return None
    allowed: set[str] = set()
    for required in dict.fromkeys(every):
        try:
            allowed.update(v for v in versions if all(admits(requirement.specifier, (v,)) for requirement in required))
        except InvalidDependency:
            return None
    return tuple(v for v in versions if v in allowed)
