"""The list of passes over one shared object.

A pass is a module of this folder with a function of the same name. It reads fields of `FileRecord` and writes others.
The module is imported when its pass first runs. `tests/analysis/test_passes.py` checks that each pass reads and writes
the fields in its row, that no field is read before it is written, and that none is written twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib import import_module

from msgspec import Struct

from abiscan.analysis.file_record import FileRecord
from abiscan.analysis.pass_results import CalledOperators, GpuCheck
from abiscan.model.cause import Diagnosis
from abiscan.model.loading import StopKind
from abiscan.model.report import ArtifactVerdict
from abiscan.provenance.provenance_facts import CALLS_BY_NAME


class Pass(Struct, frozen=True):
    """A pass.

    Attributes:
        name: name of the module in this folder and of its function.
        reads, writes: fields of the record.
        when: predicate of this module over the fields in `reads`; the pass is skipped if it is false. None: always.
        skipped: values of the written fields if the pass is skipped.
    """

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    when: Callable[[FileRecord], bool] | None = None
    skipped: Mapping[str, object] = {}


def has_releases(record: FileRecord) -> bool:
    """Whether outcomes on releases other than the target are known."""
    return record.matrix is not None


def may_register_operators(record: FileRecord) -> bool:
    """Whether operators are needed: to compare them between files, or because the file calls some by name."""
    asked = record.context.options.operators or not record.is_alone
    return record.concerns_torch and (asked or calls_by_name(record))


def calls_by_name(record: FileRecord) -> bool:
    """Whether it is an AOTInductor model that calls operators without a C shim."""
    return record.concerns_torch and any(each.name == CALLS_BY_NAME for each in record.imports)


def gpus_are_named(record: FileRecord) -> bool:
    """Whether `--gpu` is given."""
    return bool(record.context.gpus)


def is_refused(record: FileRecord) -> bool:
    """Whether the file does not load on the target, or the loader of this machine refuses the given file."""
    return record.verdict is ArtifactVerdict.FAILS or is_refused_by_loader(record)


def is_refused_by_loader(record: FileRecord) -> bool:
    """Whether the loader of this machine refuses the given file, although it does not fail on the target."""
    return (
        record.is_alone
        and (not record.loader.torch_fails or _lacks_version(record))  # else not caused by the file
        and any(finding.rule == "loader-refuses" for finding in record.findings)
    )


def _lacks_version(record: FileRecord) -> bool:
    """Whether a library of the system is too old for torch, and so may be for the file."""
    stop = record.loader.stop
    return stop is not None and stop.kind is StopKind.VERSION_NOT_FOUND


def verdict_asks_outcomes(record: FileRecord) -> bool:
    """Whether the outcome on every release is needed whatever the findings are: for the report, or for a fix that may
    advise another release."""
    return record.releases_asked or record.verdict is ArtifactVerdict.FAILS


def outcomes_are_asked(record: FileRecord) -> bool:
    """Whether the run needs the outcome on every release, or a fix may advise another release."""
    known = record.matrix is not None and not record.target.of_file.has_no_known_build
    return known and (verdict_asks_outcomes(record) or is_refused_by_loader(record))


def keys_to_read(record: FileRecord) -> tuple[str, ...]:
    """The imports with dispatch keys that `compare_drift` reads in their calls. `apply_rules` finds these calls in its
    own search of the code, except for a file that only the loader refuses, which its findings first show."""
    layouts, matrix = record.layouts, record.matrix
    if layouts is None or matrix is None or not verdict_asks_outcomes(record):
        return ()
    return layouts.key_takers if layouts.reads_keys(matrix.verdicts) else ()


PASSES: tuple[Pass, ...] = (
    Pass("read_file", reads=(), writes=("binary", "facts", "device_images")),
    Pass("resolve_target", reads=("binary", "facts"), writes=("target",)),
    Pass("find_siblings", reads=("binary",), writes=("load_path", "siblings", "namesakes")),
    Pass(
        "resolve_imports",
        reads=("binary", "target", "load_path", "siblings", "namesakes"),
        writes=("imports", "needed", "absent", "package_scope"),
    ),
    Pass(
        "predict_load",
        reads=("binary", "target", "load_path", "siblings"),
        writes=("loader", "problem"),
    ),
    Pass(
        "check_releases",
        reads=(
            "binary", "facts", "target", "imports", "load_path", "siblings", "namesakes", "absent", "package_scope",
            "loader", "problem",
        ),
        writes=("torch_needs", "matrix", "target_outcome", "broken_library"),
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
        reads=("binary", "imports", "torch_needs"),
        writes=("operators",),
        when=may_register_operators,
        skipped={"operators": ()},
    ),
    Pass(
        "list_called_operators",
        reads=("binary", "imports", "torch_needs", "target"),
        writes=("called",),
        when=calls_by_name,
        skipped={"called": CalledOperators()},
    ),
    Pass(
        "check_gpu_code",
        reads=("device_images", "needed", "torch_needs", "target"),
        writes=("gpu_check",),
        when=gpus_are_named,
        skipped={"gpu_check": GpuCheck()},
    ),
    Pass(
        "decide_verdict",
        reads=(
            "imports", "needed", "target", "torch_needs", "broken_library", "absent", "target_outcome",
            "problem", "gpu_check", "namesakes",
        ),
        writes=("verdict",),
    ),
    Pass(
        "apply_rules",
        reads=(
            "binary", "facts", "imports", "needed", "target", "torch_needs", "matrix", "provenance",
            "derived_classes", "layouts", "verdict", "loader", "absent", "load_path", "gpu_check",
        ),
        writes=("findings", "what_if"),
    ),
    Pass(
        "compare_drift",
        reads=(
            *("facts", "target", "matrix", "provenance", "derived_classes"),
            *("layouts", "verdict", "loader", "findings"),
        ),
        writes=("outcomes",),
        when=outcomes_are_asked,
        skipped={"outcomes": None},
    ),
    Pass(
        "find_causes",
        reads=(
            "facts", "imports", "target", "absent", "torch_needs", "matrix", "outcomes", "verdict", "loader",
            "findings",
        ),
        writes=("diagnosis",),
        when=is_refused,
        skipped={"diagnosis": Diagnosis()},
    ),
    Pass(
        "write_notes",
        reads=(
            "facts", "imports", "target", "absent", "matrix", "target_outcome", "broken_library", "problem",
            "verdict", "loader", "torch_needs", "gpu_check", "called", "package_scope",
        ),
        writes=("notes", "failure_reasons"),
    ),
)  # fmt: skip


def run_passes(record: FileRecord, timings: dict[str, float] | None) -> None:
    """Run all passes over a record.

    Args:
        timings: pass -> seconds; the time of each pass is added.

    Raises:
        UnreadableFile: the file is not a valid shared object.
        UnknownBuild: `--torch` does not name a known torch.
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
