"""`loader-refuses`: what the loader of this machine would say of a file that torch and Python don't stop."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from abiscan.model.finding import Finding, Severity
from abiscan.model.loading import LoaderOutcome, LoaderPrediction, StopKind
from abiscan.ownership.gpu_libraries import is_driver
from abiscan.rules.make_finding import make_finding
from abiscan.rules.rule import Rule

_OF_THE_FILE = frozenset(
    {StopKind.INVALID_FILE, StopKind.UNKNOWN_RELOCATION, StopKind.WRONG_CLASS, StopKind.ASSERTION, StopKind.CRASH}
)


def find_refusal(
    rule: Rule,
    prediction: LoaderPrediction,
    absent: Collection[str],
    module: str,
    *,
    path: str,
    alone: bool,
    beside: Collection[str] = (),
) -> Iterator[Finding]:
    """One finding where the loader refuses the file for anything but an absent GPU driver.

    Args:
        absent: sonames of all libraries that were not found, whichever the loader meets first.
        module: the file's identity over rebuilds.
        path: of the file, as the loader was asked for it.
        alone: the file was named itself, and not as a part of a wheel or package.
        beside: the needed libraries that lie in the file's own directory.
    """
    stop = prediction.stop
    if prediction.outcome is not LoaderOutcome.FAILS:
        return
    detail = prediction.error or "it would not load"
    if stop is not None and stop.kind is StopKind.LIBRARY_NOT_FOUND and is_driver(stop.object):
        others = [soname for soname in absent if not is_driver(soname)]
        if not others:
            return
        detail = f"{', '.join(others)} cannot be found either, beside the GPU driver's {stop.object}"
    # What is wrong with the file itself is so on every machine.
    damaged = stop is not None and stop.kind in _OF_THE_FILE and stop.object == path
    severity = rule.severity if alone or damaged else Severity.WARNING
    remedy = "install what the loader looks for"
    if stop is not None and stop.kind is StopKind.LIBRARY_NOT_FOUND and stop.object in beside:
        remedy = (
            f"{stop.object} lies beside the file, where the loader does not look: give the file the run path $ORIGIN "
            "(`-Wl,-rpath,'$ORIGIN'` where it is linked, or `patchelf --add-rpath '$ORIGIN'`)"
        )
    fields, identity = {"detail": detail, "target": remedy}, (module, "" if stop is None else stop.kind)
    yield make_finding(rule, fields, identity, severity=severity)
