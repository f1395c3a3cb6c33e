"""The two hash functions by which a loader finds an export."""

from __future__ import annotations


def gnu_hash(name: bytes) -> int:
    """DT_GNU_HASH's function (djb2, modulo 2**32)."""
    h = 5381
    for byte in name:
        h = h * 33 + byte & 0xFFFFFFFF
    return h


def sysv_hash(name: bytes) -> int:
    """DT_HASH's function (gABI, "Hash Table")."""
    h = 0
    for byte in name:
        h = (h << 4) + byte
        high = h & 0xF0000000
        h = (h ^ high >> 24) & ~high & 0xFFFFFFFF
    return h
