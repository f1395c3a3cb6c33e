"""docs/how-to/neighbours.md on real wheels, compared with torch-abi-audit, auditwheel and abi3audit."""

from __future__ import annotations

import fnmatch
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.programs import run_abiscan, run_program

pytestmark = pytest.mark.neighbours

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "how-to" / "neighbours.md").read_text(encoding="utf-8")
WRITE, CHECK, BESIDE_AUDITWHEEL, BESIDE_ABI3AUDIT = re.findall(r"```sh\nabiscan (.*?)\n```", PAGE)
UNSTABLE, STABLE = "0.14.0", "0.17.0"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Version of torchao -> its wheel, the only one in its directory."""
    found = {}
    for version in (UNSTABLE, STABLE):
        target = tmp_path_factory.mktemp("wheel") / "dist"
        words = ["download", "-q", "--no-deps", "--only-binary=:all:", "--python-version", "3.11", "-d", str(target)]
        platform = ["--platform", "manylinux_2_28_x86_64", f"torchao=={version}"]
        subprocess.run([sys.executable, "-m", "pip", *words, *platform], check=True)
        (found[version],) = target.glob("*.whl")
    return found


def abiscan(command: str, wheel: Path, *more: str) -> tuple[int, dict[str, Any]]:
    """A command of the page in a directory with `dist`, with a JSON report."""
    words = [str(wheel) if word == "dist/*.whl" else word for word in command.split()]
    done = run_abiscan(
        *words,
        *more,
        "-f",
        "json",
        cwd=wheel.parents[1],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(wheel.parents[1])},
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def tool(name: str, *words: str) -> dict[str, Any]:
    program = shutil.which(name)
    assert program is not None, f"pip install {name}"
    done = run_program([program, *words])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def torch_abi_audit(wheel: Path, target: Path) -> dict[str, bool]:
    """Library in the package -> whether it uses torch outside the stable ABI."""
    zipfile.ZipFile(wheel).extractall(target)
    found = tool("torch-abi-audit", str(target / "torchao"), "--json")
    libraries = [each for each in (*found["extensions"], *found["bundled_libs"]) if each["error"] is None]
    return {
        str(Path(each["path"]).relative_to(target)): each["torch"]["uses_torch"] and not each["torch"]["stable"]
        for each in libraries
    }


def findings(report: dict[str, Any], rule: str) -> dict[str, list[dict[str, Any]]]:
    """Member -> its findings of a rule."""
    found = {a["member"]: [f for f in a["findings"] if f["rule"] == rule] for a in report["artifacts"]}
    return {member: own for member, own in found.items() if own}


def test_the_same_libraries_are_unstable(wheels: dict[str, Path], tmp_path: Path) -> None:
    for version, wheel in wheels.items():
        audited = torch_abi_audit(wheel, tmp_path / version)
        status, report = abiscan(CHECK.partition(" --baseline")[0], wheel)
        unstable = {name for name, is_unstable in audited.items() if is_unstable}
        assert set(findings(report, "require-stable-abi")) == unstable
        assert {a["member"] for a in report["artifacts"]} == set(audited)
        assert (status, bool(unstable)) == ((1, True) if version == UNSTABLE else (0, False))


def test_a_baseline_fails_where_an_allowlist_fails(wheels: dict[str, Path], tmp_path: Path) -> None:
    """The oracle is such a script: unstable libraries outside of the list, and entries that are stable or gone."""
    audited = {version: torch_abi_audit(wheel, tmp_path / version) for version, wheel in wheels.items()}
    for listed in wheels:
        allowed = [name for name, unstable in audited[listed].items() if unstable]
        baseline = tmp_path / f"{listed}.json"
        write, check = (text.replace("stable-abi.json", str(baseline)) for text in (WRITE, CHECK))
        assert abiscan(write, wheels[listed])[0] == 0
        for now, wheel in wheels.items():
            unexpected = {
                n for n, bad in audited[now].items() if bad and not any(fnmatch.fnmatch(n, a) for a in allowed)
            }
            stale = {name for name in allowed if not audited[now].get(name)}
            status, report = abiscan(check, wheel)
            open_findings = {
                member
                for member, own in findings(report, "require-stable-abi").items()
                if not all(each["suppressed"] for each in own)
            }
            assert open_findings == unexpected
            assert len(report["stale"]) == len(stale)
            assert status == (1 if unexpected or stale else 0)


def test_the_tag_of_auditwheel_is_that_of_the_report(wheels: dict[str, Path], tmp_path: Path) -> None:
    wheel = wheels[UNSTABLE]
    shown = tool("auditwheel", "show", "--json", str(wheel))
    assert shown["overall_tag"] == "linux_x86_64"
    _status, report = abiscan(BESIDE_AUDITWHEEL, wheel)
    facts = [f["value"] for a in report["artifacts"] for f in a["provenance"]["facts"] if f["topic"] == "manylinux"]
    assert max(facts, key=lambda tag: [int(each) for each in re.findall(r"\d+", tag)]) == shown["sym_tag"]
    assert findings(report, "wheel-tag-too-old") == {}
    # A tag that auditwheel's result excludes: 2.17 is before 2.24.
    assert shown["sym_tag"] == "manylinux_2_24_x86_64"
    (older := tmp_path / "dist").mkdir()
    shutil.copy(wheel, older / f"torchao-{UNSTABLE}-cp310-abi3-manylinux_2_17_x86_64.whl")
    _status, report = abiscan(BESIDE_AUDITWHEEL, next(older.iterdir()))
    assert findings(report, "wheel-tag-too-old")


def test_symbols_of_abi3audit_are_those_of_the_report(wheels: dict[str, Path], tmp_path: Path) -> None:
    wheel = wheels[UNSTABLE]
    (audited,) = tool("abi3audit", "-R", str(wheel))["specs"].values()
    outside = {each["name"]: each["result"]["non_abi3_symbols"] for each in audited["wheel"]}
    (module,) = [name for name, symbols in outside.items() if symbols]
    status, report = abiscan(BESIDE_ABI3AUDIT, wheel)
    assert status == 1
    assert {name.rpartition("/")[2] for name in findings(report, "wheel-tag-other-python")} == {module}
    (facts,) = [a["provenance"]["facts"] for a in report["artifacts"] if a["member"].endswith(module)]
    assert any(
        each["value"].startswith(f"{len(outside[module])} of ") for each in facts if each["topic"] == "python-abi"
    )
    # A module with the suffix .abi3.so that has private symbols.
    fixture = ROOT / "tests" / "fixtures" / "outside-limited-api.abi3.so"
    (audited,) = tool("abi3audit", "-R", str(fixture))["specs"].values()
    (tmp_path / "dist").mkdir()
    own = Path(shutil.copy(fixture, tmp_path / "dist"))
    _status, report = abiscan(BESIDE_ABI3AUDIT, own)
    ((found,),) = findings(report, "outside-limited-api").values()
    assert set(found["symbols"]) == set(audited["object"]["result"]["non_abi3_symbols"])
