"""Commands that install a package for the target's torch, from the package catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from abiscan.diagnosis.catalogue.load_packages import (
    package_of_file,
    package_of_namespace,
    packages_by_name,
    wheels_by_id,
)
from abiscan.diagnosis.catalogue.package_row import Package, Wheels
from abiscan.diagnosis.missing_name import MissingName
from abiscan.model import versions
from abiscan.model.python_version import PythonVersion
from abiscan.model.target import TorchBuild, TorchKind
from abiscan.releases.build import has_the_new_string
from abiscan.releases.pythons import with_wheels

_Entry = TypeVar("_Entry")
_TORCH: Final = "torch"
# Requirements of a build without isolation; setuptools before 70.1 needs `wheel`.
_BUILD_TOOLS: Final = ("setuptools", "wheel", "ninja")
# Before this release, torch.utils.cpp_extension imports pkg_resources.packaging, which setuptools 70 removed.
_WITHOUT_PKG_RESOURCES: Final = (2, 2)
_OLD_SETUPTOOLS: Final = '"setuptools<70"'
_PIP: Final = "pip install --force-reinstall --no-deps"
_PIP_WITH_TORCH: Final = "pip install --force-reinstall"
BUILD: Final = "pip install --no-build-isolation --no-cache-dir --force-reinstall --no-deps"
_FORCE_CUDA: Final = "FORCE_CUDA=1"
_CUDA = re.compile(r"cu(\d{1,2})\d")
# In commands of wheels: the pinned release, the index of a variant, and what only the name of one file has.
_RELEASE = re.compile(r'"?[\w-]+==\{release\}(?:\.\*)?"?(?=\s|$)')
_INDEX = re.compile(r" --(?:extra-)?index-url \S*\{variant\}\S*")
_OF_ONE_FILE: Final = ("{release}", "{python}", "{py}", "{platform}")
# In rows of wheels, all variants of one CUDA major release.
_MAJORS: Final = ("cu11", "cu12", "cu13")
# The first release whose builds on the package index all have the C++11 std::string.
_NEW_STRING: Final = (2, 7)
_MOST_BUILDS: Final = 3
_FIRST_COMPLETE_CUDA: Final = (12,)
_PLATFORMS: Final = (("win_amd64", ("\\", ".dll", ".pyd")), ("macosx", (".dylib", "-darwin.so", "macosx")))


class PublishedWheel(Struct, frozen=True):
    """A wheel of a package for a torch.

    Attributes:
        arguments: of `pip install`.
        with_torch: whether they name torch, too.
        release: of the package, possibly its first parts only; empty if the place of the wheel decides.
        remark: what to replace in the arguments; empty if nothing.
        imports: packages that its import needs, which `--no-deps` leaves out.
    """

    arguments: str
    with_torch: bool
    release: str = ""
    remark: str = ""
    imports: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The command that replaces an installed build of the same release, too."""
        how = _PIP_WITH_TORCH if self.with_torch else _PIP
        if self.imports and not self.with_torch:
            how = f"pip install {' '.join(self.imports)} && {how}"
        return f"{how} {self.arguments}" + (f"  # {self.remark}" if self.remark else "")


def find_package(missing: MissingName, name: str | None = None) -> Package | None:
    """The package of the file with the missing symbol; None if it is not in the catalogue.

    Args:
        name: distribution or module in a message.
    """
    for text in (missing.file.distribution, name):
        found = None if text is None else packages_by_name().get(re.sub(r"[-_.]+", "-", text).lower())
        if found is not None:
            return found
    path = missing.file.path or missing.file.importer
    found = package_of_file(path) if path else None
    if found is None and name is not None:
        found = package_of_file(name)
    if found is None and missing.is_torch_name and not path and missing.knowledge.project:
        found = packages_by_name().get(missing.knowledge.project)
    if found is None and not missing.is_torch_name and missing.namespace is not None and not missing.file.path:
        found = package_of_namespace(missing.namespace)
    return None if found is None or found.name == _TORCH else found


