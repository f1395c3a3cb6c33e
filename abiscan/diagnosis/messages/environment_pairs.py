"""Facts of a text that contradict each other: a package, a GPU or a toolkit that does not belong to its torch. They
decide where a text has a failure and no message of a program."""

from __future__ import annotations

from collections.abc import Iterator

from abiscan.diagnosis.catalogue.match_messages import FoundMessage
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.messages.find_messages import find_messages
from abiscan.diagnosis.messages.found_subjects import FoundSubject
from abiscan.diagnosis.messages.text_facts import is_shown, values
from abiscan.diagnosis.messages.values_in_text import only_value
from abiscan.diagnosis.other_builds import is_other_build
from abiscan.diagnosis.wheel_rows import cuda_release
from abiscan.releases import companions


def unfit_pairs(text: str, knowledge: Knowledge) -> tuple[FoundSubject | FoundMessage, ...]:
    """What a text has beside its torch (`torchaudio 0.12.0 beside torch 1.13.0`), as subjects of messages. They have no
    cause if it fits. Empty if the text tells no failure."""
    if not is_shown("failure", text) or is_shown("error_of_program", text):
        return ()
    return find_messages("\n".join(_pairs(text, knowledge)))


def _pairs(text: str, knowledge: Knowledge) -> Iterator[str]:
    there, log = {} if knowledge.environment is None else knowledge.environment.packages, knowledge.log
    # The words alone do not show that they are about a build of this package here.
    says_where = log.torch or log.python or log.variant or log.capability or log.platform or log.rocm
    if log.project and says_where and is_shown("failed_build", text):
        yield f"build of {log.project} fails"
    torch = there.get("torch")
    if torch is None or knowledge.target is None:
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
    toolkit, cuda = only_value(values("toolkit", text)), cuda_release(torch.partition("+")[2])
    if toolkit and cuda and is_shown("failed_build", text) and toolkit.partition(".")[0] != cuda.partition(".")[0]:
        yield f"The detected CUDA version ({toolkit}) mismatches the version that was used to compile PyTorch ({cuda})"
