"""Facts of the message catalogue about a release that pip did not find: value `torch`, a range `wanted` of torch, or
the value `release` of the value `project`."""

from __future__ import annotations

from typing import Final

from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.facts.requirement_facts import required_torch_release
from abiscan.diagnosis.facts.torch_facts import torch_of_release
from abiscan.diagnosis.fixes import torch_commands
from abiscan.diagnosis.fixes.required_ranges import outside, within
from abiscan.diagnosis.fixes.wheel_rows import cuda_release
from abiscan.diagnosis.missing_name import MissingName
from abiscan.model import versions
from abiscan.releases import companions
from abiscan.releases.pythons import with_wheels

_OLDEST_ON_INDEX: Final = (1,)
_FIRST_FOR_WINDOWS: Final = (1, 7)
_LAST_FOR_INTEL_MAC: Final = "2.2.2"


def index_lacks(values: Values, missing: MissingName) -> str | None:
    """What the index lacks, by the releases that pip lists.

    `old` is a release before 1.0, `no-release` one that never was, `unknown` one later than all that are known. Of
    the others, `everything`: no release is listed; `variant`: this variant has no such release; `python`: the index
    of the variant has it for other Pythons; `system`: listed are builds without a label, of this release, too;
    `label`: an index without labels; `intel-mac`: listed is what macOS on Intel has, or the text names such a Mac
    (value `intel_mac`); `mirror`: the same list on another system; `release`: none of these.
    """
    if (reason := _unreleased(values, missing)) is not None:
        return reason
    if values.get("offers_none"):
        return "everything"
    label, offered = values.get("label", ""), values.get("offered_label", "")
    if offered or (label and values.get("of_torch_index")):
        variant = offered or label
        known = [torch_commands.variants_of(each, missing) for each in _torches(values, missing)]
        is_there = any(variant in each for each in known) if any(known) else label == variant
        if is_there and values.get("plain_offered") and _is_between(values):
            return "system"
        return ("label" if values.get("of_uv") else "python") if is_there else "variant"
    if label:
        # What the package index offers begins later: neither index has this release for that Python.
        return "release" if _is_before(values) else "label"
    return _newest_of_system(values, missing) or "release"


def _is_between(values: Values) -> bool:
    """Whether the releases that pip lists begin before the wanted torch, and end behind it."""
    first, torch, last = (versions.order(values.get(key, "")) for key in ("oldest_offered", "torch", "newest_offered"))
    return first is not None and torch is not None and last is not None and first <= torch <= last


def _is_before(values: Values) -> bool:
    """Whether the wanted torch is older than all that pip lists. Before 1.7 the package index had none for Windows."""
    first, torch = (versions.order(values.get(key, "")) for key in ("oldest_offered", "torch"))
    return first is not None and torch is not None and _FIRST_FOR_WINDOWS <= torch < first


def python_without_wheels(values: Values, missing: MissingName) -> str | None:
    """What shows that the Python is why pip lists no release of torch: it is not one of those with wheels of the value
    `torch`, or only what the package index has for every Python is listed (value `sources_offered`)."""
    here, known = missing.loading_python, with_wheels(values.get("torch", ""))
    if here is not None and known and here not in known:
        return f"torch {values['torch']} has no wheel for CPython {here}."
    if values.get("sources_offered"):
        return "pip found no wheel of any release of torch for this Python and platform."
    return None


def unknown_index(values: Values, _missing: MissingName) -> str | None:
    """The value `index_label`, of the index that pip asks, or the value `label` of the requirement, if PyTorch has no
    such index."""
    label = values.get("index_label") or values.get("label", "")
    return label if torch_commands.is_of_no_release(label) else None


def torch_before_unknown_index(values: Values, missing: MissingName) -> str | None:
    """The command that installs the newest torch for a CUDA up to that of the fact `unknown_index`."""
    label = unknown_index(values, missing)
    return label and torch_commands.torch_for_cuda(cuda_release(label), missing)


def _unreleased(values: Values, missing: MissingName) -> str | None:
    if project := values.get("project"):
        return None if companions.is_known(project, values.get("release", "")) else "unknown"
    if values.get("wanted"):
        return None if required_torch_release(values, missing) else "unknown"
    version = values.get("torch", "")
    here, newest = versions.order(version) or (), versions.order(next(reversed(missing.known_versions), "")) or ()
    if here < _OLDEST_ON_INDEX:
        return "old"
    if missing.knowledge.is_no_release(version):
        return "no-release"
    return "unknown" if newest and here[: len(newest)] > newest else None


def _torches(values: Values, missing: MissingName) -> tuple[str, ...]:
    """The releases of torch that the requirement accepts, or that are for the required companion."""
    if values.get("project"):
        return (f"{torch_of_release(values, missing)}.0",)
    return within(values["wanted"], missing.known_versions) if values.get("wanted") else (values.get("torch", ""),)


def _newest_of_system(values: Values, missing: MissingName) -> str | None:
    """`intel-mac` if the newest release that pip lists is the last for macOS on Intel, which is too old; `mirror` if
    the text names another system."""
    newest, wanted = values.get("newest_offered", ""), values.get("wanted") or f"=={values.get('torch', '')}"
    newest = newest or (_LAST_FOR_INTEL_MAC if values.get("intel_mac") else "")
    if newest != _LAST_FOR_INTEL_MAC or outside(wanted, newest) != "older":
        return None
    is_other = missing.log.platform not in ("", "macosx") or (values.get("on_linux") and not missing.log.platform)
    return "mirror" if is_other else "intel-mac"
