"""Everything that is done to one shared object, as a list of passes over one record. Read this first.

A pass is a module of this folder with a function of its own name, which reads fields of `FileRecord` and writes others.
A module is imported when its pass first runs. `tests/analysis/test_passes.py` holds that each reads and writes what its
row says, that no field is read before it is written, and that none is written twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib import import_module

from msgspec import Struct

from abiscan.analysis.file_record import FileRecord
from abiscan.analysis.pass_results import GpuCheck
from abiscan.model.report import ArtifactVerdict
from abiscan.provenance.provenance_facts import CALLS_BY_NAME


class Pass(Struct, frozen=True):
    """One step.

    Attributes:
        name: of the module in this folder and of its function.
        reads, writes: fields of the record.
        when: a predicate of this module: where it does not hold, the pass is skipped; None to run always. It may read
            `reads` alone.
        skipped: what the fields are then.
    """

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    when: Callable[[FileRecord], bool] | None = None
    skipped: Mapping[str, object] = {}


def has_releases(record: FileRecord) -> bool:
    """The outcome on other releases than the target's is known."""
    return record.matrix is not None


def may_register_operators(record: FileRecord) -> bool:
    """Operators are of interest: to compare them with those of other files, or as the file calls some by name."""
    asked = record.context.options.operators or not record.is_alone
    return record.concerns_torch and (asked or calls_by_name(record))


def calls_by_name(record: FileRecord) -> bool:
    """A model of AOTInductor that calls operators without a C shim."""
    return record.concerns_torch and any(each.name == CALLS_BY_NAME for each in record.imports)


def gpus_are_named(record: FileRecord) -> bool:
    """`--gpu` names some."""
    return bool(record.context.gpus)


def is_refused(record: FileRecord) -> bool:
    """It does not load on the target, or the loader of this machine refuses the file that the user named."""
    return record.verdict is ArtifactVerdict.FAILS or (
        record.is_alone
        and not record.loader.torch_fails  # the file is not the cause
        and any(finding.rule == "loader-refuses" for finding in record.findings)
    )


def outcomes_are_asked(record: FileRecord) -> bool:
    """The run asks for every release, or a fix may name another one."""
    return record.matrix is not None and (record.releases_asked or is_refused(record))


PASSES: tuple[Pass, ...] = (
    Pass("read_file", reads=(), writes=("binary", "facts", "device_images")),
    Pass("resolve_target", reads=("facts",), writes=("target",)),
    Pass("find_siblings", reads=("binary",), writes=("load_path", "siblings")),
    Pass(
        "resolve_imports",
        reads=("binary", "target", "load_path", "siblings"),
        writes=("imports", "needed", "absent", "dependents", "late_bound"),
    ),
    Pass(
        "predict_load",
        reads=("binary", "target", "load_path", "siblings"),
        writes=("loader", "problem"),
    ),
    Pass(
        "check_releases",
        reads=(
            "binary", "facts", "target", "imports", "load_path", "siblings", "absent", "dependents", "loader",
            "problem",
        ),
        writes=("torch_needs", "concerns_torch", "matrix", "cell", "broken_library"),
    ),
    Pass(
        "collect_provenance",
        reads=("binary", "facts", "imports", "matrix", "device_images"),
        writes=("provenance", "derived_classes"),
    ),
    Pass(
        "share_layouts",
        reads=("binary", "facts", "imports", "matrix", "target", "derived_classes"),
        writes=("layouts",),
        when=has_releases,
        skipped={"layouts": None},
    ),
    Pass(
        "list_operators",
        reads=("binary", "imports", "concerns_torch"),
        writes=("operators",),
        when=may_register_operators,
        skipped={"operators": ()},
    ),
    Pass(
        "list_called_operators",
        reads=("binary", "imports", "concerns_torch", "target"),
        writes=("called_operators", "unread_calls"),
        when=calls_by_name,
        skipped={"called_operators": (), "unread_calls": None},
    ),
    Pass(
        "check_gpu_code",
        reads=("device_images", "needed", "concerns_torch", "target"),
        writes=("gpu_check",),
        when=gpus_are_named,
        skipped={"gpu_check": GpuCheck()},
    ),
    Pass(
        "decide_verdict",
        reads=(
            "imports", "needed", "target", "concerns_torch", "broken_library", "absent", "cell", "problem", "gpu_check",
        ),
        writes=("verdict",),
    ),
    Pass(
        "apply_rules",
        reads=(
            "binary", "facts", "imports", "needed", "target", "torch_needs", "concerns_torch", "matrix", "provenance",
            "derived_classes", "layouts", "verdict", "loader", "absent", "load_path", "gpu_check",
        ),
        writes=("findings", "what_if"),
    ),
    Pass(
        "compare_drift",
        reads=("facts", "matrix", "provenance", "derived_classes", "layouts", "verdict", "loader", "findings"),
        writes=("outcomes",),
        when=outcomes_are_asked,
        skipped={"outcomes": None},
    ),
    Pass(
        "find_causes",
        reads=(
            "facts", "imports", "target", "absent", "concerns_torch", "matrix", "outcomes", "verdict", "loader",
            "findings",
        ),
        writes=("causes", "import_causes"),
        when=is_refused,
        skipped={"causes": (), "import_causes": {}},
    ),
    Pass(
        "write_notes",
        reads=(
            "facts", "imports", "target", "absent", "matrix", "cell", "broken_library", "problem", "verdict", "loader",
            "concerns_torch", "gpu_check", "unread_calls", "late_bound",
        ),
        writes=("notes", "failure_reasons"),
    ),
)  # fmt: skip


def run_passes(record: FileRecord, timings: dict[str, float] | None = None) -> None:
    """Run every pass over a record.

    Args:
        timings: pass -> seconds, to which the time of each is added.

    Raises:
        UnreadableFile: the file is no shared object.
        UnknownBuild: `--torch` names no torch.
    """
    for each in PASSES:
        begin = time.perf_counter() if timings is not None else 0.0
        if each.when is None or each.when(record):
            getattr(import_module(f"{__name__}.{each.name}"), each.name)(record)
        else:
            for field, value in each.skipped.items():
                setattr(record, field, value)
        if timings is not None:
            timings[each.name] = timings.get(each.name, 0.0) + time.perf_counter() - begin


__all__ = ["PASSES", "FileRecord", "Pass", "run_passes"]
