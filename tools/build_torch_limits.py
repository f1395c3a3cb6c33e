"""Make abiscan/diagnosis/catalogue/torch_limits.toml: packages whose releases allow one torch at most, and the newest
of the given releases for each torch.

    python tools/build_torch_limits.py sglang[srt] 0.4.4.post4 0.4.6.post5 ... lmdeploy 0.7.2.post1 ...

pip reads the metadata of each release; nothing is installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

TARGET = Path(__file__).parents[1] / "abiscan" / "diagnosis" / "catalogue" / "torch_limits.toml"
_HEADER = "# Requires-Dist of releases of packages that allow one torch at most. Made by tools/build_torch_limits.py.\n"


def main(arguments: list[str]) -> None:
    """Read the releases after each name, and write the table."""
    names: dict[str, list[str]] = {}
    for each in arguments:
        if _is_version(each):
            names[next(reversed(names))].append(each)
        else:
            names[each] = []
    TARGET.write_text(_HEADER + "".join(_row(name, releases) for name, releases in names.items()), encoding="utf-8")


def _is_version(word: str) -> bool:
    try:
        Version(word)
    except InvalidVersion:
        return False
    return True


def _row(requirement: str, releases: list[str]) -> str:
    newest: dict[str, str] = {}
    for release in sorted(releases, key=Version):
        for torch in _torch_of(requirement, release):
            newest[torch] = release
    name = Requirement(requirement).name
    lines = [f'"{torch}" = "{newest[torch]}"' for torch in sorted(newest, key=Version, reverse=True)]
    source = f"https://pypi.org/project/{name} (Requires-Dist)"
    return (
        f'\n[torch_limit.{name}]\ninstall = "{requirement}"\nsource = "{source}"\ndate = "{date.today()}"\n'
        + "\n".join((f"[torch_limit.{name}.releases]", *lines, ""))
    )


def _torch_of(requirement: str, release: str) -> Iterator[str]:
    """The newest torch that a release allows with the extras of the requirement."""
    command = (sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--ignore-installed")
    done = subprocess.run((*command, "--report", "-", f"{requirement}=={release}"), capture_output=True, check=True)
    extras = ("", *Requirement(requirement).extras)
    for installed in json.loads(done.stdout)["install"]:
        for each in map(Requirement, installed["metadata"].get("requires_dist", [])):
            applies = each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras)
            if each.name == "torch" and applies:
                yield from (limit.version for limit in each.specifier if limit.operator in ("==", "<="))


if __name__ == "__main__":
    main(sys.argv[1:])
