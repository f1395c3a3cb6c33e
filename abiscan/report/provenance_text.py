"""Provenance in the text report: at most four lines; with -v all facts and their sources."""

from __future__ import annotations

from collections.abc import Iterator

from abiscan.model.cause import Confidence
from abiscan.model.device_code import DeviceCode
from abiscan.model.operators import Operator
from abiscan.model.provenance import Provenance, ProvenanceFact, Topic
from abiscan.model.report import ArtifactReport
from abiscan.report.escape import printable
from abiscan.report.style import LineGroup, Style, wrap
from abiscan.report.wording import ranges_words

# Facts that are rarely intended in a shipped file, with their wording.
_ODD = {
    Topic.DEBUG_MODE: "{}",
    Topic.EXECUTABLE_STACK: "executable stack",
    Topic.RUN_PATH: "run path {}",
    Topic.BUNDLED_RUNTIME: "bundles {}",
    Topic.INSTRUCTION_SET: "needs {}",
}
_MOST_ODD = 3
# Lines of a list, without -v and with one.
_LISTED = (0, 12)
# Characters of a source in a line. Compiler options have thousands; JSON has all of them.
_LONGEST_SOURCE = 200


def provenance_sections(artifact: ArtifactReport, style: Style) -> Iterator[LineGroup]:
    """The provenance of one file."""
    made = artifact.provenance
    for label, words in (
        ("built", ", ".join(_built(made))),
        ("GPU code", _gpu_words(made)),
        ("requires", ", ".join(_needs(made))),
        ("unusual", ", ".join(_odd(made))),
    ):
        if words:
            yield LineGroup(5, wrap(words, style, f"  {label}: ", "    "))
    if not style.verbose:
        return
    for title, words_of in (
        ("facts", [_fact_words(fact) for fact in made.facts]),
        ("operators", [operator_words(operator) for operator in artifact.operators]),
        ("calls operators by name", [each.full_name for each in artifact.called]),
    ):
        shown = words_of[: style.limit(*_LISTED)]
        lines = [f"  {title} ({len(words_of)}):", *(f"    {printable(each)}" for each in shown)]
        if shown:
            yield LineGroup(6, lines + style.left_out(len(words_of) - len(shown), "    "))


def _built(made: Provenance) -> Iterator[str]:
    if made.built_for:
        yield f"for torch {made.built_for}" + (f" ({made.built_for_source})" if made.built_for_source else "")
    elif made.torch_releases:
        # Not the headers that it was compiled with: several releases export the same symbols.
        yield f"torch symbols of {ranges_words(made.torch_releases)}"
    mixed = any(fact.value == "mixed" for fact in _about(made, Topic.STRING_ABI))
    if mixed:
        yield "both std::string ABIs"
    elif made.cxx11_abi is not None:
        yield f"{'new' if made.cxx11_abi else 'old'} std::string ABI"
    if made.abi == "stable":
        yield "stable ABI"
    if made.python_abi not in (None, "any"):
        yield str(made.python_abi)
    cuda = next((fact.value for fact in _about(made, Topic.CUDA) if fact.confidence is Confidence.MEDIUM), made.cuda)
    if cuda:
        yield f"CUDA {cuda}"
    yield from _compilers(made)[:2]


def _compilers(made: Provenance) -> list[str]:
    """Compilers without repetition: rustc first, as GCC then compiled only start files; the linker LLD last."""
    found = [fact.value for fact in _about(made, Topic.COMPILER)] or list(made.compilers)
    whole = [each for each in found if not any(other.startswith(f"{each} (") for other in found)]
    return sorted(whole, key=lambda each: (each.startswith("LLD "), not each.startswith("rustc ")))


def _gpu_words(made: Provenance) -> str:
    code = list(dict.fromkeys(i.architecture for i in made.gpu_images if i.code is DeviceCode.MACHINE_CODE))
    ptx = list(dict.fromkeys(i.architecture for i in made.gpu_images if i.code is DeviceCode.PTX))
    parts = [" ".join(code), f"PTX {' '.join(ptx)}" if ptx else ""]
    if not made.gpu_images:
        parts = [" ".join(made.gpu_archs)]
    if made.gpu_not_read is not None and made.gpu_images:
        parts.append(f"possibly more ({made.gpu_not_read})")
    return ", ".join(part for part in parts if part)


def _needs(made: Provenance) -> Iterator[str]:
    for topic, name in ((Topic.GLIBC, "glibc"), (Topic.GLIBCXX, "GLIBCXX")):
        yield from (f"{name} {fact.value}" for fact in _about(made, topic))
    yield from (f"guaranteed by {fact.value}" for fact in _about(made, Topic.MANYLINUX))
    yield from (f"CPython {fact.value} or newer" for fact in _about(made, Topic.PYTHON_FLOOR))


def _odd(made: Provenance) -> Iterator[str]:
    found = [_odd_words(fact) for fact in made.facts if fact.topic in _ODD]
    yield from found[:_MOST_ODD]
    if len(found) > _MOST_ODD:
        yield f"{len(found) - _MOST_ODD} more (-v)"


def _odd_words(fact: ProvenanceFact) -> str:
    if fact.topic is Topic.INSTRUCTION_SET and fact.confidence is not Confidence.HIGH:
        return f"partly compiled for {fact.value}"
    return _ODD[fact.topic].format(fact.value)


def _about(made: Provenance, topic: Topic) -> list[ProvenanceFact]:
    return [fact for fact in made.facts if fact.topic is topic]


def _fact_words(fact: ProvenanceFact) -> str:
    sure = "" if fact.confidence is Confidence.HIGH else f", {fact.confidence.value} confidence"
    source = fact.source if len(fact.source) <= _LONGEST_SOURCE else f"{fact.source[:_LONGEST_SOURCE]}...: use -f json"
    return f"{fact.topic.value}: {fact.value} ({source}{sure})"


def operator_words(operator: Operator) -> str:
    """The schema of an operator, or its name if the schema is unknown."""
    dotted = f".{operator.overload}" if operator.overload else ""
    if operator.schema is not None:
        # Schemas inside TORCH_LIBRARY have no namespace.
        namespace = "" if "::" in operator.schema.partition("(")[0] else operator.name.rpartition("::")[0]
        return f"{namespace}::{operator.schema}" if namespace else operator.schema
    why = {True: "schema not found", False: "implemented, not defined", None: "name only"}
    return f"{operator.name}{dotted} ({why[operator.defines]})"
