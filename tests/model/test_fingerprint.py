"""Fingerprints and module names: what changes them, and what does not."""

from __future__ import annotations

import pytest

from abiscan.model.fingerprint import bare_name, container_key, fingerprint, module_key
from tests.tables import table_rows


@table_rows
def test_module_names(path: str, expected: str) -> None:
    assert bare_name(path) == expected


@pytest.mark.parametrize(
    ("path", "member", "expected"),
    [
        ("build/_C.so", None, "_C.so"),
        ("/home/someone/checkout/src/pkg/_C.so", None, "_C.so"),
        ("/env/lib/python3.11/site-packages/pkg/sub/_C.abi3.so", None, "pkg/sub/_C.so"),
        ("p/build/lib.linux-x86_64-cpython-311/pkg/_C.cpython-311-x86_64-linux-gnu.so", None, "pkg/_C.so"),
        ("dist/pkg-1.0-cp311-cp311-linux_x86_64.whl", "pkg/_C.abi3.so", "pkg/_C.so"),
        ("dist/pkg-1.0-cp311-cp311-linux_x86_64.whl", "pkg-1.0.data/platlib/pkg/_C.so", "pkg/_C.so"),
        ("dist/pkg-1.0-cp311-cp311-linux_x86_64.whl", "pkg.libs/libjpeg.ceea7512.so.62", "pkg.libs/libjpeg.so"),
        ("pkg-1.0.tar.gz", "pkg-1.0/csrc/a.cu", "csrc/a.cu"),
        ("pkg-1.0.conda", "pkg.tar.zst!lib/python3.11/site-packages/pkg/_C.so", "pkg/_C.so"),
    ],
)
def test_module_keys(path: str, member: str | None, expected: str) -> None:
    assert module_key(path, member) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("dist/TorchVision-0.19.0-cp311-cp311-manylinux1_x86_64.whl", "torchvision"),
        ("my_pkg-1.0.post1-1-py3-none-any.whl", "my-pkg"),
        ("my-pkg-1.0.tar.gz", "my-pkg"),
        ("pkg-1.2-py311_0.conda", "pkg"),
        ("bundle.zip", "bundle.zip"),
    ],
)
def test_container_keys(path: str, expected: str) -> None:
    assert container_key(path) == expected


def test_what_counts() -> None:
    base = fingerprint("rule", "a/_C.cpython-311-x86_64-linux-gnu.so", "_Z1a")
    assert base == fingerprint("rule", "/other/place/_C.abi3.so", "_Z1a")
    others = {
        fingerprint("rule2", "_C.so", "_Z1a"),
        fingerprint("rule", "_D.so", "_Z1a"),
        fingerprint("rule", "_C.so", "_Z1b"),
        fingerprint("rule", "_C.so"),
        fingerprint("rule", "_C.so", "_Z1a", "libfoo.so"),
        fingerprint("rule", "_C.so", "_Z", "1a"),
        fingerprint("rule", "_C.so", "_Z1a\udcff"),
    }
    assert base not in others
    assert len(others) == 7
    # Baselines of users contain these: a change here breaks them all. Oracle: sha256sum of `4:rule5:_C.so4:_Z1a`.
    assert base == "c6bc78de106b779765f7b73c3056eb7f"
