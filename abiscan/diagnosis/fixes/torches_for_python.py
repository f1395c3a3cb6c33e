"""Commands that install a torch without wheels for the CPython of the text."""

from __future__ import annotations

import re
from typing import Final

from abiscan.diagnosis.catalogue.load_packages import packages_by_name, wheels_of
from abiscan.diagnosis.fixes.wheel_rows import patch_release
from abiscan.model.python_version import PythonVersion
from abiscan.releases.pythons import with_wheels
from abiscan.releases.torch_indexes import INDEXES

_COMMAND: Final = (
    r"\bpip3? install\b(?=[^#\n]*?[ \"]torch(?:==(?P<release>\d+\.\d+(?:\.\d+)?)\b|[ \"\n#]|$))"
    rf"(?:[^#\n]*?{re.escape(INDEXES)}(?P<variant>(?:cu\d|rocm|xpu)[\d.]*))?"
)
# The fix is about the CPython itself.
_ANOTHER_PYTHON: Final = r"\bpython=|[Pp]ython \d"


def without_wheels(fix: str, python: PythonVersion) -> str:
    """`torch 2.6.0 has no wheels for Python 3.7 ...`, of the first such command of a fix; empty if there is none."""
    if python.major < 3 or re.search(_ANOTHER_PYTHON, fix):  # tables of wheels are of CPython 3
        return ""
    for command in re.finditer(_COMMAND, fix):
        release, variant = command["release"], command["variant"]
        if not release and not variant:
            continue
        torches = [patch_release(release)] if release else _releases_of(variant)
        pythons = sorted({each for torch in torches for each in with_wheels(torch)})
        if pythons and python not in pythons:
            none = f"torch {release} has no wheels" if release else f"No torch for {variant} has wheels"
            return (
                f"{none} for Python {python}, which the text names: use an environment with one of "
                f"Python {pythons[0]} - {pythons[-1]}."
            )
    return ""


def _releases_of(variant: str) -> list[str]:
    """The first patch releases of torch with builds of a variant, on any platform."""
    rows = wheels_of(packages_by_name()["torch"])
    return [patch_release(torch) for row in rows for torch, known in row.variants.items() if variant in known]
