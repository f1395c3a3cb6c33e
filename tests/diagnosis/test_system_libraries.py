"""Symbol versions of system libraries, against the libstdc++ and the glibc of this machine."""

from __future__ import annotations

import ctypes.util
import re

import pytest

from abiscan.diagnosis.knowledge import Environment, Knowledge
from abiscan.model.cause import CauseId, Confidence
from tests.diagnosis.explained import explain
from tests.programs import output_of, run_program
from tests.tables import table_rows


def _libstdcxx() -> str:
    found = run_program(["gcc", "-print-file-name=libstdc++.so.6"])
    return found.stdout.strip()


@pytest.mark.skipif(not ctypes.util.find_library("stdc++"), reason="no libstdc++ here")
def test_gcc_release_of_this_machines_newest_version() -> None:
    from abiscan.elf import open_elf

    path = _libstdcxx()
    if "/" not in path:
        pytest.skip("no gcc here")
    elf = open_elf(path)
    defined = elf.facts().version_definitions
    newest = max((v for v in defined if re.fullmatch(r"GLIBCXX_3\.4\.\d+", v)), key=lambda v: int(v.rsplit(".", 1)[1]))
    said = output_of(["gcc", "-dumpversion"])
    # A distribution may ship the runtime of a later GCC than its own (Ubuntu 24.04), never of an earlier one.
    compiler = int(said.strip().split(".")[0])
    (subject,) = explain(newest, Knowledge())
    assert subject.causes[0].cause is CauseId.LIBSTDCXX_TOO_OLD
    told = re.search(r"GCC (\d+)\.", subject.causes[0].evidence[0])
    assert told is not None
    assert int(told[1]) >= compiler


def test_a_copied_library_is_reported() -> None:
    text = "/l/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by /s/g.so)"
    environment = Environment(symbol_versions={"libstdc++.so.6": ["GLIBCXX_3.4.29", "GLIBCXX_3.4.30", "CXXABI_1.3.13"]})
    (subject,) = explain(text, Knowledge(environment=environment))
    cause = subject.causes[0]
    assert (cause.cause, cause.confidence) == (CauseId.LIBSTDCXX_TOO_OLD, Confidence.HIGH)
    assert "defines versions up to GLIBCXX_3.4.30" in " ".join(cause.evidence)
    assert subject.needed_by == "/s/g.so"


def test_a_copy_that_defines_it_speaks_against() -> None:
    text = "/l/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by /s/g.so)"
    environment = Environment(symbol_versions={"libstdc++.so.6": ["GLIBCXX_3.4.32"]})
    (subject,) = explain(text, Knowledge(environment=environment))
    assert subject.causes[0].confidence is Confidence.MEDIUM
    assert any(fact.startswith("Against it:") for fact in subject.causes[0].evidence)


@pytest.mark.skipif(not ctypes.util.find_library("stdc++"), reason="no libstdc++ here")
def test_no_instance_that_libstdcxx_exports_is_of_the_file() -> None:
    """Oracle: nm."""
    path = _libstdcxx()
    if "/" not in path:
        pytest.skip("no gcc here")
    exported = (
        line.split()[-1].partition("@")[0] for line in output_of(["nm", "-D", "--defined-only", path]).splitlines()
    )
    names = [name for name in exported if name.startswith("_ZNSt") and "I" in name]
    assert len(names) > 500
    for name in names[:: len(names) // 100]:
        (subject,) = explain(f"undefined symbol: {name}", Knowledge())
        assert subject.causes[0].cause is not CauseId.EXTENSION_SOURCE_NOT_BUILT, name


@table_rows
def test_other_instances_are(name: str) -> None:
    (subject,) = explain(f"ImportError: /x/_C.so: undefined symbol: {name}", Knowledge())
    assert [each.cause for each in subject.causes] == [CauseId.EXTENSION_SOURCE_NOT_BUILT]
