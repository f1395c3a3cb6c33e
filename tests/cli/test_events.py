"""`--json-lines` and `--exit-zero`. The JSON report of the same run is the oracle."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from abiscan.analysis.executors import in_process
from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from abiscan.model.report import ArtifactReport
from tests.programs import run_abiscan

FIXTURES = Path(__file__).parents[1] / "fixtures"
SCHEMA: dict[str, Any] = json.loads(resources.files("abiscan").joinpath("data/report.schema.json").read_text())
EVENT = {"$ref": "#/$defs/event", "$defs": SCHEMA["$defs"]}


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return run_abiscan(*words, "--torch", "2.13.0", "-q")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    for name in ("good-extension.so", "old-string-extension.so"):
        shutil.copy(FIXTURES / name, tmp_path)
    (tmp_path / "damaged.so").write_bytes(b"\x7fELF")
    return str(tmp_path)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_line_for_each_file_and_the_summary(folder: str, jobs: str) -> None:
    done = run(folder, "--json-lines", "-j", jobs)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    for event in events:
        jsonschema.validate(event, EVENT)
    report = json.loads(run(folder, "-f", "json").stdout)
    *files, last = events
    of_report = {a["path"]: (a["verdict"], [f["rule"] for f in a["findings"]]) for a in report["artifacts"]}
    of_events = {
        e["path"]: (e["verdict"], [f["rule"] for f in e["findings"]]) for e in files if e["event"] == "artifact"
    }
    assert of_events == of_report
    errors = [{key: e[key] for key in e if key != "event"} for e in files if e["event"] == "error"]
    assert errors == report["errors"]
    assert (last["event"], last["verdict"], last["summary"]) == ("summary", report["verdict"], report["summary"])
    assert last["exit_status"] == done.returncode == 1


def test_events_come_while_the_run_goes_on() -> None:
    order: list[str] = []

    def executor(batches: Any, context: Any) -> Iterator[Any]:
        for each in in_process(batches, context):
            order.append("read")
            yield each

    def watch(item: object) -> None:
        if isinstance(item, ArtifactReport):
            order.append(item.path.rpartition("/")[2])

    names = ["good-extension.so", "old-string-extension.so"]
    options = ScanOptions("2.13.0", None, LoaderSettings("/"))
    scan([str(FIXTURES / name) for name in names], options, executor=executor, watch=watch)
    assert order.index(names[0]) < len(order) - 1 - order[::-1].index("read")


def test_other_formats_need_a_file(folder: str, tmp_path: Path) -> None:
    refused = run(folder, "--json-lines", "-f", "json")
    assert (refused.returncode, "give json a file (-f json:FILE)" in refused.stderr) == (2, True)
    out = tmp_path / "out"
    done = run(folder, "--json-lines", "-f", f"json:{out}")
    assert json.loads(done.stdout.splitlines()[-1])["summary"] == json.loads(out.read_text())["summary"]


@pytest.mark.parametrize(
    ("name", "status"), [("old-string-extension.so", 1), ("damaged.so", 3), ("good-extension.so", 0)]
)
def test_exit_zero_changes_only_the_status(folder: str, name: str, status: int) -> None:
    with_it, without = (run(f"{folder}/{name}", *words) for words in (("--exit-zero",), ()))
    assert (with_it.returncode, without.returncode) == (0, status)
    assert with_it.stdout == without.stdout


def test_exit_zero_leaves_usage_errors(tmp_path: Path) -> None:
    assert run(str(tmp_path / "absent.so"), "--exit-zero").returncode == 2