def install(package: Package, missing: MissingName, *, variant: str | None = None) -> tuple[str, ...]:
    """The ways to install the package for the target, best first: a wheel, else a build from source. Where no wheel is
    known, one way has several lines. Empty if neither is known.

    Args:
        variant: of the installed torch, if nothing else is known about it.
    """
    if package.command:
        return (package.command,)
    if package.cuda:
        return _of_cuda(package, missing, variant)
    if package.needs_no_torch or package.conda:
        command = f"conda install -c {package.conda.replace('::', ' ')}" if package.conda else _upgrade(package)
        return (command,)
    target = missing.target
    source = build(package, missing)
    from_source = missing.knowledge.target_from_source
    if not from_source and (target is None or versions.order(target.version) is None):
        page = package.pages.get(_platform(missing))
        general = _for_any(package, missing, variant) if page is None else ()
        if page is not None:
            general = (f"Install the wheel for your torch, CUDA and Python: {page}",)
        return general if general else ((source,) if source else ())
    wheel = None if from_source or target is None else find_wheel(package, missing, target)
    if wheel is not None:
        return (wheel.command,)
    ways = []
    page = package.pages.get(_platform(missing))
    if not from_source and source is not None and page is None and (package.wheels or package.upgrade):
        return ("\n".join((*_unlisted(package, missing), "Otherwise build it:", source)),)
    if page is not None:
        ways.append(f"Install the wheel for {missing.target_label} and this Python: {page}")
        ways.append(f"or: {source}" if source is not None else "")
    elif source is not None:
        ways.append(source)
    elif package.upgrade:
        ways.append(_upgrade(package))
    return tuple(filter(None, ways))


def _unlisted(package: Package, missing: MissingName) -> Iterator[str]:
    """How to install a release for the target that the catalogue does not list: it may be newer than the catalogue."""
    yield f"Install the release of {package.name} for {missing.target_label}, if one exists:"
    if not package.wheels:
        yield _upgrade(package)
        return
    wheels = wheels_by_id()[package.wheels[0]]
    variant = "" if missing.target is None else missing.target.variant
    install = _RELEASE.sub(lambda _: package.name, wheels.install)
    if not variant:
        install = _INDEX.sub("", install)
    places_of_file = (*_OF_ONE_FILE, *(() if variant else ("{variant}",)))
    if missing.target is None or any(place in install for place in places_of_file):
        return
    places = _places(wheels, package, missing.target.version, variant)
    of_torch = any(place in install for place in ("{torch}", "{minor}", "{short}", "{digits}"))
    newest = "" if of_torch else "  # the newest: name the release for your torch"
    yield f"{_PIP_WITH_TORCH if wheels.with_torch else _PIP} {install.format_map(places)}{newest}"


def _of_cuda(package: Package, missing: MissingName, variant: str | None) -> tuple[str, ...]:
    """The build for the CUDA of the target, else the one of each CUDA."""
    variant = variant or ("" if missing.target is None else missing.target.variant)
    major = _CUDA.fullmatch(variant)
    if major is not None:
        of_major = [each for each in package.cuda if each.startswith(f"cu{major[1]}")]
        older = [each for each in of_major if each <= variant]
        chosen = variant if variant in package.cuda else max(older, default=min(of_major, default=None))
        if chosen is not None:
            return (f"pip install -U {package.cuda[chosen]}  # for CUDA {major[1]}",)
        return (f"No build of {package.name} for CUDA {major[1]} is known; there are: {', '.join(package.cuda)}",)
    if len(package.cuda) > _MOST_BUILDS:
        # Of builds that are named after their CUDA one shows how the others are called.
        example, what = next(iter(package.cuda.items()))
        there = ", ".join(package.cuda)
        return (f"pip install -U {what}  # {example}: put in the CUDA of torch, or the next below ({there})",)
    return tuple(f"CUDA {each.removeprefix('cu')}: pip install -U {what}" for each, what in package.cuda.items())


