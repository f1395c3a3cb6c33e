"""Whether an installed torch has the version of a published wheel.

Oracle: torch/version.py of wheels of download.pytorch.org and PyPI for Linux (`2.0.1+cu117`, `2.13.0+cpu`) and macOS
(`2.2.2`); tools/generate_torch_version.py of torch, which takes PYTORCH_BUILD_VERSION as it is; PEP 376, INSTALLER."""

from __future__ import annotations

from pathlib import Path

from abiscan.environment.installed_torch import InstalledTorch, is_wheel_without_label
from tests.tables import table_rows


@table_rows
def test_a_version_without_label_is_that_of_no_published_wheel(
    tmp_path: Path, version: str, machine: str, library: str, installer: str | None, *, expected: bool
) -> None:
    public, variant = version.partition("+")[0], "cpu"
    record = tmp_path / f"torch-{public}.dist-info"
    record.mkdir()
    if installer is not None:
        (record / "INSTALLER").write_text(installer)
    root = str(tmp_path / "torch")
    torch = InstalledTorch(
        *(root, f"{root}/lib", (f"{root}/lib/{library}",), None, version, public, variant),
        *(None, None, None, None, machine, None),
    )
    assert is_wheel_without_label(torch) is expected
