"""The hash of many names at once equals the hash of each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abiscan.elf import gnu_hash, gnu_hashes


@given(st.lists(st.binary(max_size=300), max_size=40))
def test_many_at_once(names: list[bytes]) -> None:
    assert gnu_hashes(names) == [gnu_hash(name) for name in names]


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 64, 65, 1024, 1025, 20000])
def test_lengths_around_a_field(length: int) -> None:
    name = bytes(range(1, 256)) * (length // 255 + 1)
    assert gnu_hashes([name[:length], b"exit"]) == [gnu_hash(name[:length]), gnu_hash(b"exit")]


def test_known_values() -> None:
    """From the description of DT_GNU_HASH (https://flapenguin.me/elf-dt-gnu-hash)."""
    assert gnu_hashes([b"", b"printf", b"exit", b"syscall", b"flapenguin.me"]) == [
        0x00001505,
        0x156B2BB8,
        0x7C967E3F,
        0xBAC212A0,
        0x8AE9F18E,
    ]
