"""Fixes that choose a torch: its release, its GPU build, its std::string."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from abiscan.diagnosis.fixes import package_commands, torch_commands
from abiscan.diagnosis.fixes.extension_fixes import is_of_android, rebuild, reinstall
from abiscan.diagnosis.fixes.hip_sources import is_for_hip
from abiscan.diagnosis.fixes.libtorch_programs import find_program, use_libtorch
from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.fixes.torch_ranges import torch_range
from abiscan.diagnosis.fixes.wheel_rows import is_on_windows
from abiscan.diagnosis.missing_name import MissingName, kept_for_file
from abiscan.diagnosis.text.gpu_vendors import NO_GPU
from abiscan.mangling import string_abi
from abiscan.model import versions
from abiscan.model.python_version import PythonVersion
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.gpu_libraries import find_toolkit, needs_gpu_build
from abiscan.releases.build import loaded_globally
from abiscan.releases.pythons import with_wheels
from abiscan.releases.torch_indexes import INDEXES

# The oldest maintained CPython: if no release in a range has wheels for it, the fix says so.
_MAINTAINED = PythonVersion(3, 10)


def install_torch(missing: MissingName, ranges: ReleaseRanges) -> str | None:
    """Install a torch that exports the symbol, and the file's other symbols if known; None if there is none with wheels
    for the CPython."""
    if is_of_android(missing) or find_program(missing) is not None:
        return None
    if missing.log.is_jetson:
        which = f" {ranges.text()}" if ranges else ""
        return f"Install torch{which}: {torch_commands.WHEELS_FOR_JETSON}"
    if missing.knowledge.loads_on is not None:
        ranges = missing.knowledge.loads_on
    others = missing.knowledge.lacks_cuda_on
    if not ranges and others and (of_file := _cuda_of_file(missing)):
        return _newest_for_cuda(of_file, missing, others)
    if not ranges or (missing.knowledge.target_from_source and missing.file.facts is None):
        return None  # of a text: it would replace the torch that was built
    if missing.file.facts is None:
        ranges = _of_build(missing, ranges) or ranges
    ranges, newest = with_wheels_here(missing, ranges)
    if not ranges:
        return None
    if missing.file.facts is None:
        ranges = _nearest(missing, ranges, newest)
    command = None
    if missing.file.facts is None and ranges.last != newest and missing.target is not None:
        command = torch_commands.install_torch(ranges.last, missing, as_released=True)
    cuda = _cuda_of_file(missing) if is_on_windows(missing) else None
    if cuda is not None:
        # The package index has builds without CUDA for Windows.
        command = _newest_for_cuda(cuda, missing, ranges)
        if command is None:
            return None
    command = command or f"pip install {torch_range(ranges, newest)}"
    newest_python = max(with_wheels(ranges.last), default=None)
    if missing.loading_python is not None or newest_python is None or newest_python >= _MAINTAINED:
        return command
    return f"{command}  # no wheels for Python > {newest_python}"


def _cuda_of_file(missing: MissingName) -> str | None:
    """Major release of the CUDA that the file needs, empty if it is unknown; None if it needs none."""
    toolkit = find_toolkit(missing.file.needed)
    if toolkit is not None and toolkit.kind == "CUDA":
        return toolkit.version.partition(".")[0]
    return "" if needs_gpu_build(missing.file.needed) else None


def _newest_for_cuda(cuda: str, missing: MissingName, ranges: ReleaseRanges) -> str | None:
    """The command that installs the newest release in the ranges that has a build for that CUDA."""
    releases = (each for each in reversed(missing.known_versions) if ranges.contains(each))
    commands = (torch_commands.install_torch(each, missing, cuda=cuda) for each in releases)
    return next((command for command in commands if command is not None), None)


def with_wheels_here(missing: MissingName, ranges: ReleaseRanges) -> tuple[ReleaseRanges, str | None]:
    """The releases in the ranges that have wheels for the CPython that loads the file, and the newest of them, if the
    ranges have the newest known release."""
    there = frozenset(missing.installable_versions)
    found = ReleaseRanges.of_known(missing.known_versions, lambda each: each in there and ranges.contains(each) is True)
    has_newest = found and missing.known_versions and ranges.last == missing.known_versions[-1]
    return found, found.last if has_newest else None


def _nearest(missing: MissingName, ranges: ReleaseRanges, newest: str | None) -> ReleaseRanges:
    """The releases in the ranges that are nearest to the target: all before it, else, where a later release has no such
    export, the first range after it, of which only the first minor release if the newest torch has no such export."""
    target = missing.target_version
    if not target:
        return ranges
    before = ranges.last_before(target)
    if before is not None:
        return ranges.intersect(ReleaseRanges(((ranges.first, before),)))
    first = ranges.first_after(target)
    if first is None:
        return ranges
    if ranges.last == newest:
        return ReleaseRanges(tuple(each for each in ranges if each[0] == first)) or ranges
    of_minor = [each for each in missing.known_versions if each.startswith(f"{versions.minor(first)}.")]
    return ranges.intersect(ReleaseRanges(((first, of_minor[-1]),)))


def _of_build(missing: MissingName, ranges: ReleaseRanges) -> ReleaseRanges:
    """The releases in the ranges that the text states the file was built with; empty if it states none of them."""
    built = missing.log.compiled_for
    if not built:
        return ReleaseRanges()
    return ReleaseRanges.of_known(
        missing.known_versions, lambda each: f"{each}.".startswith(f"{built}.") and ranges.contains(each) is True
    )


def cuda_variant(missing: MissingName, cuda: str = "") -> str:
    """The variant of the release on the package index, which published extensions are built for; empty if it is unknown
    or of another CUDA.

    Args:
        cuda: its major release; "" for any.
    """
    builds = () if missing.target is None else missing.knowledge.released_builds(missing.target.version)
    return next((each.variant for each in builds if each.cuda and cuda in ("", each.cuda.partition(".")[0])), "")


def build_for(accelerator: str, missing: MissingName) -> str:
    """Install the build of torch for `CUDA`, `ROCm` or `XPU`, or the extension for the installed build."""
    if accelerator == "CUDA":
        return gpu_build(missing)
    name, where = ("xpu", "") if accelerator == "XPU" else ("rocmX.Y", "X.Y: the ROCm on this machine; ")
    return (
        f"pip install --force-reinstall torch --index-url {INDEXES}{name}  # {where}the {accelerator} "
        "build of the release that the extension was built for\n"
        f"or: Install the build of the extension for {missing.target_label}"
    )


@kept_for_file
def gpu_build(missing: MissingName, *, cuda: str = "") -> str:
    """Install the GPU build of the same torch (of another release, if no build of that one loads the file), or the
    extension for its CPU build.

    Args:
        cuda: its major release; "" for that of the CUDA libraries that the file needs.
    """
    program = find_program(missing)
    if program is not None:
        return f"{use_libtorch(missing, program, ReleaseRanges())}\nFor a GPU: the archive of a CUDA, not that of cpu"
    if missing.log.is_jetson:
        return f"Install a torch for CUDA: {torch_commands.WHEELS_FOR_JETSON}"
    if (of_amd := torch_commands.torch_with_hip(missing)) is not None:
        return f"{of_amd}\nThen: {rebuild(missing)}"
    if missing.knowledge.from_source and not is_for_hip(missing):
        build = rebuild(missing.with_knowledge(log=replace(missing.log, gpu=NO_GPU)))
        return f"{build}\nor, for a GPU: build torch again with CUDA (USE_CUDA=1, nvcc in PATH), then the extension"
    toolkit = find_toolkit(missing.file.needed)
    if not cuda and toolkit is not None and toolkit.kind == "CUDA":
        cuda = toolkit.version.partition(".")[0]
    torch, variant = missing.target_version, cuda_variant(missing, cuda)
    command = (torch_commands.install_torch(torch, missing, cuda=cuda, variant=variant) if torch else None) or (
        f"pip install torch=={torch} --index-url https://download.pytorch.org/whl/{variant}" if variant else ""
    )
    command = torch_commands.force_reinstall(command)
    if missing.knowledge.no_variant_loads:
        command = install_torch(missing, missing.knowledge.loads_on or ReleaseRanges()) or ""
    known = package_commands.find_package(missing)
    if known is not None and not missing.knowledge.no_variant_loads:
        command = "\n".join(package_commands.of_installed_release(known, missing, variant)) or command
    if known is not None and known.conda.startswith(_FORGE) and (missing.log.is_conda or not known.wheels):
        return _gpu_build_of_conda(known.conda.removeprefix(_FORGE))
    of_extension = () if known is None else package_commands.install(known, missing)
    if of_extension and of_extension[0].startswith("pip "):
        of_extension = of_extension[:1]
    example = torch_commands.example_variant(cuda)
    words = f"Install a CUDA {cuda and cuda + ' '}build of torch (the wheel index of its variant)"
    if example:
        note = f"a build for CUDA{cuda and f' {cuda}'}, of the release that the extension was built for"
        words = f"pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/{example}  # {note}"
    first = command or ("" if missing.knowledge.no_variant_loads else words)
    return "\nor: ".join(
        filter(
            None,
            (first, "\n".join(of_extension) or "Install the CPU build of the extension, if the project publishes one"),
        )
    )


_FORGE: Final = "conda-forge::"


def _gpu_build_of_conda(name: str) -> str:
    """Install a package of conda-forge with its torch for CUDA: conda installs CPU builds where it sees no driver."""
    return (
        f'CONDA_OVERRIDE_CUDA=12.6 conda install -c conda-forge {name} "pytorch=*=cuda*"  # a CUDA that the driver '
        "supports: nvidia-smi; conda list pytorch must then print a build with cuda"
    )


@kept_for_file
def rebuild_or_install(missing: MissingName, ranges: ReleaseRanges) -> str:
    """The ways to fix it: the extension built for this torch, or another torch."""
    program = find_program(missing)
    if program is not None and not is_of_android(missing):
        return use_libtorch(missing, program, missing.knowledge.loads_on or ranges)
    first, *ways = reinstall(missing)
    other = install_torch(missing, ranges)
    return "\n".join((first, *ways)) + ("" if other is None else f"\nor: {other}")


_SHOWS_TORCH: Final = 'python -c "import torch; print(torch.__version__)"'


def by_release(missing: MissingName, ranges: ReleaseRanges, ways: str) -> str:
    """For an unknown torch: how to find its release, and what to do in either case; for a source build, only `ways`.

    Args:
        ranges: the releases that export the symbol.
        ways: what to do with another release.
    """
    program = find_program(missing)
    shows = _SHOWS_TORCH if program is None else program.shows
    if missing.knowledge.target_from_source or not shows or is_of_android(missing):
        return ways
    exporting = ranges.text(last=" or ")
    return (
        f"{shows}  # prints the installed release\n"
        f"If it is {exporting}, the symbol is exported: {_if_exported(missing, ranges)}\n"
        f"Otherwise: {ways}"
    )


def _if_exported(missing: MissingName, ranges: ReleaseRanges) -> str:
    """What to do if the unknown torch is of a release that exports the symbol."""
    steps = []
    if not missing.macho and not missing.reference.link_time:
        if string_abi(missing.name) is not None and missing.cxx is not None:
            compilers = with_new_string(missing)
            again = "build the extension again" + (f" {compilers}" if compilers else "")
            steps.append(
                "that torch may have the new std::string, as conda-forge's and NVIDIA's builds have: install torch and "
                f"the extension both with pip or both from conda-forge, or {again}"
                if string_abi(missing.name) == "old"
                else f"that torch may have the other std::string: {again}"
            )
        if loaded_globally(ranges.first):
            before = "" if loaded_globally(ranges.last) else " (up to torch 1.4: extensions do not link its libraries)"
            steps.append(f"import torch before {safe(missing.file.module, 'the extension')}{before}")
    if missing.macho and missing.reference.status is None:
        steps.append(
            "uname -m; file torch/lib/libtorch_cpu.dylib  # of that torch: dyld and ld skip one for another processor"
        )
    return "; or ".join(steps) or "run abiscan explain --torch VERSION for other causes"


# torch 1.5 needs GCC 5 (c10/util/C++17.h of its wheel).
_FIRST_WITHOUT_GCC_4: Final = (1, 5)


def with_new_string(missing: MissingName) -> str:
    """The compilers for a symbol with the old std::string, which is the only one of GCC 4; empty if the torch is one
    that GCC 4 does not compile for."""
    oldest = missing.exported_in.first if missing.exported_in else ""
    release = oldest if missing.target is None else missing.target.version
    at = versions.order(release)
    if string_abi(missing.name) != "old" or missing.macho or (at is not None and at[:2] >= _FIRST_WITHOUT_GCC_4):
        return ""
    return "with GCC 5 or later (export CC=gcc-5 CXX=g++-5): GCC 4 has only the old std::string"
