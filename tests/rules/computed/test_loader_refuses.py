"""Fixes for a file that the loader rejects: ld.so(8) never searches the directory of a file without a run path."""

from __future__ import annotations

import pytest

from abiscan.model.loading import LoaderOutcome, LoaderPrediction, LoaderStop, StopKind
from abiscan.rules import rule
from abiscan.rules.computed.loader_refuses import find_refusal


@pytest.mark.parametrize(("beside", "lies_there"), [(("liba.so",), True), (("libb.so",), False), ((), False)])
def test_a_library_in_the_directory_of_the_file_needs_no_install(beside: tuple[str, ...], lies_there: bool) -> None:
    stop = LoaderStop(StopKind.LIBRARY_NOT_FOUND, "liba.so")
    prediction = LoaderPrediction(LoaderOutcome.FAILS, stop)
    (finding,) = find_refusal(
        rule("loader-refuses"), "m", prediction, ("liba.so",), "/x/m.so", alone=True, beside=beside
    )
    assert "liba.so" in finding.message
    assert ("liba.so is next to the file" in finding.fix) is lies_there
    assert ("$ORIGIN" in finding.fix) is lies_there
    assert ("Install the package that provides liba.so" in finding.fix) is not lies_there


@pytest.mark.parametrize("kind", list(StopKind))
def test_only_a_machine_that_lacks_something_is_a_reason_to_check_for_another(kind: StopKind) -> None:
    stop = LoaderStop(kind, "liba.so", version="V_1")
    prediction = LoaderPrediction(LoaderOutcome.FAILS, stop)
    (finding,) = find_refusal(rule("loader-refuses"), "m", prediction, (), "/x/m.so", alone=True)
    of_the_machine = {"library-not-found", "version-not-found", "undefined-symbol", "isa-level"}
    assert ("--torch" in finding.fix) is (kind in of_the_machine)
    assert "{" not in finding.fix


@pytest.mark.parametrize(
    ("stop", "strangers", "fix"),
    [
        (
            LoaderStop(StopKind.LIBRARY_NOT_FOUND, "libshm.so"),
            (),
            "install --force-reinstall torch==2.8.0 --index-url I`",
        ),
        # `pip install --force-reinstall torch` may replace a CPU build by one for CUDA.
        (LoaderStop(StopKind.MODULE_NOT_FOUND, "", detail="typing_extensions"), (), "`pip install typing_extensions`"),
        (LoaderStop(StopKind.UNDEFINED_SYMBOL, "libtorch_cpu.so", "f"), ("/x/libc10.so",), "folder of /x/libc10.so"),
        (
            LoaderStop(StopKind.VERSION_NOT_FOUND, "/l/libc.so.6", version="GLIBC_9"),
            (),
            "Use a system where /l/libc.so.6",
        ),
    ],
)
def test_what_a_torch_that_cannot_be_imported_needs(stop: LoaderStop, strangers: tuple[str, ...], fix: str) -> None:
    prediction = LoaderPrediction(LoaderOutcome.FAILS, stop, torch_fails=True, strangers=strangers)

    def fix_for(*, from_source: bool) -> str:
        (finding,) = find_refusal(
            rule("loader-refuses"),
            "m",
            prediction,
            (),
            "/x/m.so",
            alone=True,
            torch="torch==2.8.0",
            index="I",
            from_source=from_source,
        )
        return finding.fix

    assert fix in fix_for(from_source=False)
    of_source_build = fix_for(from_source=True)
    assert of_source_build.startswith("Build torch again") or fix in of_source_build
    assert "--force-reinstall" not in of_source_build
