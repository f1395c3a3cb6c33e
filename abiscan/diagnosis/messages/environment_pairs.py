"""Packages of a text with versions that do not belong together. They decide where a text has a failure and no message
of a program."""

from __future__ import annotations

from abiscan.diagnosis.catalogue.match_messages import FoundMessage
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.messages.find_messages import find_messages
from abiscan.diagnosis.messages.found_subjects import FoundSubject
from abiscan.diagnosis.messages.text_facts import is_shown
from abiscan.diagnosis.other_builds import is_other_build
from abiscan.releases import companions


def unfit_pairs(text: str, knowledge: Knowledge) -> tuple[FoundSubject | FoundMessage, ...]:
    """The companion of torch in a text (`torchaudio==0.12.0`) that was built for another torch than the one in it, as
    the subject of a message; empty if the text tells no failure."""
    there = {} if knowledge.environment is None else knowledge.environment.packages
    torch = there.get("torch")
    if torch is None or knowledge.target is None or not is_shown("failure", text):
        return ()
    of_vendor = is_other_build(knowledge.target)
    for package, version in there.items():
        if package in companions.COMPANIONS and (of_vendor or companions.compared(package, version, torch)):
            return find_messages(f"{package} {version} beside torch {torch}")
    return ()
