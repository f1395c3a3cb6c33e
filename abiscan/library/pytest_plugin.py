"""The pytest option `--abiscan`: fail the test run of a project if its built extension does not load.

Registered as entry point `pytest11` (pytest documentation, "Making your plugin installable by others").
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest


class ScanItem(pytest.Item):
    """The scan of one target.

    Attributes:
        target: as in `abiscan.scan`.
        require_torch: a version range, in which every known build must load every file; None for the installed torch.
    """

    def __init__(self, target: str, require_torch: str | None, **given: Any) -> None:
        super().__init__(name=target, **given)
        self.target, self.require_torch = target, require_torch

    def runtest(self) -> None:
        from abiscan.errors import AbiscanError
        from abiscan.library.api import scan

        try:
            report = scan(self.target, require_torch=self.require_torch)
        except AbiscanError as error:
            pytest.fail(str(error), pytrace=False)
        if report.verdict != "pass" or not report.artifacts:
            pytest.fail(
                report.render("text") if report.artifacts else f"{self.target}: no shared object", pytrace=False
            )

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"abiscan {self.target}"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("abiscan")
    group.addoption("--abiscan", action="store_true", help="Check that the built extension loads.")
    parser.addini("abiscan_targets", "Files, directories or packages to check (default: the project).", type="linelist")
    parser.addini("abiscan_require_torch", "Torch releases that must load them (default: the project's dependency).")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add one item per target."""
    if not config.getoption("abiscan"):
        return
    file = config.rootpath / "pyproject.toml"
    project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {}) if file.is_file() else {}
    targets = config.getini("abiscan_targets") or [project["name"]] * ("name" in project)
    if not targets:
        raise pytest.UsageError("--abiscan: set abiscan_targets in the configuration of pytest, or [project] name")
    require_torch = config.getini("abiscan_require_torch") or _torch_range(project.get("dependencies", ()))
    for target in targets:
        path = config.rootpath / target
        name = str(path) if path.exists() else target
        items.append(
            ScanItem.from_parent(session, target=name, require_torch=require_torch, nodeid=f"abiscan::{target}")
        )


def _torch_range(dependencies: list[str]) -> str | None:
    """The specifier of the first requirement on torch that has one."""
    from abiscan.wheel.tags import torch_requirements

    return next((each.specifier for each in torch_requirements(dependencies) if each.specifier), None)