def build(package: Package, missing: MissingName, others: Iterable[str] = ()) -> str | None:
    """The command that builds it for the installed torch; None if pip cannot get its source.

    Args:
        others: packages to build with the same command; those with other build requirements are omitted.
    """
    if package.command:
        return package.command
    if not package.sdist and not package.repository:
        return None
    gpu, environment = _is_for_gpu(missing), environment_of(package, missing)
    built = [package]
    if package.sdist:
        known = (packages_by_name().get(name) for name in others)
        built += (each for each in known if each is not None and _is_built_alike(each, package))
        names = dict.fromkeys(each.name for each in built)
        release = f"--no-binary {','.join(names)} {' '.join(names)}"
    else:
        release = f'"git+{package.repository}"'
    command = " ".join((*environment, BUILD, release))
    notes = []
    if gpu:
        cuda = None if missing.target is None else missing.target.cuda
        major = "the CUDA major release of torch.version.cuda" if cuda is None else f"CUDA {cuda.partition('.')[0]}"
        notes.append(f"CUDA sources need nvcc of {major}")
        if cuda is None and _FORCE_CUDA in environment:
            notes.append(f"leave out {_FORCE_CUDA} for a CPU build of torch")
    imports = (name for each in built for name in each.imports)
    return with_build_tools(command, missing, notes, (*package.requires, *imports))


def environment_of(package: Package, missing: MissingName) -> tuple[str, ...]:
    """The variables for a complete build of the package for the target."""
    return tuple(each for each in package.environment if _is_for_gpu(missing) or each != _FORCE_CUDA)


def _is_for_gpu(missing: MissingName) -> bool:
    return (missing.target is None or missing.target.variant != "cpu") and _platform(missing) != "macosx"


def _is_built_alike(other: Package, package: Package) -> bool:
    return other.sdist and (other.environment, other.requires) == (package.environment, package.requires)


def with_build_tools(command: str, missing: MissingName, notes: Iterable[str], more: Iterable[str] = ()) -> str:
    """The command that installs the requirements of a build without isolation, the build and a comment, in one line.

    Args:
        notes: parts of the comment.
        more: further requirements of the project.
    """
    release = None if missing.target is None else versions.order(missing.target.version)
    tools = dict.fromkeys((*_BUILD_TOOLS, *more))
    notes = list(notes)
    if release is not None and release[:2] < _WITHOUT_PKG_RESOURCES:
        tools = dict.fromkeys(_OLD_SETUPTOOLS if each == "setuptools" else each for each in tools)
    elif release is None:
        notes.append(f"torch before 2.2 needs {_OLD_SETUPTOOLS}")
    comment = f"  # {'; '.join(notes)}" if notes else ""
    return f"pip install -U {' '.join(tools)} && {command}{comment}"


def install_torch(version: str, missing: MissingName, *, cuda: str | None = None, variant: str = "") -> str | None:
    """The command that installs one release of torch; see `find_torch`."""
    found = find_torch(version, missing, cuda=cuda, variant=variant)
    return None if found is None else f"pip install {found[0]}"


def find_torch(
    version: str, missing: MissingName, *, cuda: str | None = None, variant: str = ""
) -> tuple[str, str] | None:
    """Arguments of `pip install` for one release of torch in the installed or possible variant, and that variant; None
    if no index has it.

    Args:
        cuda: required CUDA major release; "" for any.
        variant: preferred variant, before that of the target.
    """
    wanted_variant, variant = variant, "" if missing.target is None else missing.target.variant
    platform = _platform(missing)
    for wheels in (wheels_by_id()[each] for each in packages_by_name()[_TORCH].wheels):
        known = _of_release(wheels.variants, version)
        if known is None or platform not in wheels.platforms:
            continue
        if wanted_variant in known:
            chosen: str | None = wanted_variant
        elif cuda is not None:
            wanted = [each for each in known if (found := _CUDA.fullmatch(each)) is not None and cuda in ("", found[1])]
            chosen = max(wanted, default=None)
        else:
            chosen = _nearest(known, wanted_variant or variant)
        if chosen is not None:
            return _filled(wheels, packages_by_name()[_TORCH], version, chosen, missing), chosen
    return None


