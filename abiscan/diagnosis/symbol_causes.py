"""The causes of one missing symbol: the candidates of each module of `causes.MODULES`, of which the best by score are
kept."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from types import ModuleType

from msgspec.structs import replace

from abiscan.diagnosis.causes import MODULES, NOT_OF_TORCH
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, ranked
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.model.cause import CauseId, Confidence

# Maximum number of causes.
_MOST = 5
_OF_OTHER_BUILDS = (CauseId.DISTRIBUTION_VARIANT, CauseId.CXX11_ABI_MISMATCH)
_OF_OTHER_RELEASES = (CauseId.BUILT_FOR_OLDER_TORCH, CauseId.BUILT_FOR_NEWER_TORCH, CauseId.SIGNATURE_CHANGED)


def causes_of(missing: MissingName) -> tuple[Candidate, ...]:
    """The causes of a missing symbol, best first."""
    reference = missing.reference
    if reference.macos or missing.log.platform == "macosx":
        from abiscan.diagnosis.libraries import cuda_on_macos

        if cuda_on_macos.needs_symbol(missing):
            return tuple(row_causes("cuda-on-macos", missing, needed=missing.shown))
    is_versioned = reference.version is not None or reference.library is not None
    modules = _modules(of_torch=missing.cxx is not None and missing.is_torch_name and not is_versioned)
    causes = ranked(candidate for module in modules for candidate in module.causes(missing))[:_MOST]
    if causes and causes[0].cause is CauseId.TEMPLATE_MANGLING and causes[0].confidence is Confidence.HIGH:
        # The name is of another compiler: no release of torch exports it, whatever its signature.
        return tuple(each for each in causes if each.cause not in _OF_OTHER_RELEASES)
    if missing.knowledge.target_from_source:
        return tuple(_of_source_build(causes, missing))
    return causes


@functools.cache
def _modules(*, of_torch: bool) -> tuple[ModuleType, ...]:
    """The modules, of which a scan without a missing symbol imports none.

    Args:
        of_torch: for a C++ symbol of torch without a symbol version.
    """
    names = [name for name in MODULES if not (of_torch and name in NOT_OF_TORCH)]
    return tuple(importlib.import_module(f"abiscan.diagnosis.causes.{name}") for name in names)


def _of_source_build(causes: tuple[Candidate, ...], missing: MissingName) -> Iterator[Candidate]:
    """The causes for a torch that was built from source: releases are compared only with a known version of it."""
    explained = any(each.cause in _OF_OTHER_BUILDS for each in causes)
    for place, each in enumerate(causes):
        compared = missing.target is None and each.cause in _OF_OTHER_RELEASES
        if explained and (compared or each.confidence is Confidence.LOW):
            continue
        told = place > 0 or each.cause is CauseId.DISTRIBUTION_VARIANT
        first, *others = each.evidence
        yield each if told else replace(each, evidence=(first, *_other_commit(missing), *others))


def _other_commit(missing: MissingName) -> Iterator[str]:
    """A sentence on what shows a source build that has the number of a release: its label, or its commit."""
    here, released = missing.target and missing.target.git_revision, missing.knowledge.release_revision
    if missing.knowledge.from_source and not (missing.log.from_source or missing.log.packager):
        yield (
            f"{missing.target_label} was built from source: a wheel of PyPI for x86_64 has a label, such as +cpu, in "
            f"torch.__version__."
        )
    elif here and released and here != released:
        yield (
            f"{missing.target_label} is built from source: its commit {here[:10]} is not that of the release "
            f"({released[:10]})."
        )
