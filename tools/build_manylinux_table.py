"""Make abiscan/data/manylinux_policies.json: the newest symbol versions on all systems of a manylinux tag.

    pip install auditwheel && python tools/build_manylinux_table.py

Reads the policy of the installed auditwheel, which is made from images of each tag's reference distributions; or, with
`python tools/build_manylinux_table.py FILE VERSION`, a `manylinux-policy.json` of that version.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
FAMILIES = ("GLIBC", "GLIBCXX", "CXXABI", "GCC")
# Machine in tags -> machine in the ELF reader (abiscan/wheel/tags.py).
MACHINES = {"i686": "i386", "armv7l": "arm"}


def policy() -> tuple[str, str]:
    """The text of the policy, and its version of auditwheel."""
    if len(sys.argv) == 3:
        return Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2]
    distribution = metadata.distribution("auditwheel")
    return Path(str(distribution.locate_file("auditwheel/policy/manylinux-policy.json"))).read_text(
        encoding="utf-8"
    ), distribution.version


def newest(versions: list[str]) -> tuple[int, ...]:
    """The highest plain number. Names such as `TM_1` and `LDBL_3.4` are not numbers."""
    plain = [version for version in versions if re.fullmatch(r"\d+(\.\d+)*", version)]
    return max((tuple(int(part) for part in version.split(".")) for version in plain), default=())


def dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def render(table: Mapping[str, Mapping[tuple[int, ...], Mapping[str, tuple[int, ...]]]], version: str) -> str:
    """The file, with one line per tag: the newest versions by machine and by the tag's glibc."""
    source = f"manylinux-policy.json of auditwheel {version} (MIT; pypa/auditwheel)"
    machines = []
    for machine in sorted(table):
        rows = [
            f'      "{dotted(glibc)}": ' + json.dumps({family: dotted(limit) for family, limit in limits.items()})
            for glibc, limits in table[machine].items()
        ]
        machines.append(f'    "{machine}": {{\n' + ",\n".join(rows) + "\n    }")
    return f'{{\n  "source": "{source}",\n  "newest": {{\n' + ",\n".join(machines) + "\n  }\n}\n"


def main() -> None:
    text, version = policy()
    table: dict[str, dict[tuple[int, ...], dict[str, tuple[int, ...]]]] = {}
    for row in json.loads(text):
        tag = re.fullmatch(r"manylinux_(\d+)_(\d+)", row["name"])
        if tag is None:
            continue
        glibc = (int(tag[1]), int(tag[2]))
        for machine, families in row["symbol_versions"].items():
            found = {family: limit for family in FAMILIES if (limit := newest(families.get(family, [])))}
            # A glibc without a version of its own number is listed with an older one.
            found["GLIBC"] = max(found.get("GLIBC", ()), glibc)
            table.setdefault(MACHINES.get(machine, machine), {})[glibc] = found
    (ROOT / "abiscan" / "data" / "manylinux_policies.json").write_text(render(table, version), encoding="utf-8")
    print(f"{len(table)} machines, {len(table['x86_64'])} tags, of auditwheel {version}")


if __name__ == "__main__":
    main()
