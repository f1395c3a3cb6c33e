"""distribution-variant: another build of the target's version, or libraries of two torch builds in one process."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from abiscan.diagnosis.catalogue.load_packages import programs_by_id
from abiscan.diagnosis.fixes import extension_fixes, torch_commands, torch_fixes
from abiscan.diagnosis.fixes.libtorch_programs import find_program, load_libtorch
from abiscan.diagnosis.fixes.package_commands import find_package
from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.fixes.wheel_rows import is_on_windows
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.other_builds import is_other_build, is_packaged
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.release_position import Position
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.mangling import NameKind, string_abi
from abiscan.model import versions
from abiscan.model.cause import CauseId
from abiscan.model.target import TorchBuild, TorchKind
from abiscan.ownership.torch_names import accelerator_of

# Of torch before 0.4 (its folders torch/lib/THPP, THD).
_OLDER_NAMESPACES = frozenset(("thpp", "thd"))


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
        own = {"own_torch": package.own_torch}
        yield from row_causes("torch-of-a-vendor", missing, commands=own, package=package.name)
    knowledge = missing.knowledge
    # A wheel with torch's release in its label is not the image's.
    if (
        package is not None
        and knowledge.log.is_nvidia_image
        and not knowledge.log.made_for
        and package.name in _IN_NVIDIA_IMAGE
    ):
        commands = {"uninstall": extension_fixes.uninstall(package)}
        yield from row_causes("torch-of-an-image-replaced", missing, commands=commands, package=package.name)
    yield from _other_build(missing)


# Release notes of NVIDIA's PyTorch containers, read 2026-11-26.
_IN_NVIDIA_IMAGE = frozenset(("transformer-engine-torch", "apex", "flash-attn", "torch-tensorrt", "torchvision"))


def _mixed(missing: MissingName) -> Candidates:
    """A library of torch misses a torch symbol: its libraries are always built together."""
    has_gap = missing.exported_in is not None and len(missing.exported_in) > 1
    in_gap = has_gap and missing.position in (Position.GAP, Position.NEVER, Position.BEFORE, Position.AFTER)
    other = None if missing.exported_in is None else torch_fixes.install_torch(missing, missing.exported_in)
    path = missing.file.path
    is_stray = re.fullmatch(_SYSTEM, path) is not None and safe(path, "") != ""
    yield from row_causes(
        "torch-of-two-builds",
        missing,
        commands={
            "stray": path if is_stray else "",
            "stray_folder": path.rpartition("/")[0],
            "torch_again": _torch_again(missing),
            "build_program": "" if "-packages/" in path else programs_by_id()["c++"].build,
            "other_torch": other or "",
        },
        file=missing.file.file_name,
        torches=_several_torches(missing),
        of_c=missing.name_kind is NameKind.C,
        gap=has_gap,
        in_gap=in_gap,
        on_windows=is_on_windows(missing),
        macos=missing.macho,
    )


# Folders that the loader searches by default.
_SYSTEM: Final = r"/(?:usr/)?(?:local/)?lib(?:64|/[a-z0-9_]+-linux-gnu)?/[^/]+"


def _torch_again(missing: MissingName) -> str:
    target = missing.target
    if target is not None and versions.is_release(target.version):
        known = torch_commands.install_torch(target.version, missing)
        return torch_commands.force_reinstall(known or f"pip install torch=={target.version}")
    return "pip install --force-reinstall torch  # with the --index-url of its variant"


def _other_build(missing: MissingName) -> Candidates:
    """A release of the same version exports the name, or this build cannot be compared with a release: another build of
    the version."""
    target = missing.target
    if target is None:
        yield from _of_unknown_target(missing)
        return
    of_gpus = (accelerator_of(library) in ("CUDA", "ROCm") for library in missing.libraries)
    if target.variant == "cpu" and missing.libraries and all(of_gpus):
        # gpu_builds covers it: no CPU build has the symbol.
        return
    score, *evidence = _by_position(missing, target)
    if not score:
        return
    if is_other_build(target):
        score = min(score + 0.06, 0.79)
    if missing.knowledge.target_from_source:
        evidence.insert(0, _source_build_text(missing))
    release = missing.knowledge.release_revision
    if target.git_revision and release:
        if release == target.git_revision:
            score -= 0.2
            evidence.append(f"Against it: its git revision {release[:10]} is that of the release.")
        else:
            score = min(score + 0.12, 0.9)
            evidence.append(f"Its git revision {target.git_revision[:10]} is not that of the release ({release[:10]}).")
    if several := _several_torches(missing):
        score = min(score + 0.08, 0.9)
        evidence.append(f"More than one torch is installed: {several}.")
    if missing.name_kind is NameKind.C:
        score -= 0.1
    yield Candidate(CauseId.DISTRIBUTION_VARIANT, score, tuple(evidence), partial(_variant_fix, missing))


def _of_unknown_target(missing: MissingName) -> Candidates:
    if missing.knowledge.target_from_source:
        told = (_source_build_text(missing), missing.exported_text)
        yield Candidate(CauseId.DISTRIBUTION_VARIANT, 0.78, told, _build_of_source(missing))
    elif missing.exported_in:
        differs = "A build from NGC, conda or source may differ from the release of the same version."
        fix = extension_fixes.rebuild(missing)
        yield Candidate(CauseId.DISTRIBUTION_VARIANT, 0.3, (missing.exported_text, differs), fix)


def _by_position(missing: MissingName, target: TorchBuild) -> tuple[float, *tuple[str, ...]]:
    """Score and evidence, from the releases that export the name; 0 if they show no other build."""
    exported = missing.exported_text
    if missing.position is Position.INSIDE:
        if missing.linux_counterpart is not None:
            # The target's Linux build is known, and has the function under another name.
            return 0.4, exported
        if missing.target_library is None:
            if missing.knowledge.exports is not None:
                differs = "has that version but does not export it: it is a different build"
            else:
                differs = "is a different build of that version, with unknown exports"
            return 0.72, exported, f"{missing.target_label} {differs} (source, conda, NGC, another variant)."
        if missing.knowledge.exact or missing.reference.status is not None:
            return (0.0,)
        used = "linked" if missing.reference.link_time else "loaded"
        releases = _releases_of(target.version)
        return 0.5, f"{releases} {missing.shown}, so another build or version of torch was {used}."
    if not is_other_build(target):
        return (0.0,)
    score = 0.45 if missing.knowledge.target_is_before_index else 0.6
    if missing.macho and not missing.exported_in:
        score = 0.3  # no build for macOS is like it, so a nightly cannot be excluded
    unknown_string = target.cxx11_abi is None and missing.knowledge.target_from_source
    if unknown_string and not missing.macho and string_abi(missing.name) == "new":
        return (
            score,
            "The file has the new std::string: this torch has the old one if torch.compiled_with_cxx11_abi() is False "
            "(-D_GLIBCXX_USE_CXX11_ABI=0).",
            exported,
        )
    differs = "is a source build or nightly, not a release: its exports may differ from every release."
    return score, f"{missing.target_label} {differs}", exported


def _source_build_text(missing: MissingName) -> str:
    if missing.target is not None and is_packaged(missing.target):
        return f"{missing.target_label} is not the build on PyPI that prebuilt extensions are made for."
    if missing.target is None and missing.log.packager:
        return f"torch is a {missing.log.packager} build, not the build on PyPI that prebuilt extensions are made for."
    return (
        f"{missing.target_label} is built from source: its exports depend on its commit, its std::string on its "
        f"compiler. Extensions that were built for a release may not load."
    )


def _releases_of(version: str) -> str:
    if versions.is_release(version):
        return f"torch {version} exports"
    return f"Releases near {version} export"


def _build_of_source(missing: MissingName) -> str:
    """The build of an extension, and the command that finds the others that need one."""
    package = find_package(missing)
    page = ", without the wheel page (-f)" if package is not None and package.wheels else ""
    lines = (f"Build it from source against this torch{page}:", extension_fixes.rebuild(missing))
    return "\n".join((*lines, *extension_fixes.check_others(missing)))


def _variant_fix(missing: MissingName) -> str:
    target = missing.target
    from_source = missing.knowledge.target_from_source
    if target is not None and not from_source and missing.position is Position.INSIDE and find_program(missing):
        return load_libtorch(missing, target.version)
    text = (
        _build_of_source(missing)
        if from_source
        else f"Rebuild it with the installed torch:\n{extension_fixes.rebuild(missing)}"
    )
    if from_source and missing.file.path:
        base = re.split(r"[/\\]", missing.file.path)[-1]
        text += f"\nWith the file alone: abiscan --matrix {safe(base, 'FILE')}  # the releases of torch that load it"
    if target is not None and target.kind is not TorchKind.INSTALLED:
        text += (
            "\nCheck which torch is loaded: python -c 'import torch; print(torch.__version__, torch.__file__, "
            "torch.version.git_version)'"
        )
    return text


def _several_torches(missing: MissingName) -> str:
    """The folders of the installed torches; empty for fewer than two."""
    torches = missing.environment.torches
    return ", ".join(torches) if len(torches) > 1 else ""