def from_package_index(version: str, missing: MissingName) -> str:
    """The command that installs one release of torch from the package index, with the CUDA of the build there."""
    releases = missing.knowledge.releases
    builds = () if releases is None else releases.builds(missing.knowledge.machine)
    cuda = next((build.cuda for build in builds if build.torch == version and not build.user), None)
    comment = "" if cuda is None else f"  # the build of the package index, for CUDA {cuda}: it needs a driver for that"
    return f"pip install torch=={version}{comment}"


def is_cuda_of_no_release(cuda: str) -> bool:
    """Whether no wheel of a torch release is for this CUDA (`12.0`). False for CUDA before 12: the catalogue lacks
    variants of old releases."""
    if (versions.order(cuda) or ()) < _FIRST_COMPLETE_CUDA:
        return False
    rows = (wheels_by_id()[each] for each in packages_by_name()[_TORCH].wheels)
    variants = {variant for row in rows for known in row.variants.values() for variant in known}
    return f"cu{cuda.replace('.', '')}" not in variants


def torch_of_variant(variant: str, missing: MissingName) -> str | None:
    """The command that installs torch in one variant: the target's release if it has it, else the newest that has it;
    None if none has."""
    version = "" if missing.target is None else missing.target.version
    rows = [wheels_by_id()[each] for each in packages_by_name()[_TORCH].wheels]
    rows = [row for row in rows if _platform(missing) in row.platforms]
    of_target = any(variant in (_of_release(row.variants, version) or ()) for row in rows)
    newest = next((torch for row in rows for torch, known in row.variants.items() if variant in known), None)
    if newest is None:
        return None
    return install_torch(
        version if of_target else newest if newest.count(".") > 1 else f"{newest}.0", missing, variant=variant
    )


def example_variant(cuda: str) -> str:
    """`, such as cu126`: the oldest variant of torch for a CUDA in the newest release with one; empty if none is known.

    Args:
        cuda: the major release; "" for any.
    """
    for wheels in (wheels_by_id()[each] for each in packages_by_name()[_TORCH].wheels):
        for known in wheels.variants.values():
            of_cuda = [v for v in known if (found := _CUDA.fullmatch(v)) is not None and cuda in ("", found[1])]
            if of_cuda:
                return f", such as {min(of_cuda)}"
    return ""


def for_release(package: Package, torch: str, missing: MissingName) -> tuple[str, ...]:
    """The wheel of a package for a release of torch with possibly unknown variant, else with the newest torch that has
    a wheel. Empty if none is known."""
    rows = [wheels_by_id()[each] for each in package.wheels if _platform(missing) in wheels_by_id()[each].platforms]
    for wheels in rows:
        known = _of_release(wheels.variants, torch)
        if known is not None:
            chosen = missing.target.variant if missing.target is not None else known[-1]
            variant = chosen if chosen in known else known[-1]
            return (_published(wheels, package, torch, variant, missing).command,)
    if not rows:
        return ()
    older = [each for each in rows[0].variants if (versions.order(each) or ()) < (versions.order(torch) or ())]
    if not older:
        return ()
    newest = max(older, key=lambda each: versions.order(each) or ())
    variant = rows[0].variants[newest][-1]
    release = newest if newest.count(".") > 1 else f"{newest}.0"
    cuda = _CUDA.fullmatch(variant)
    other = install_torch(release, missing, cuda=None if cuda is None else cuda[1])
    none = f"No wheel of {package.name} for torch {torch} is known; the newest known before it is for torch {newest}:"
    command = _published(rows[0], package, release, variant, missing).command
    return (none, command) if other is None else (none, other, command)


