"""Rules about how a file was made: each fires on facts of one topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from abiscan.model.finding import Finding
from abiscan.model.provenance import ProvenanceFact, Topic
from abiscan.rules.make_finding import make_finding
from abiscan.rules.rule import Rule


def find_mixed_strings(rule: Rule, facts: Iterable[ProvenanceFact], module: str) -> Iterator[Finding]:
    """One finding where imports spell both kinds of std::string."""
    for fact in facts:
        if fact.topic is Topic.STRING_ABI and fact.value == "mixed":
            yield make_finding(rule, {}, (module,), symbols=tuple(fact.source.split(" and ")))


def find_executable_stack(rule: Rule, facts: Iterable[ProvenanceFact], module: str) -> Iterator[Finding]:
    """One finding where the file asks for an executable stack."""
    if any(fact.topic is Topic.EXECUTABLE_STACK for fact in facts):
        yield make_finding(rule, {}, (module,))


def find_bundled_runtimes(rule: Rule, facts: Iterable[ProvenanceFact], module: str) -> Iterator[Finding]:
    """A finding for each runtime that a file of a wheel has to itself."""
    for fact in facts:
        if fact.topic is Topic.BUNDLED_RUNTIME:
            # The hash of its name changes with every build.
            yield make_finding(rule, {"detail": fact.value}, (module, fact.value.partition("-")[0].partition(".")[0]))
