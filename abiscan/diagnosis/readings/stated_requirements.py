"""Requirements that a text states: what is required in which releases, by what, and which release is there. Whatever
package or tool they are of, the message catalogue explains them in one form. The patterns are rows of
`catalogue/requirements_in_text.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from abiscan.diagnosis.catalogue.load_packages import package_of_name
from abiscan.diagnosis.fixes.required_ranges import is_range, outside, read_range
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.readings.bare_names import is_typed
from abiscan.diagnosis.readings.find_messages import find_messages
from abiscan.diagnosis.readings.found_subjects import FoundSubject
from abiscan.diagnosis.readings.match_messages import FoundMessage
from abiscan.diagnosis.text.text_facts import (
    first_shown,
    is_shown,
    matches,
    matches_and_values,
    only_value,
    pattern_of,
    values,
)

_AROUND: Final = 160  # characters of the sentence that says what is there
_MOST: Final = 8
# Numbers of GPUs without a full stop: 80 is 8.0.
_CAPABILITY: Final = re.compile(r"(?<![\d.])(\d{1,2})(\d)(?![\d.])")
_OPPOSITE: Final = {">=": "<", ">": "<=", "<=": ">", "<": ">="}
_REFUSED: Final = {"older": ">", "newer": "<", "below": ">=", "at-most": ">"}


class _Requirement(Struct, frozen=True):
    """`name` must be in the range `wanted`; `here`, if known, is there; `project`, if known, requires it. The text
    names `elsewhere`, a release in the range, although an error says that there is none."""

    name: str
    wanted: str
    here: str = ""
    project: str = ""
    elsewhere: str = ""

    @property
    def kind(self) -> str:
        return first_shown("kind_of_requirement", self.name) or "package"

    def sentence(self) -> str:
        by = f" (required by {self.project})" if self.project else ""
        there = f" (there: {self.here})" if self.here else ""
        there += f" (elsewhere: {self.elsewhere})" if self.elsewhere else ""
        return f"{self.kind} requirement: {self.name.replace(' ', '-')}{self.wanted}{by}{there}"


def stated_requirements(text: str, knowledge: Knowledge) -> tuple[FoundSubject | FoundMessage, ...]:
    """The requirements that are not met, or of which that is unknown, as messages of the catalogue."""
    found = tuple(_requirements(text, knowledge)) or tuple(_refusals(text))
    known = sorted(found, key=lambda each: (not each.here, each.kind != "torch"))
    return find_messages("\n".join(dict.fromkeys(each.sentence() for each in known[:_MOST])))


def _requirements(text: str, knowledge: Knowledge) -> Iterator[_Requirement]:
    for _, found in matches_and_values("requirement", text):
        groups = found.groupdict()
        minimum = ">=" if groups.get("minimum") else ""
        wanted = read_range(f"{minimum}{found['wanted']}")
        name, project = found["name"], groups.get("project") or ""
        if first_shown("kind_of_requirement", name) == "gpu":
            name, wanted = "compute capability", _CAPABILITY.sub(r"\1.\2", wanted)
        stated = _Requirement(name, wanted, groups.get("here") or "", project if _is_package(found) else "")
        if not is_range(wanted) or _is_asked(found):
            continue
        here = stated.here or _found_near(stated, found)
        here = _CAPABILITY.sub(r"\1.\2", here) if stated.kind == "gpu" else here
        rest = f"{text[: found.start()]}\n{text[found.end() :]}"
        elsewhere = "" if here else _of_text(stated, text, knowledge)
        # The release in this sentence is the required one, not the one that is there.
        elsewhere = elsewhere if elsewhere.partition("+")[0] in rest else ""
        is_met = outside(wanted, here or elsewhere) == "" if here or elsewhere else None
        if is_met and elsewhere and stated.kind == "torch" and is_shown("error_of_requirement", _line_of(found)):
            yield replace(stated, elsewhere=elsewhere)
        elif _tells_failure(found) if is_met is None else not is_met:
            yield replace(stated, here=(here or elsewhere).lstrip("vV"))


def _refusals(text: str) -> Iterator[_Requirement]:
    for value, found in matches_and_values("refusal", text):
        sign, number = re.match(r"([<>=]{0,2}) ?[vV]?(.+)", found["here"]).groups()  # type: ignore[union-attr]
        here = "" if sign in _OPPOSITE or value in ("below", "at-most") else number
        refused = _OPPOSITE.get(sign) or _REFUSED.get(value)
        wanted = f"{refused}{number}" if refused else f"!={number}{'' if number.count('.') > 1 else '.*'}"
        project = found.groupdict().get("project") or ""
        # A tool with releases of its own is no package of pip.
        project = "" if first_shown("kind_of_requirement", project) else project
        if is_range(wanted) and _tells_failure(found):
            yield _Requirement(found["name"], wanted, here, project)


def _is_package(found: re.Match[str]) -> bool:
    """Whether the word before a requirement is the name of a package, and no other noun."""
    project, start = found.groupdict().get("project"), found.start()
    if not project:
        return False
    shaped = re.search(r"[-_\d]", project) is not None or package_of_name(project) is not None
    begins_sentence = found.string[:start].rstrip(" ")[-1:] in ("", "\n", ":", "(", "'", '"', "`")
    return shaped or begins_sentence


def _tells_failure(found: re.Match[str]) -> bool:
    """Whether the line, or the whole of a short text, tells a failure."""
    text = found.string
    if found[0].endswith("is not installed"):
        return True
    return is_shown("error_line", _line_of(found)) or (is_typed(text) and is_shown("failure", text))


def _is_asked(found: re.Match[str]) -> bool:
    """Whether it is part of a question, which states nothing: `Do I need CUDA 12.4?`."""
    before = found.string[: found.start()].rpartition("\n")[2]
    behind = found.string[found.end() :].partition("\n")[0]
    return any(mark in behind for mark in "?\uff1f") and is_shown("begins_question", before)


def _line_of(found: re.Match[str]) -> str:
    text = found.string
    start, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
    return text[start : end if end >= 0 else len(text)]


def _found_near(stated: _Requirement, found: re.Match[str]) -> str:
    """The release that the sentence behind or before the requirement says is there."""
    text, name = found.string, found["name"].lower()
    behind = text[found.end() : found.end() + _AROUND].partition("\n\n")[0]
    before = text[max(0, found.start() - _AROUND) : found.start()].rpartition("\n")[2]
    for fact, part in (("found_behind", behind), ("found_before", before)):
        for each in pattern_of(fact).finditer(part):
            others = [other[0] for other in matches("tool", each["between"])]
            if all(name in other.lower() or _Requirement(other, "").kind == stated.kind for other in others):
                return each["here"]
    return ""


def _of_text(stated: _Requirement, text: str, knowledge: Knowledge) -> str:
    """The release that the text gives elsewhere."""
    asked = only_value(
        each["here"] for each in matches("requested", text) if each["name"].lower() == stated.name.lower()
    )
    if asked:
        return asked
    if stated.kind == "torch":
        return knowledge.log.torch or ""
    if stated.kind == "python":
        python = knowledge.log.python
        return f"{python[0]}.{python[1]}" if python else ""
    if stated.kind == "cuda":
        return only_value(values("toolkit", text))
    if stated.kind == "gpu":
        return knowledge.log.capability
    return knowledge.log.releases.get(stated.name.lower().replace("_", "-"), "")
