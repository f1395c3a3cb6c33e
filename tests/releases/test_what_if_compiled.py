"""A rewrite that a rule advises, applied: the predicted releases are those of the compiled file. Oracle: g++ and the
headers of this environment's torch (2.13.0)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from abiscan.model.report import ArtifactReport
from tests import torch_here

SOURCE = """
#include <ATen/core/TensorBase.h>
__attribute__((visibility("default"))) float first(const at::TensorBase& t) { return *t.CALL; }
"""


def compiled(call: str, directory: Path) -> ArtifactReport:
    torch = torch_here.directory()
    source, out = directory / "x.cpp", directory / "x.so"
    source.write_text(SOURCE.replace("CALL", call))
    flags = "-shared -fPIC -O1 -w -std=c++20 -fvisibility=hidden -fvisibility-inlines-hidden -ffunction-sections"
    command = ["g++", *flags.split(), "-fdata-sections", "-Wl,--gc-sections", f"-I{torch}/include", str(source)]
    subprocess.run([*command, f"-L{torch}/lib", "-lc10", "-ltorch_cpu", "-o", str(out)], check=True)
    options = ScanOptions(torch="2.13.0", environment=None, settings=LoaderSettings(cwd=str(directory)), matrix=True)
    (artifact,) = scan([str(out)], options).artifacts
    return artifact


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_const_data_ptr_rewritten_as_in_the_rule(tmp_path: Path) -> None:
    before, after = compiled("const_data_ptr<float>()", tmp_path), compiled("data_ptr<float>()", tmp_path)
    assert before.provenance is not None
    assert after.provenance is not None
    # FACTS: the spelling of these headers is exported by 2.1-2.2 and from 2.12 on.
    assert before.provenance.torch_releases == (("2.1.0", "2.2.2"), ("2.12.0", "2.15.0"))
    (promised,) = before.what_if
    assert promised.compatible_with == after.provenance.torch_releases == (("1.13.0", "2.15.0"),)
    assert "headers of torch 2.1.0-2.2.2, 2.12.0-2.15.0" in promised.assumes
    assert after.what_if == ()
