"""Check wheels for Windows and macOS, and print a table: verdict, declared and compatible releases of torch of each.

    pip download --no-deps --only-binary=:all: --platform win_amd64 --python-version 311 -d DIR NAME==VERSION ...
    python benchmarks/platform_wheels.py DIR

A wheel is checked against the newest torch that it declares for its platform, so the table depends on no machine. An
exact pin (`torch==2.8.0`) must load on its release: the last line counts those that do not.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from abiscan.model.versions import ReleaseRanges

PIN = re.compile(r"==\s*([\d.]+)$")


def run(*words: str | Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "abiscan", *map(str, words), "-f", "json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


def loads_on(wheel: Path) -> dict[str, bool]:
    """Release -> whether the wheel's modules load on it, whatever its requirements allow."""
    (only,) = run("compat", wheel)["inputs"]
    found: dict[str, bool] = {}
    for each in only["compatibility"]["torch"] or ():
        loads = each["compatible"] or each["reason"].startswith("not allowed by")
        found[each["torch"]] = found.get(each["torch"], False) or loads
    return found


def row(wheel: Path) -> tuple[list[str], str | None]:
    """(cells, the pin if the wheel does not load on it); no cells if the wheel does not use torch."""
    report = run(wheel, "--torch", "declared")
    users = [each for each in report["artifacts"] if each["verdict"] not in ("not-torch", "unreadable")]
    if not users:
        return [], None
    (container,) = report["containers"]
    releases = loads_on(wheel)
    known, good = list(releases), {release for release, loads in releases.items() if loads}
    declared = ", ".join(line.partition(";")[0].strip() for line in container["applicable_torch"]) or "-"
    pin = PIN.search(declared)
    missed = pin[1] if pin is not None and pin[1] in known and pin[1] not in good else None
    word = container["verdict"]
    if word == "loads" and "macosx" in wheel.name:
        word = "resolves"
    counted = [each["target"]["torch_build"] for each in users if not each["replaced_by"]]
    against = next((build["version"] for build in counted if build), "-")
    cells = [f"`{wheel.name}`", str(len(users)), declared.removeprefix("torch") or "any", against, word]
    return [*cells, ReleaseRanges.of_known(known, good.__contains__).text(last=", ") or "none"], missed


def main() -> int:
    head = ("wheel", "modules", "declared", "checked against", "verdict", "compatible with")
    print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    count, projects, missed = 0, set(), []
    for wheel in sorted(Path(sys.argv[1]).glob("*-*[xn]_*.whl"), key=lambda path: path.name.lower()):
        cells, pin = row(wheel)
        if cells:
            print(f"| {' | '.join(cells)} |", flush=True)
            count += 1
            projects.add(wheel.name.partition("-")[0])
            missed += [f"{wheel.name} on {pin}"] if pin else []
    print(f"\n{count} wheels of {len(projects)} projects; fail on their exact pin: {', '.join(missed) or 'none'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
