"""The two hash functions by which a loader finds an export."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache

_WORD = 0xFFFFFFFF
# 5381 * 33**n modulo 2**32, the part of gnu_hash that depends on the length of the name alone.
_SEEDS: list[int] = [5381]
_NARROWEST = 32
# Bytes of names that are hashed as one integer: its masks are kept, and it stays in the processor's cache.
_BLOCK = 1 << 14


# The same name is looked up in one library after the other.
@lru_cache(maxsize=64)
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


def gnu_hashes(names: Sequence[bytes]) -> list[int]:
    """`gnu_hash` of each name, all at once: some ten times as fast for the thousands of names that a library imports.

    The hash of b1..bn is 5381 * 33**n + b1 * 33**(n-1) + ... + bn. Names are laid side by side in one big integer, in
    fields of equal width, and neighbouring digits of all fields are joined pairwise: bytes to digits of two bytes,
    these to four, and so on, so that a few multiplications of the one integer do the work of one per character.
    """
    lengths = [len(name) for name in names]
    longest = max(lengths, default=0)
    while len(_SEEDS) <= longest:
        _SEEDS.append(_SEEDS[-1] * 33 & _WORD)
    result = [0] * len(names)
    groups: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        width = 1 << (length - 1).bit_length() if length > _NARROWEST else _NARROWEST
        members = groups.get(width)
        if members is None:
            groups[width] = [index]
        else:
            members.append(index)
    for width, members in groups.items():
        fields = max(1, _BLOCK // width)
        for start in range(0, len(members), fields):
            part = members[start : start + fields]
            values = _polynomials([names[index] for index in part], width)
            for index, value in zip(part, values, strict=True):
                result[index] = value + _SEEDS[lengths[index]] & _WORD
    return result


@lru_cache(maxsize=64)
def _mask(digit: int, kept: int, width: int) -> int:
    """The low `kept` bytes of every second digit, over the fields of one integer."""
    mask, size = (1 << 8 * kept) - 1, 2 * digit
    # Doubled until it is long enough: making an integer of as many bytes costs six times as much.
    while size < max(width, _BLOCK):
        mask |= mask << 8 * size
        size *= 2
    return mask


def _polynomials(names: list[bytes], width: int) -> list[int]:
    """b1 * 33**(n-1) + ... + bn of each name, modulo 2**32 or larger by a multiple of it."""
    value = int.from_bytes(b"".join([name.rjust(width, b"\0") for name in names]), "big")
    digit = 1
    while digit < width:
        # Digits are kept to 32 bits once they are wider: the hash is modulo 2**32.
        mask = _mask(digit, min(digit, 4), width)
        value = (value >> 8 * digit & mask) * pow(33, digit, 1 << 32) + (value & mask)
        digit *= 2
    # Little-endian, so the fields come out last name first.
    fields = struct.iter_unpack(f"<I{width - 4}x", value.to_bytes(width * len(names), "little"))
    return [field for (field,) in fields][::-1]
