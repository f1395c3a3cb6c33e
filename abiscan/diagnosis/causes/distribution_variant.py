"""distribution-variant: another build of the target's version, or libraries of two torch builds in one process."""

from __future__ import annotations

import re
from typing import Final

from abiscan.diagnosis import fixes, torch_commands
from abiscan.diagnosis.build_commands import BUILD
from abiscan.diagnosis.catalogue.load_packages import programs_by_id
from abiscan.diagnosis.catalogue.package_row import Package
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.other_builds import is_other_build, is_packaged
from abiscan.diagnosis.package_commands import find_package
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.release_position import Position
from abiscan.mangling import NameKind
from abiscan.model import versions
from abiscan.model.cause import CauseId
from abiscan.model.target import TorchKind
from abiscan.ownership.torch_names import accelerator_of

# Of torch before 0.4 (its folders torch/lib/THPP, THD).
_OLDER_NAMESPACES = frozenset(("thpp", "thd"))
_CLEAN = "python setup.py clean; rm -rf build torch/lib; then build it again"


def causes(missing: MissingName) -> Candidates:
    """The builds of torch that may differ from the one that the file was built for."""
    if missing.is_of_template_parameters and missing.file.is_torch_itself:
        return  # the mangling of one compiler: two builds of torch by another one do not differ in it
    if missing.file.is_torch_itself and (missing.is_torch_name or missing.namespace in _OLDER_NAMESPACES):
        yield from _mixed(missing)
        return
    if not missing.is_torch_name:
        return
    package = find_package(missing)
    if package is not None and package.own_torch:
        yield _own_torch(missing, package)
    knowledge = missing.knowledge
    # A wheel with torch's release in its label is not the image's.
    if (
        package is not None
        and knowledge.log.is_nvidia_image
        and not knowledge.log.made_for
        and package.name in _IN_NVIDIA_IMAGE
    ):
        yield _of_image(missing, package)
    yield from _other_build(missing)


def _own_torch(missing: MissingName, package: Package) -> Candidate:
    """An extension for a torch of another vendor, which is not a release of the package index."""
    evidence = (
        f"{package.name} is built for a torch that its vendor distributes: its exports differ from those of the "
        f"release of the same version.",
        missing.exported_text,
    )
    return Candidate(CauseId.DISTRIBUTION_VARIANT, 0.88, evidence, f"Use the torch of {package.own_torch}")


# Release notes of NVIDIA's PyTorch containers, read 2026-11-26.
_IN_NVIDIA_IMAGE = frozenset(("transformer-engine-torch", "apex", "flash-attn", "torch-tensorrt", "torchvision"))


def _of_image(missing: MissingName, package: Package) -> Candidate:
    """An extension of an image of NVIDIA, beside another torch than the image's."""
    evidence = (
        f"Images of NVIDIA have {package.name}, built for the torch of the image, which is no release.",
        "A package that requires torch may have replaced it (pip list shows a version without `nv` or a commit).",
        missing.exported_text,
    )
    fix = (
        f"{fixes.uninstall(package)}  # if the program does not need it\n"
        f"or build it for the installed torch: {fixes.rebuild(missing)}\n"
        "or start from the image again, and keep its torch: PIP_CONSTRAINT=/etc/pip/constraint.txt pip install ..."
    )
    return Candidate(CauseId.DISTRIBUTION_VARIANT, 0.78, evidence, fix)


