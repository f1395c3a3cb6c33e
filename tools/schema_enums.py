"""Generates the lists of values in `abiscan/data/report.schema.json` from the enums of the model. Values may be added
to a list, never renamed or removed (CONTRACT). The rest of the schema is written by hand."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from abiscan.model.cause import CauseId, Confidence
from abiscan.model.cause_page import Situation
from abiscan.model.compatibility import Aspect
from abiscan.model.device_code import DeviceCode
from abiscan.model.diff_report import Effect
from abiscan.model.environment_report import Action, PackageState, ProblemKind
from abiscan.model.facts import SymbolBinding
from abiscan.model.finding import Severity
from abiscan.model.imports import DemangledBy, Owner, Status
from abiscan.model.loading import LoaderOutcome
from abiscan.model.migration_plan import CounterpartKind
from abiscan.model.operators import Registration
from abiscan.model.outcome import GateOutcome
from abiscan.model.provenance import Topic
from abiscan.model.release import ReleaseState
from abiscan.model.report import ArtifactKind, ArtifactVerdict, ImportsShown, Verdict
from abiscan.model.subject import SubjectKind
from abiscan.model.target import TargetSource, TorchKind
from abiscan.wheel.container_facts import ContainerKind

TARGET = Path(__file__).parents[1] / "abiscan" / "data" / "report.schema.json"


def _values(kind: type[enum.StrEnum], *, without: tuple[enum.StrEnum, ...] = ()) -> list[str | None]:
    return [item.value for item in kind if item not in without]


# Place of a list in the schema -> its values.
ENUMS: dict[str, list[str | None]] = {
    "$defs/aspect": _values(Aspect),
    "$defs/change/properties/effect": _values(Effect),
    "$defs/package_outcome/properties/state": _values(PackageState),
    "$defs/environment/properties/packages/items/properties/action": _values(Action),
    "$defs/environment/properties/problems/items/properties/kind": _values(ProblemKind),
    "$defs/migration/properties/replacements/items/properties/kind": _values(CounterpartKind),
    "properties/verdict": _values(Verdict),
    # The severities, and `never`.
    "properties/fail_on": [*_values(Severity), "never"],
    "properties/imports_shown": list(get_args(ImportsShown)),
    "$defs/torch_build/properties/kind": _values(TorchKind),
    "$defs/cause/properties/cause": _values(CauseId),
    "$defs/cause_group/properties/cause": _values(CauseId),
    "$defs/explain/properties/cause/properties/fix/items/properties/situation": _values(Situation),
    "$defs/confidence": _values(Confidence),
    "$defs/severity": _values(Severity),
    "$defs/import/properties/demangled_by": _values(DemangledBy),
    "$defs/import/properties/binding": _values(SymbolBinding),
    "$defs/import/properties/owner": _values(Owner),
    "$defs/import/properties/status": _values(Status),
    # A build either exports everything that a file needs, or not.
    "$defs/release/properties/verdict": [ArtifactVerdict.LOADS.value, ArtifactVerdict.FAILS.value],
    "$defs/artifact/properties/kind": _values(ArtifactKind),
    "$defs/artifact/properties/outcome": _values(GateOutcome),
    "$defs/container/properties/outcome": _values(GateOutcome),
    "$defs/artifact/properties/verdict": _values(ArtifactVerdict),
    "$defs/universal_part/properties/verdict": [*_values(ArtifactVerdict), None],
    "$defs/artifact/properties/loader/properties/outcome": [*_values(LoaderOutcome), None],
    # A plain file or folder has no container in the report.
    "$defs/container/properties/kind": _values(ContainerKind, without=(ContainerKind.FILE, ContainerKind.DIRECTORY)),
    "$defs/container/properties/verdict": _values(ArtifactVerdict),
    "$defs/release/properties/state": _values(ReleaseState),
    "$defs/target_part/properties/source": _values(TargetSource),
    "$defs/provenance_fact/properties/topic": _values(Topic),
    "$defs/gpu_image/properties/code": _values(DeviceCode),
    "$defs/operator/properties/registration": _values(Registration),
    "$defs/subject/properties/kind": _values(SubjectKind),
    "$defs/subject/properties/demangled_by": _values(DemangledBy),
    "$defs/subject/properties/owner": _values(Owner),
}


def render(current: str | None = None) -> str:
    """The schema with the current lists.

    Args:
        current: the schema's text; None to read it.

    Raises:
        ValueError: a list of the schema has no line above, or the reverse; or a value would be removed.
    """
    schema = json.loads(TARGET.read_text(encoding="utf-8") if current is None else current)
    found = dict(_lists(schema, ()))
    if found.keys() != ENUMS.keys():
        raise ValueError(f"lists without values or values without a list: {sorted(found.keys() ^ ENUMS.keys())}")
    for place, node in found.items():
        gone = [value for value in node["enum"] if value not in ENUMS[place]]
        if gone:
            raise ValueError(f"{place}: {', '.join(map(str, gone))} would be taken out")
        node["enum"] = ENUMS[place]
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _lists(node: Any, path: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        if isinstance(node.get("enum"), list):
            yield "/".join(path), node
        for key, value in node.items():
            yield from _lists(value, (*path, key))
    elif isinstance(node, list):
        for value in node:
            yield from _lists(value, path)
