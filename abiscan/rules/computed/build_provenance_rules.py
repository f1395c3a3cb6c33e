"""Rules about the build of a file, each from facts of one topic."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec.structs import replace

from abiscan.model.finding import Finding, Severity
from abiscan.model.provenance import ProvenanceFact, Topic
from abiscan.rules.make_finding import make_finding
from abiscan.rules.rule import Rule

# Directories of a build: of users, CI runners, CI images, environments. Others in /opt may be the installation of a
# vendor (Filesystem Hierarchy Standard 3.0, 3.13).
_OF_A_BUILD = (
    r"/(?:home|root|tmp|var/tmp|dev/shm|__w|github|project|work|workspace|build|builds|io|src|Users)/.*"
    r"|/opt/(?:hostedtoolcache|_internal)/.*|.*/(?:site-packages|envs)/.*"
)
# World-writable directories (Filesystem Hierarchy Standard 3.0, 3.18 and 5.15).
_ANYBODYS = ("/tmp/", "/var/tmp/", "/dev/shm/")


def find_build_run_path(rule: Rule, facts: Iterable[ProvenanceFact], module: str) -> Iterator[Finding]:
    """One finding for the directories of a build machine in the run path."""
    # Most are relative to $ORIGIN: the pattern takes longer to compile than all rules to run.
    searched = (f"{f.value}/" for f in facts if f.topic is Topic.RUN_PATH)
    paths = (path for path in searched if path[0] == "/" or "/site-packages/" in path or "/envs/" in path)
    found = [path[:-1] for path in paths if re.fullmatch(_OF_A_BUILD, path)]
    if found:
        severity = Severity.WARNING if any(f"{each}/".startswith(_ANYBODYS) for each in found) else rule.severity
        yield replace(make_finding(rule, {"detail": ", ".join(found)}, (module,)), severity=severity)


def find_relative_run_path(rule: Rule, facts: Iterable[ProvenanceFact], module: str) -> Iterator[Finding]:
    """One finding for directories in the run path that are relative to the working directory."""
    found = [f.value for f in facts if f.topic is Topic.RUN_PATH and not f.value.startswith("/")]
    if found:
        yield make_finding(rule, {"detail": ", ".join(found)}, (module,))


def find_mixed_strings(rule: Rule, facts: Iterable[ProvenanceFact], module: str) -> Iterator[Finding]:
    """One finding if imports use both std::string ABIs."""
    for fact in facts:
        if fact.topic is Topic.STRING_ABI and fact.value == "mixed":
            yield replace(make_finding(rule, {}, (module,)), symbols=tuple(fact.source.split(" and ")))


def find_executable_stack(rule: Rule, facts: Iterable[ProvenanceFact], module: str) -> Iterator[Finding]:
    """One finding if the file requests an executable stack."""
    if any(fact.topic is Topic.EXECUTABLE_STACK for fact in facts):
        yield make_finding(rule, {}, (module,))


def find_bundled_runtimes(rule: Rule, facts: Iterable[ProvenanceFact], module: str) -> Iterator[Finding]:
    """One finding for each runtime that is bundled in a file of a wheel."""
    for fact in facts:
        if fact.topic is Topic.BUNDLED_RUNTIME:
            # The hash in its name changes with every build.
            yield make_finding(rule, {"detail": fact.value}, (module, fact.value.partition("-")[0].partition(".")[0]))


# In the order of the findings in reports.
PROVENANCE_RULES: Mapping[str, Callable[[Rule, Iterable[ProvenanceFact], str], Iterator[Finding]]] = {
    "mixed-std-string": find_mixed_strings,
    "executable-stack": find_executable_stack,
    "bundled-runtime": find_bundled_runtimes,
    "build-run-path": find_build_run_path,
    "relative-run-path": find_relative_run_path,
}