def _mixed(missing: MissingName) -> Candidates:
    """A library of torch misses a torch symbol: its libraries are always built together."""
    evidence = [
        f"{missing.file.file_name} is a library of torch and needs {missing.shown}, a torch symbol, and does not "
        f"find it: the process mixes libraries of two torch builds.",
        missing.exported_text,
    ]
    evidence += _several_torches(missing)
    name = fixes.safe(missing.file.file_name, "FILE")
    stray = _of_no_package(missing)
    fix = (
        f"ldd {name} | grep -E 'libtorch|libc10'  # run it in the folder of the file: libraries of other folders "
        f"belong to another torch\n"
        "unset LD_LIBRARY_PATH LD_PRELOAD  # if they contain that folder\n"
        f"{stray}or: pip uninstall -y torch; pip uninstall -y torch  # until none is left\n{_torch_again(missing)}\n"
        f"{_of_program(missing)}"
        f"or, if torch is built from source: {_CLEAN}"
    )
    lacking = _exporting_releases_have_gap(missing)
    yield Candidate(CauseId.DISTRIBUTION_VARIANT, 0.72 if lacking else 0.8, tuple(evidence), fix)
    stale = (
        f"{missing.file.file_name} needs {missing.shown}, a torch symbol, and does not find it.",
        "An older torch may have left a library behind when this one was installed over it.",
    )
    # No build hides C names.
    yield Candidate(
        CauseId.BUILT_FOR_OLDER_TORCH,
        0.55 if missing.name_kind is NameKind.C else 0.45,
        stale,
        f"{_torch_again(missing)}\nor, in a source directory: {_CLEAN}",
    )
    hidden = (
        f"{missing.file.file_name} needs {missing.shown}, a torch symbol, and does not find it.",
        "In a torch that was built from source, the library that defines it may not export it (no TORCH_API).",
    )
    at_gap = lacking and missing.position in (Position.GAP, Position.NEVER, Position.BEFORE, Position.AFTER)
    yield Candidate(
        CauseId.SYMBOL_HIDDEN,
        0.78 if at_gap else 0.5,
        (*hidden, missing.exported_text) if lacking else hidden,
        _release_or_clean_build(missing) if lacking else _CLEAN_BUILD,
    )


def _of_program(missing: MissingName) -> str:
    """How to build a program without Python that loads the library; empty for the torch of a Python."""
    if "-packages/" in missing.file.path:
        return ""
    build = programs_by_id()["c++"].build
    return f"or, where a program without Python loads it, build the program again with one libtorch: {build}\n"


_CLEAN_BUILD: Final = "Build torch again from a clean tree (python setup.py clean), or install a release."


def _exporting_releases_have_gap(missing: MissingName) -> bool:
    """Whether releases between those that export it do not: what needs it there finds it in no library."""
    return missing.exported_in is not None and len(missing.exported_in) > 1


def _release_or_clean_build(missing: MissingName) -> str:
    """Another release, in which the symbol is exported, or a build that exports it."""
    ranges = missing.exported_in
    other = None if ranges is None else fixes.install_torch(missing, ranges)
    build = "in the source, mark the function TORCH_API (TORCH_CUDA_API), as later releases do, and build torch again"
    return f"{other or 'Install a release that exports it'}\nor, to keep this release: {build}"


# Folders that the loader searches by default.
_SYSTEM: Final = r"/(?:usr/)?(?:local/)?lib(?:64|/[a-z0-9_]+-linux-gnu)?/[^/]+"


def _of_no_package(missing: MissingName) -> str:
    """What to do with a copy of libtorch in a folder of the system, which an extension loads before torch's own."""
    path = missing.file.path
    if re.fullmatch(_SYSTEM, path) is None or not fixes.safe(path, ""):
        return ""
    folder = path.rpartition("/")[0]
    return (
        f"This libtorch is in a folder of the system, and not part of the torch of Python: dpkg -S {path}  # its "
        f"package, if it has one: remove that; otherwise mkdir /opt/libtorch.old; mv {folder}/libtorch* "
        f"{folder}/libc10* /opt/libtorch.old; ldconfig\n"
        f"Then build the extension again with the torch of Python: {BUILD} .\n"
    )


def _torch_again(missing: MissingName) -> str:
    """The command that reinstalls all libraries of torch."""
    target = missing.target
    if target is not None and versions.is_release(target.version):
        known = torch_commands.install_torch(target.version, missing)
        return (known or f"pip install torch=={target.version}").replace("pip install", "pip install --force-reinstall")
    return "pip install --force-reinstall torch  # with the --index-url of its variant"


