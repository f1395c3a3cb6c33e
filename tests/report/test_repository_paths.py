"""Paths of a checkout, for annotations and SARIF results on GitHub and GitLab."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.programs import run_abiscan

ROOT = Path(__file__).parents[2]
_KERNEL = (
    "#include <ATen/ATen.h>\ntemplate <typename scalar_t> __global__ void k(const scalar_t* p, scalar_t* o) "
    '{ o[0] = __ldg(p); }\nvoid f(at::Tensor t) { AT_DISPATCH_FLOATING_TYPES_AND_HALF(t.scalar_type(), "k", [&] '
    "{ k<scalar_t><<<1, 1>>>(t.data_ptr<scalar_t>(), nullptr); }); }\n"
)


def _run(directory: Path, form: str, path: str, **environment: str) -> str:
    done = run_abiscan("-f", form, path, cwd=directory, env=os.environ | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("variable", ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"])
def test_a_source_is_at_its_path_in_the_checkout(tmp_path: Path, variable: str) -> None:
    source = tmp_path / "pkg" / "csrc" / "k.cu"
    source.parent.mkdir(parents=True)
    source.write_text(_KERNEL)
    environment = {"GITHUB_WORKSPACE": "", "CI_PROJECT_DIR": "", variable: str(tmp_path)}
    for path in ("csrc/k.cu", str(source), "../pkg/csrc"):
        assert "file=pkg/csrc/k.cu,line=2," in _run(tmp_path / "pkg", "github", path, **environment)
        log = json.loads(_run(tmp_path / "pkg", "sarif", path, **environment))
        (result,) = log["runs"][0]["results"]
        place = result["locations"][0]["physicalLocation"]
        assert place == {"artifactLocation": {"uri": "pkg/csrc/k.cu"}, "region": {"startLine": 2}}
        assert result["analysisTarget"]["uri"] == "pkg/csrc/k.cu"


def test_without_a_checkout_paths_are_those_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(_KERNEL)
    environment = {"GITHUB_WORKSPACE": "", "CI_PROJECT_DIR": ""}
    assert "file=k.cu,line=2," in _run(tmp_path, "github", "k.cu", **environment)
    elsewhere = {**environment, "GITHUB_WORKSPACE": str(ROOT)}
    assert "file=k.cu,line=2," in _run(tmp_path, "github", "k.cu", **elsewhere)
