"""Templates of catalogue rows: conditions, places and their values, and the causes made from them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model import versions

if TYPE_CHECKING:
    from abiscan.diagnosis.catalogue.cause_row import AnswerCause, Line
    from abiscan.diagnosis.missing_name import MissingName
    from abiscan.diagnosis.templates.name_facts import Facts

PLACE: Final = re.compile(r"\{([a-z][a-z0-9_]*)(?:\|([^{}\n]*))?\}")
"""A place in a template: name of a value or fact, and the text if it is absent or not safe for a command."""


# Commands below a sentence, which a command cannot be joined with.
_STARTS_WITH_LEAD: Final = re.compile(r"[^\n]{1,500}:\n")
_JOINED: Final = re.compile(r"(?:;| &&?)(?: then:?)? \Z")


class PlaceValues:
    """Values for places of templates: captured ones, and facts, each computed on first access.

    Args:
        facts: by name.
        commands: values that are safe in a command, as facts are.
    """

    def __init__(
        self, values: Mapping[str, str], missing: MissingName, facts: Facts, commands: Mapping[str, str] | None = None
    ) -> None:
        self._values = {**values, **(commands or {})}
        self._commands = commands or {}
        self._missing = missing
        self._facts = facts

    def get(self, name: str) -> str | None:
        """The value; `yes` for a fact that holds; None if absent."""
        if name not in self._facts:
            return self._values.get(name)
        found = self._facts[name](self._values, self._missing)
        return "yes" if found is True else found or None

    def for_command(self, name: str, otherwise: str) -> str | None:
        """The value for a command; `otherwise` if it contains characters that a shell interprets."""
        value = self.get(name)
        if value is None or name in self._facts or name in self._commands:
            return value
        return safe(value, otherwise)

    def hold(self, conditions: Iterable[str]) -> bool:
        """Whether every condition holds."""
        return all(self._holds(condition) for condition in conditions)

    def _holds(self, condition: str) -> bool:
        name, relation, wanted, negated = parse_condition(condition)
        value = self.get(name)
        if relation in _ORDERS:
            here, there = versions.order(value or ""), versions.order(wanted)
            return here is not None and there is not None and _ORDERS[relation](here, there) != negated
        return (bool(value) if not relation else value == wanted) != negated


_ORDERS: Final[Mapping[str, Callable[[versions.Order, versions.Order], bool]]] = {"<": operator.lt, ">=": operator.ge}
_CONDITION = re.compile(r"(?:(?P<negated>not) )?(?P<name>\w+)(?: (?P<relation>=|<|>=) (?P<wanted>.+))?")


def parse_condition(condition: str) -> tuple[str, str, str, bool]:
    """Parse a condition: name, relation (`=`, or `<` and `>=` for versions; empty: is given), operand, and whether it
    is negated.

    Raises:
        ValueError: invalid condition.
    """
    found = _CONDITION.fullmatch(condition)
    if found is None:
        raise ValueError(f"{condition}: no condition")
    return found["name"], found["relation"] or "", found["wanted"] or "", found["negated"] is not None


def fill_causes(rows: Iterable[AnswerCause], values: PlaceValues) -> Candidates:
    """The causes with conditions that hold, and the values in their places."""
    for row in rows:
        if values.hold(row.when):
            evidence = tuple(_lines(row.evidence, values, command=False))
            yield Candidate(row.cause, row.score, evidence, partial(_fix, row, values), row.form)


def _fix(row: AnswerCause, values: PlaceValues) -> str:
    return "\n".join(_lines(row.fix, values, command=True))


def _lines(lines: Iterable[Line], values: PlaceValues, *, command: bool) -> Iterator[str]:
    for line in lines:
        if values.hold(line.when):
            text = _fill(line.text, values, command=command)
            if text is not None:
                yield text


def _fill(template: str, values: PlaceValues, *, command: bool) -> str | None:
    """The template with its values; None if a value is absent and has no replacement text."""
    parts: list[str] = []
    end = 0
    for place in PLACE.finditer(template):
        value = values.for_command(place[1], place[2] or "") if command else values.get(place[1])
        text = value or place[2]
        if text is None:
            return None
        before = template[end : place.start()]
        if command and _STARTS_WITH_LEAD.match(text):
            before = _JOINED.sub("\n", before)
        parts += (before, text)
        end = place.end()
    return "".join((*parts, template[end:]))