def with_cuda(package: Package, missing: MissingName, variant: str) -> tuple[str, ...]:
    """The commands that install a CUDA build of the target's torch (of the newest with a wheel, if it is unknown) and
    the wheel of a package for it; empty if no such wheel is known, or the target is a source build.

    Args:
        variant: preferred variant; another one of its CUDA is used if that has no wheel.
    """
    if missing.knowledge.target_from_source:
        return ()
    rows = [wheels_by_id()[each] for each in package.wheels if _platform(missing) in wheels_by_id()[each].platforms]
    target = missing.target
    stated = target is not None and versions.order(target.version) is not None
    version = target.version if target is not None and stated else f"{next(iter(rows[0].variants))}.0" if rows else ""
    for wheels in rows:
        chosen = _nearest(_of_release(wheels.variants, version) or (), variant)
        if chosen is None:
            continue
        build = TorchBuild(TorchKind.RELEASE, version, chosen, None, None, None, None, None)
        there = MissingName(missing.reference, replace(missing.knowledge, target=build), missing.file)
        torch = (install_torch(version, there) or "").replace("pip install", "pip install --force-reinstall", 1)
        notes = [] if stated else [f"torch {version} and {chosen} are examples: put yours, if both have a wheel for it"]
        if variant and chosen != variant and _CUDA.fullmatch(variant) is not None:
            notes.append(f"torch {version} has no {variant} build; {chosen} installs its own CUDA runtime")
        if pythons := pythons_of_wheel(wheels, version):
            notes.append(f"both have wheels for Python {pythons[0]}-{pythons[-1]}")
            here = missing.loading_python
            notes.append(f"not for {here}" if here is not None and here not in pythons else "")
        torch += f"  # {'; '.join(filter(None, notes))}" if torch and any(notes) else ""
        return tuple(filter(None, (torch, _published(wheels, package, version, chosen, there).command)))
    return ()


def pythons_of_wheel(wheels: Wheels, torch: str) -> tuple[PythonVersion, ...]:
    """The CPythons for which a torch and the wheel of a package both exist, oldest first."""
    return tuple(each for each in with_wheels(torch) if not wheels.pythons or _in_span(each, wheels.pythons))


def pythons_of_package(package: Package, torch: str) -> tuple[PythonVersion, ...]:
    """The same for the first row of wheels of a package that has the torch."""
    rows = (wheels_by_id()[each] for each in package.wheels)
    return next((pythons_of_wheel(row, torch) for row in rows if _of_release(row.variants, torch) is not None), ())


def _published(wheels: Wheels, package: Package, torch: str, variant: str, missing: MissingName) -> PublishedWheel:
    arguments = _filled(wheels, package, torch, variant, missing)
    release = _of_release(wheels.releases, torch) or ""
    return PublishedWheel(arguments, wheels.with_torch, release, imports=package.imports)


def _nearest(known: tuple[str, ...], variant: str) -> str | None:
    """The variant, if it is known; else the newest of the same CUDA; the newest of all if none is given."""
    if variant in known:
        return variant
    cuda = [each for each in known if _CUDA.fullmatch(each)]
    if not variant:
        return max(cuda, default=None)
    major = _CUDA.fullmatch(variant)
    if major is None:
        return None
    same = [each for each in cuda if (found := _CUDA.fullmatch(each)) is not None and found[1] == major[1]]
    return max(same or cuda, default=None)


def _upgrade(package: Package) -> str:
    return f"pip install --upgrade {package.name}"


def _for_any(package: Package, missing: MissingName, variant: str | None) -> tuple[str, ...]:
    """For an unknown torch: the page or the release for any torch, if it has wheels for the platform."""
    platform = _platform(missing)
    for wheels in (wheels_by_id()[each] for each in package.wheels):
        if platform not in wheels.platforms:
            continue
        torch = next((each for each, known in wheels.variants.items() if variant in known), next(iter(wheels.variants)))
        known = wheels.variants[torch]
        of_example = variant if variant in known else max((v for v in known if _CUDA.match(v)), default=known[-1])
        if package.fetches_wheel:
            return _fetched(package, wheels)
        places = _places(wheels, package, torch if torch.count(".") > 1 else f"{torch}.0", of_example)
        example = wheels.install.format_map({**places, "python": "cp312", "py": "py312", "platform": platform})
        how = _PIP_WITH_TORCH if wheels.with_torch else _PIP
        what = "torch" if variant == of_example else "torch and CUDA"
        return (f"{how} {example}  # for torch {places['torch']}+{of_example}: replace with your {what}",)
    return (_upgrade(package),) if package.upgrade else ()


