"""Device code against cuobjdump, over the fixtures and every file of the corpus that has any:
`pip install nvidia-cuda-cuobjdump && python -m tests.corpus.fetch && pytest -m cuobjdump`."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from abiscan.elf import open_elf
from abiscan.model.device_code import DeviceCode, DeviceImages
from tests.corpus.fetch import corpus_dir, shared_objects
from tests.programs import run_program

pytestmark = pytest.mark.cuobjdump

_HEAD = re.compile(r"^Fatbin (\S+) code:\n=+\narch = (\S+)\n((?:.+\n)*)", re.MULTILINE)
Images = Counter[tuple[str, str, bool]]


@pytest.fixture(scope="module")
def cuobjdump() -> str:
    found = shutil.which("cuobjdump")
    if found is None:
        try:
            files = importlib.metadata.files("nvidia-cuda-cuobjdump") or []
        except importlib.metadata.PackageNotFoundError:
            pytest.fail("this test needs cuobjdump: pip install nvidia-cuda-cuobjdump")
        found = next(str(file.locate()) for file in files if file.name == "cuobjdump")
        # pip does not keep the execute permission of this wheel's program.
        Path(found).chmod(0o755)
    return found


def told(cuobjdump: str, path: Path) -> tuple[Images, str]:
    """(form, architecture, compressed) -> number, over all fat binaries; and cuobjdump's error."""
    done = run_program([cuobjdump, "-all", str(path)])
    heads = _HEAD.finditer(done.stdout)
    images = Counter((head[1], head[2], "compressed" in head[3].split("\n")) for head in heads)
    return images, done.stderr.strip() if done.returncode else ""


def read(code: DeviceImages) -> Images:
    """The same from abiscan; cuobjdump also prints `sm_90` for PTX."""
    found: Images = Counter()
    for image in code.images:
        form = {DeviceCode.PTX: "ptx", DeviceCode.MACHINE_CODE: "elf", DeviceCode.LTO_IR: "nvvm"}[image.code]
        architecture = re.sub(r"^(compute|lto)_", "sm_", image.architecture)
        found[form, architecture, True] += image.compressed
        found[form, architecture, False] += image.images - image.compressed
    return +found


def test_the_fixtures(cuobjdump: str, fixtures_dir: Path) -> None:
    names = ("gpu-cuda.so", "gpu-cuda-compressed.so", "gpu-cuda-relocatable.so", "nvcc-const-data-ptr.so")
    for name in names:
        images, error = told(cuobjdump, fixtures_dir / name)
        assert not error
        assert read(open_elf(fixtures_dir / name).device_images()) == images, name


def test_every_file_of_the_corpus_on_which_it_answers(cuobjdump: str) -> None:
    answered, refused, different = 0, [], []
    for path in shared_objects(corpus_dir() / "unpacked"):
        elf = open_elf(path)
        code = elf.device_images()
        mine = read(code)
        if not any(image.architecture.startswith(("sm_", "compute_", "lto_")) for image in code.images):
            continue
        images, error = told(cuobjdump, path)
        if error:
            refused.append(f"{path.name}: {error[-200:]}")
        elif images != mine or code.unread is not None:
            different.append(f"{path}: cuobjdump {images - mine}, abiscan {mine - images}, {code.unread}")
        else:
            answered += 1
    print(f"{answered} equal; cuobjdump stopped on {len(refused)}:", *refused, sep="\n")
    assert different == []
    assert answered, f"no device code in {os.fspath(corpus_dir())}: python -m tests.corpus.fetch"
