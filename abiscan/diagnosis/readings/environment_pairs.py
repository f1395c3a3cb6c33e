"""Facts of a text that contradict each other: a package, a GPU or a toolkit that does not belong to its torch. They
decide where a text has a failure and no message of a program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from abiscan.diagnosis.fixes.torch_commands import variants_of
from abiscan.diagnosis.fixes.wheel_rows import cuda_release
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.other_builds import is_other_build
from abiscan.diagnosis.readings.find_messages import find_messages
from abiscan.diagnosis.readings.found_subjects import FoundSubject
from abiscan.diagnosis.readings.match_messages import FoundMessage
from abiscan.diagnosis.reference import Reference
from abiscan.diagnosis.text.text_facts import captured, is_shown, matches, only_value, values, values_by_row
from abiscan.model import versions
from abiscan.model.gpu_toolkits import first_toolkit
from abiscan.releases import companions

# Characters between the word driver and the CUDA release that it supports.
_OF_DRIVER: Final = 48

_TOOLKIT: Final = "The detected CUDA version ({}) mismatches the version that was used to compile PyTorch ({})"


def unfit_pairs(text: str, knowledge: Knowledge) -> tuple[FoundSubject | FoundMessage, ...]:
    """What a text has beside its torch (`torchaudio 0.12.0 beside torch 1.13.0`), as subjects of messages. They have no
    cause if it fits. Empty if the text tells no failure."""
    if not is_shown("failure", text) or is_shown("error_of_program", text):
        return ()
    return find_messages("\n".join(_pairs(text, knowledge)))


def _pairs(text: str, knowledge: Knowledge) -> Iterator[str]:
    there, log = {} if knowledge.environment is None else knowledge.environment.packages, knowledge.log
    # The words alone do not show that they are about a build of this package here.
    says_where = log.torch or log.python or log.variant or log.capability or log.platform or log.rocm or log.releases
    if log.project and says_where and is_shown("failed_build", text):
        yield f"build of {log.project} fails"
    missing = MissingName(Reference(name=""), knowledge)
    for build in matches("named_build", text):
        known = variants_of(build[1], missing)
        if any(variant.startswith("cu") for variant in known) and build[2] not in known:
            yield f"torch {build[1]} has no build for {build[2]}"
    toolkit = only_value(values("toolkit", text))
    built = (release for found in values_by_row("cuda_of_torch", text) for release in found)
    of_torch = only_value(release for release in built if "." in release)
    if toolkit and of_torch and _major(toolkit) != _major(of_torch) and is_shown("failed_build", text):
        yield _TOOLKIT.format(toolkit, of_torch)
    torch = there.get("torch")
    named = only_value(
        captured(match)
        for match in matches("cuda", text)
        # The CUDA release of a driver is the newest that it runs.
        if "driver" not in text[max(0, match.start() - _OF_DRIVER) : match.start()].lower()
    )
    if torch is None or knowledge.target is None:
        # Code for 8.0 runs on 8.9, and so on.
        first = versions.order(first_toolkit(f"{_major(log.capability)}.0") or "")
        if first and (versions.order(named or "") or first) < first:
            yield f"sm_{log.capability.replace('.', '')} beside CUDA {named}"
        elif torch is None and log.capability and is_shown("unsupported_gpu", text):
            yield f"sm_{log.capability.replace('.', '')} beside an unknown torch"
        return
    of_vendor = is_other_build(knowledge.target)
    for package, version in there.items():
        if package in companions.COMPANIONS and (of_vendor or companions.compared(package, version, torch)):
            yield f"{package} {version} beside torch {torch}"
    if of_vendor or log.is_jetson:
        return
    if log.project and log.project not in companions.COMPANIONS:
        yield f"package {log.project} beside torch {torch}"
    if log.capability:
        yield f"sm_{log.capability.replace('.', '')} beside torch {torch}"
    cuda = cuda_release(torch.partition("+")[2])
    if not cuda or not is_shown("failed_build", text):
        return
    if toolkit and not of_torch and _major(toolkit) != _major(cuda):
        yield _TOOLKIT.format(toolkit, cuda)
    elif not toolkit and named and _major(named) != _major(cuda):
        yield f"CUDA {named} beside torch {torch}"


def _major(release: str) -> str:
    return release.partition(".")[0]