def _fetched(package: Package, wheels: Wheels) -> tuple[str, ...]:
    """Install a package whose build fetches the wheel for the installed torch, in a release that has one."""
    newest, *older = dict.fromkeys(wheels.releases.values())
    ways = [f"{BUILD} {package.name}=={newest}"]
    for release in (newest, *older):
        torches = [torch for torch, each in wheels.releases.items() if each == release]
        span = torches[-1] if len(torches) == 1 else f"{torches[-1]}-{torches[0]}"
        line = f"{BUILD} {package.name}=={release}  # for torch {span}: installs the published wheel"
        ways = [line] if release == newest else [*ways, line]
    return tuple(ways)


def find_wheel(package: Package, missing: MissingName, target: TorchBuild) -> PublishedWheel | None:
    """The published wheel for the target; None if none is known."""
    return next(_wheels_for(package, missing, target), None)


def _wheels_for(package: Package, missing: MissingName, target: TorchBuild) -> Iterator[PublishedWheel]:
    """The wheel of each row of wheels with one for the target."""
    platform = _platform(missing)
    python = missing.loading_python
    for wheels in (wheels_by_id()[each] for each in package.wheels):
        known = _of_release(wheels.variants, target.version)
        if known is None or platform not in wheels.platforms:
            continue
        variant = _chosen_variant(package, known, target)
        if variant is None or (wheels.releases and _of_release(wheels.releases, target.version) is None):
            continue
        if python is not None and wheels.pythons and not _in_span(python, wheels.pythons):
            continue
        remark = ""
        if python is None and "{python}" in wheels.install:
            tag = wheels.pythons[-1]
            remark = f"{_tag(tag)} is Python {tag}: replace with yours"
        yield replace(_published(wheels, package, target.version, variant, missing), remark=remark)


def _chosen_variant(package: Package, known: tuple[str, ...], target: TorchBuild) -> str | None:
    if package.any_variant:
        return known[0]
    variant = target.variant
    if variant in known:
        return variant
    major = _CUDA.fullmatch(variant)
    return variant if major is not None and f"cu{major[1]}" in known else None


def _of_release(table: dict[str, _Entry], version: str) -> _Entry | None:
    """The entry of a torch: by full version, else by minor release."""
    found = table.get(version)
    return found if found is not None else table.get(versions.minor(version))


def _filled(wheels: Wheels, package: Package, torch: str, variant: str, missing: MissingName) -> str:
    abi = missing.knowledge.target_cxx11_abi
    if abi is None:
        at = versions.order(torch) or ()
        abi = has_the_new_string(f"{torch}+{variant}") or at[:2] >= _NEW_STRING
    python = missing.loading_python
    tag = _tag(str(python)) if python is not None else _tag(wheels.pythons[-1]) if wheels.pythons else ""
    of_process = {"abi": "TRUE" if abi else "FALSE", "python": tag, "py": tag.replace("cp", "py")}
    places = {**_places(wheels, package, torch, variant), **of_process, "platform": _platform(missing)}
    return wheels.install.format_map(places)


def _places(wheels: Wheels, package: Package, torch: str, variant: str) -> dict[str, str]:
    minor = versions.minor(torch)
    major = None if variant in _MAJORS else _CUDA.fullmatch(variant)
    return {
        "name": package.name,
        "release": _of_release(wheels.releases, torch) or "",
        "torch": torch,
        "minor": minor,
        "short": minor.replace(".", ""),
        "digits": torch.replace(".", ""),
        "variant": variant,
        "major": major[1] if major is not None else variant.removeprefix("cu"),
        "abi": "TRUE",
    }


def _tag(python: str) -> str:
    return "cp" + python.replace(".", "")


def _in_span(python: PythonVersion, span: tuple[str, ...]) -> bool:
    first, last = (versions.order(each) or () for each in span)
    return first[:2] <= (python.major, python.minor) <= last[:2]


def _platform(missing: MissingName) -> str:
    """The platform in wheel tags: from the file's name, else from the text, else Linux."""
    path = missing.file.path
    for platform, marks in _PLATFORMS:
        if any(mark in path for mark in marks):
            return platform
    if missing.macho:
        return "macosx"
    if "aarch64" in path:
        return "linux_aarch64"
    environment = missing.environment
    if environment is not None and environment.platform:
        return environment.platform
    return f"linux_{missing.knowledge.machine}"
