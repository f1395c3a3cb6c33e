"""The spelling of a requirement does not matter (dependency specifiers, "Grammar": spaces are allowed anywhere)."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement

from abiscan.wheel.requirement_lines import requirements_by_name


@pytest.mark.parametrize(
    "line",
    [
        "torch ==2.4.0",
        "torch (==2.4.0)",
        "torch == 2.4.0",
        'torch ==2.4.0 ; python_version < "3.12"',
        "torch",
        'torch (>=2) ; (python_version < "3.9" or python_version > "3.12") and sys_platform == "linux"',
        'torch <2.9,>=2.8 ; os_name != "nt" or (os_name == "nt" and "tegra" not in platform_release)',
    ],
)
def test_spaces_do_not_count(line: str) -> None:
    ((spelled,),) = requirements_by_name([line]).values()
    assert Requirement(spelled) == Requirement(line)
    assert " " not in spelled.partition(";")[0]


def test_a_reference_keeps_its_spaces() -> None:
    line = "torch @ https://example.org/torch-2.4.0-cp311-cp311-linux_x86_64.whl"
    assert requirements_by_name([line]) == {"torch": (line,)}
