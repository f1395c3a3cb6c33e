"""`loader-refuses`: the result of dlopen on this machine."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec.structs import replace

from abiscan.model.finding import Finding, Severity
from abiscan.model.loading import LoaderOutcome, LoaderPrediction, StopKind
from abiscan.ownership.gpu_libraries import is_driver
from abiscan.rules.make_finding import make_finding
from abiscan.rules.rule import Rule

_OTHER_MACHINE = "; to check the file for the machine where it will run, pass `--torch RELEASE`"
_DAMAGED = "Build or download {object} again: it loads on no machine"
_STRANGER = (
    "`unset LD_LIBRARY_PATH LD_PRELOAD`, or take the folder of {stranger} out of them: it is loaded in place of "
    "another library with the same name, with which {torch} loads"
)
_OLD_SYSTEM = "Use a system where {object} defines {version}, which {torch} requires"
_MODULE = "`pip install {module}`, which torch requires"
_TORCH_FAILS = "Install torch again with what it requires: `pip install --force-reinstall {torch}{index}`"
_SOURCE_BUILD_FAILS = "Build torch again: it is built from source, and no package index has this build"
_OF_TORCH = {StopKind.VERSION_NOT_FOUND: _OLD_SYSTEM, StopKind.MODULE_NOT_FOUND: _MODULE}
# Templates over the fields of `LoaderStop`.
_FIXES = {
    StopKind.LIBRARY_NOT_FOUND: "Install the package that provides {object}" + _OTHER_MACHINE,
    StopKind.VERSION_NOT_FOUND: (
        "Use a system where {object} defines {version}, or rebuild the file on an older system" + _OTHER_MACHINE
    ),
    StopKind.UNDEFINED_SYMBOL: "Install the release of the library that exports the symbol" + _OTHER_MACHINE,
    StopKind.STATIC_TLS: (
        "Rebuild without `-ftls-model=initial-exec`, or load the library when the process starts: `LD_PRELOAD={object}`"
    ),
    StopKind.ISA_LEVEL: "Use a processor of that level, or rebuild for an older one (`-march=x86-64`)" + _OTHER_MACHINE,
    StopKind.WRONG_CLASS: "Use a build for the architecture of this machine",
}
_SAME_DIRECTORY = (
    "{object} is next to the file, where the loader does not search. Add the run path $ORIGIN: link with "
    "`-Wl,-rpath,'$ORIGIN'`, or run `patchelf --add-rpath '$ORIGIN'`"
)
_FILE_DEFECTS = frozenset(
    {StopKind.INVALID_FILE, StopKind.UNKNOWN_RELOCATION, StopKind.WRONG_CLASS, StopKind.ASSERTION, StopKind.CRASH}
)


def find_refusal(
    rule: Rule,
    module: str,
    prediction: LoaderPrediction,
    absent: Collection[str],
    path: str,
    *,
    alone: bool,
    beside: Collection[str] = (),
    torch: str = "torch",
    index: str | None = None,
    from_source: bool = False,
) -> Iterator[Finding]:
    """One finding if the loader rejects the file, unless only a GPU driver is missing.

    Args:
        module: the module key of the file.
        absent: sonames of all libraries that were not found, including those after the first error.
        path: as passed to dlopen.
        alone: whether the file itself is an input, not a wheel or package that contains it.
        beside: needed libraries in the directory of the file.
        torch: the installed one as a requirement (`torch==2.8.0`).
        index: the index of its variant; pip would install another one from the default index.
        from_source: whether it is built from source.
    """
    stop = prediction.stop
    if prediction.outcome is not LoaderOutcome.FAILS:
        return
    detail = prediction.error or "it does not load"
    if stop is not None and stop.kind is StopKind.LIBRARY_NOT_FOUND and not prediction.torch_fails:
        others = [soname for soname in absent if not is_driver(soname)]
        # A package may preload its bundled libraries or set a search path for them.
        in_package = not alone and stop.object not in absent
        if (is_driver(stop.object) or in_package) and not others:
            return
        if is_driver(stop.object):
            detail = f"{', '.join(others)} cannot be found (the GPU driver's {stop.object} is missing too)"
        elif in_package:
            detail = f"{others[0]}: cannot open shared object file (needed by {stop.object})"
    # A damaged file fails on every machine.
    damaged = stop is not None and stop.kind in _FILE_DEFECTS and stop.object == path
    severity = rule.severity if alone or damaged else Severity.WARNING
    fix = _DAMAGED.format(object=path)
    if prediction.torch_fails:
        strangers = prediction.strangers
        again = _SOURCE_BUILD_FAILS if from_source else _TORCH_FAILS
        template = _STRANGER if strangers else again if stop is None else _OF_TORCH.get(stop.kind, again)
        known = {} if stop is None else {"object": stop.object, "version": stop.version, "module": stop.detail}
        option = f" --index-url {index}" if index else ""
        fix = template.format(torch=torch, index=option, stranger=next(iter(strangers), ""), **known)
    elif stop is not None:
        is_beside = stop.kind is StopKind.LIBRARY_NOT_FOUND and stop.object in beside
        template = _SAME_DIRECTORY if is_beside else _FIXES.get(stop.kind, _DAMAGED)
        fix = template.format(object=stop.object, version=stop.version)
    fields, identity = {"detail": detail, "target": fix}, (module, "" if stop is None else stop.kind)
    yield replace(make_finding(rule, fields, identity), severity=severity)