def _other_build(missing: MissingName) -> Candidates:
    """A release of the same version exports the name, or this build cannot be compared with a release: another build of
    the version."""
    target = missing.target
    if target is None:
        if missing.knowledge.target_from_source:
            told = (_source_build_text(missing), missing.exported_text)
            yield Candidate(CauseId.DISTRIBUTION_VARIANT, 0.78, told, fixes.rebuild(missing))
        elif missing.exported_in:
            yield Candidate(
                CauseId.DISTRIBUTION_VARIANT,
                0.3,
                (
                    missing.exported_text,
                    "A build from NGC, conda or source may differ from the release of the same version.",
                ),
                fixes.rebuild(missing),
            )
        return
    if target.variant == "cpu" and _is_exported_by_gpu_libraries(missing):
        # gpu_builds covers it: no CPU build has the symbol.
        return
    evidence = []
    score = 0.0
    odd = is_other_build(target)
    if missing.position is Position.INSIDE and missing.linux_counterpart is not None:
        # The target's Linux build is known, and has the function under another name.
        score = 0.4
        evidence.append(missing.exported_text)
    elif missing.position is Position.INSIDE and missing.target_library is None:
        score = 0.72
        evidence.append(missing.exported_text)
        if missing.knowledge.exports is not None:
            differs = "has that version but does not export it: it is a different build"
        else:
            differs = "is a different build of that version, whose exports are unknown"
        evidence.append(f"{missing.target_label} {differs} (source, conda, NGC, another variant).")
    elif missing.position is Position.INSIDE and not missing.knowledge.exact and missing.reference.status is None:
        score = 0.5
        evidence.append(
            f"{_releases_of(target.version)} {missing.shown}, so another build or version of torch was loaded."
        )
    elif odd and missing.position is not Position.INSIDE:
        score = 0.45 if missing.knowledge.target_is_before_index else 0.6
        if missing.macho and not missing.exported_in:
            score = 0.3  # no build for macOS is like it, so a nightly cannot be excluded
        evidence.append(
            f"{missing.target_label} is a source build or nightly, not a release: its exports may differ from every "
            f"release."
        )
        evidence.append(missing.exported_text)
    if odd and score:
        score = min(score + 0.06, 0.79)
    if missing.knowledge.target_from_source:
        evidence.insert(0, _source_build_text(missing))
    if not score:
        return
    release = _release_revision(missing)
    if target.git_revision and release:
        if release == target.git_revision:
            score -= 0.2
            evidence.append(f"Against it: its git revision {release[:10]} is that of the release.")
        else:
            score = min(score + 0.12, 0.9)
            evidence.append(f"Its git revision {target.git_revision[:10]} is not that of the release ({release[:10]}).")
    if several := _several_torches(missing):
        score = min(score + 0.08, 0.9)
        evidence += several
    if missing.name_kind is NameKind.C:
        score -= 0.1
    yield Candidate(CauseId.DISTRIBUTION_VARIANT, score, tuple(evidence), _variant_fix(missing))


def _source_build_text(missing: MissingName) -> str:
    if missing.target is not None and is_packaged(missing.target):
        return f"{missing.target_label} is not the build on PyPI that prebuilt extensions are made for."
    return (
        f"{missing.target_label} is built from source: its exports depend on its commit, its std::string on its "
        f"compiler. Extensions that were built for a release may not load."
    )


def _releases_of(version: str) -> str:
    if versions.is_release(version):
        return f"torch {version} exports"
    return f"Releases near {version} export"


def _is_exported_by_gpu_libraries(missing: MissingName) -> bool:
    return bool(missing.libraries) and all(accelerator_of(library) in ("CUDA", "ROCm") for library in missing.libraries)


def _release_revision(missing: MissingName) -> str | None:
    """The git revision of the released builds of the target's version."""
    releases, target = missing.knowledge.releases, missing.target
    if releases is None or target is None:
        return None
    for build in releases.builds(missing.knowledge.machine):
        if build.torch == target.version and not build.user and build.git_revision:
            return build.git_revision
    return None


def _variant_fix(missing: MissingName) -> str:
    target = missing.target
    text = f"Rebuild it with the installed torch:\n{fixes.rebuild(missing)}"
    if missing.knowledge.target_from_source and missing.file.path:
        base = re.split(r"[/\\]", missing.file.path)[-1]
        text += (
            f"\nWith the file alone: abiscan --matrix {fixes.safe(base, 'FILE')}  # the releases of torch that load it"
        )
    if target is not None and target.kind is not TorchKind.INSTALLED:
        text += (
            "\nCheck which torch is loaded: python -c 'import torch; print(torch.__version__, torch.__file__, "
            "torch.version.git_version)'"
        )
    return text


def _several_torches(missing: MissingName) -> tuple[str, ...]:
    torches = () if missing.environment is None else missing.environment.torches
    return (f"More than one torch is installed: {', '.join(torches)}.",) if len(torches) > 1 else ()
