"""Builds archives for the tests of this room."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from abiscan.inputs import Artifact, Limits, Note, Options, expand
from abiscan.model.report import InputError

FIXTURES = Path(__file__).parents[1] / "fixtures"
GOOD = (FIXTURES / "good-extension.so").read_bytes()
SMALL = (FIXTURES / "gcc-const-data-ptr.so").read_bytes()

METADATA = (
    b"Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nRequires-Dist: torch==2.4.0\nRequires-Python: >=3.9\n\nText\n"
)
WHEEL = b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n"
WHEEL_NAME = "demo-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
DIST_INFO = {"demo-1.0.dist-info/METADATA": METADATA, "demo-1.0.dist-info/WHEEL": WHEEL}

Members = Mapping[str, bytes]


def zip_bytes(members: Members, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tar_bytes(members: Members, mode: str = "w", links: Mapping[str, str] | None = None) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
    return buffer.getvalue()


def all_of(
    *targets: str | Path, cwd: Path, site: list[str] | None = None, limits: Limits | None = None
) -> tuple[list[Artifact], list[InputError], list[Note]]:
    """(artifacts, errors, notes)."""
    options = Options(limits=limits or Limits())
    items = list(expand([str(t) for t in targets], cwd=str(cwd), environment_paths=site or [], options=options))
    return (
        [i for i in items if isinstance(i, Artifact)],
        [i for i in items if isinstance(i, InputError)],
        [i for i in items if isinstance(i, Note)],
    )


def content_of(artifact: Artifact) -> bytes:
    image = artifact.open().image
    return bytes(image.buffer[: image.size])
