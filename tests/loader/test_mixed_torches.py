"""Libraries that LD_LIBRARY_PATH puts in place of those that `import torch` needs. Oracle: `import torch`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from abiscan.model.cause import CauseId
from abiscan.model.finding import Severity
from abiscan.model.report import ArtifactVerdict
from tests import torch_here
from tests.loader import kit
from tests.programs import run_program

FIXTURES = Path(__file__).parents[1] / "fixtures"
Put = Callable[[Path], object]


def _other_library(folder: Path) -> None:
    shutil.copy(FIXTURES / "empty-library.so", folder / "libc10.so")


def _same_library(folder: Path) -> None:
    shutil.copy(torch_here.library("libc10.so"), folder / "libc10.so")


def _other_version(folder: Path) -> None:
    """An old libstdc++: it does not define a version."""
    maps = run_program([sys.executable, "-c", "import torch; print(open('/proc/self/maps').read())"]).stdout
    library = Path(next(line.split()[-1] for line in maps.splitlines() if "libstdc++.so" in line)).read_bytes()
    (folder / "libstdc++.so.6").write_bytes(library.replace(b"\0GLIBCXX_3.4.21\0", b"\0GLIBCXX_9.4.21\0"))


def _of_the_processor(folder: Path) -> None:
    """glibc since 2.33 searches this folder, on a processor with SSE 4.2."""
    (folder / "glibc-hwcaps" / "x86-64-v2").mkdir(parents=True)
    _other_library(folder / "glibc-hwcaps" / "x86-64-v2")


@pytest.mark.slow
@pytest.mark.torch
@kit.needs_glibc
@pytest.mark.parametrize(
    ("put", "stranger", "cause"),
    [
        (_other_library, "libc10.so", CauseId.LIBRARY_VERSION_MISMATCH),
        (_of_the_processor, "libc10.so", CauseId.LIBRARY_VERSION_MISMATCH),
        (_same_library, None, None),
        (_other_version, "libstdc++.so.6", CauseId.LIBSTDCXX_TOO_OLD),
        (lambda folder: (_other_version(folder), _same_library(folder)), "libstdc++.so.6", CauseId.LIBSTDCXX_TOO_OLD),
    ],
    ids=["a library of another torch", "one for the processor", "the same library", "an old libstdc++", "both"],
)
def test_import_torch_fails_as_it_is_predicted(
    put: Put, stranger: str | None, cause: CauseId | None, tmp_path: Path
) -> None:
    put(tmp_path)
    variables = {"LD_LIBRARY_PATH": str(tmp_path)}
    code = "try:\n import torch\nexcept ImportError as error: print(error, end='')"
    real = run_program([sys.executable, "-W", "ignore", "-c", code], env=kit.clean_environ(variables))
    options = ScanOptions(None, kit.environment(), LoaderSettings.of(variables, "/"))
    (report,) = scan([str(FIXTURES / "good-extension.so")], options).artifacts
    assert (report.loader.error or "").removeprefix("`import torch` itself fails: ") == real.stdout, real.stderr
    assert [os.path.basename(path) for path in report.loader.strangers][:1] == ([stranger] if stranger else [])
    assert {group.cause for group in report.causes} == ({cause} if cause else set())


@pytest.mark.torch
@kit.needs_glibc
def test_the_torch_of_a_python_without_glibc_has_its_libraries(tmp_path: Path) -> None:
    """A Python of Alpine Linux: PT_INTERP names the loader of musl, which is not modelled."""
    python = tmp_path / "python3"
    content = Path(kit.environment().executable or "").read_bytes()
    glibc, musl = b"/lib64/ld-linux-x86-64.so.2", b"/lib/ld-musl-x86_64.so.1"
    python.write_bytes(content.replace(glibc, musl.ljust(len(glibc), b"\0")))
    environment = replace(kit.environment(), executable=str(python))
    (report,) = scan(
        [str(FIXTURES / "good-extension.so")], ScanOptions(None, environment, LoaderSettings("/"))
    ).artifacts
    assert report.verdict is ArtifactVerdict.UNDECIDED
    assert all(library.found for library in report.needed)
    assert not [finding.rule for finding in report.findings if finding.severity is Severity.ERROR]
    assert "no interpreter with glibc's loader was found" in report.notes[0]


@pytest.mark.torch
@kit.needs_glibc
def test_a_file_without_torch_is_opened_with_the_old_library_alone(tmp_path: Path) -> None:
    _other_version(tmp_path)
    options = ScanOptions(None, kit.environment(), LoaderSettings.of({"LD_LIBRARY_PATH": str(tmp_path)}, "/"))
    (report,) = scan([str(FIXTURES / "gpu-cuda.so")], options).artifacts
    assert not report.loader.torch_fails
