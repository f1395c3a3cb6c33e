"""Fingerprints and module names: what changes them, and what does not."""

from __future__ import annotations

from abiscan.model.fingerprint import bare_name, container_key, fingerprint, module_key
from tests.tables import table_rows


@table_rows
def test_module_names(path: str, expected: str) -> None:
    assert bare_name(path) == expected


@table_rows
def test_module_keys(path: str, member: str | None, expected: str) -> None:
    assert module_key(path, member) == expected


@table_rows
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
