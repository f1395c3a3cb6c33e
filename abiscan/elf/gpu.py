"""Which GPU architectures a file carries code for, from the headers of its embedded images; no image is decompressed.

`.nv_fatbin` holds containers of NVIDIA's fat binary format (undocumented; what is read here agrees with cuobjdump 13):
a header of magic, version, header size and payload size, then entries of kind (PTX or ELF), header size, size and the
number of the architecture. `.hip_fatbin` holds clang offload bundles
(https://clang.llvm.org/docs/ClangOffloadBundler.html#bundled-code-object-layout), compressed ones among them.
"""

from __future__ import annotations

import struct

from abiscan.elf.image import Image
from abiscan.elf.sections import section

_FATBIN_MAGIC = 0xBA55ED50
_PTX, _ELF = 1, 2
_BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
_COMPRESSED_MAGIC = b"CCOB"
# libtorch_cuda has about 2,000 containers with some ten entries each.
_MAX_ENTRIES = 1 << 18


def gpu_architectures(image: Image) -> tuple[str, ...]:
    """`sm_90` for machine code, `compute_90` for PTX, `gfx942` for AMD; sorted. Empty where there is none, or where
    section headers are gone. A compressed bundle gives `gfx (compressed)`: its targets are inside."""
    found = _cuda(image) | _hip(image)
    return tuple(sorted(found, key=lambda name: (name.rstrip("0123456789abcdefgh"), len(name), name)))


def _cuda(image: Image) -> set[str]:
    found: set[str] = set()
    for name in (b".nv_fatbin", b"__nv_relfatbin"):
        place = section(image, name)
        if place is None:
            continue
        at, end = place[0], place[0] + place[1]
        container = struct.Struct("<IHHQ")
        entry = struct.Struct("<HHIQ")
        budget = _MAX_ENTRIES
        while at + container.size <= end and budget:
            magic, _version, header, payload = container.unpack_from(image.buffer, at)
            if magic != _FATBIN_MAGIC:
                # Containers are aligned to 8 bytes, with zeros between them.
                at += 8
                budget -= 1
                continue
            inner, stop = at + header, min(at + header + payload, end)
            while inner + 32 <= stop and budget:
                budget -= 1
                kind, _version, size_of_header, size = entry.unpack_from(image.buffer, inner)
                (architecture,) = struct.unpack_from("<I", image.buffer, inner + 28)
                if kind in (_PTX, _ELF) and 0 < architecture < 10_000:
                    found.add(f"{'compute' if kind == _PTX else 'sm'}_{architecture}")
                if size_of_header + size == 0:
                    break
                inner += size_of_header + size
            at = max(at + 8, at + header + payload)
    return found


def _hip(image: Image) -> set[str]:
    place = section(image, b".hip_fatbin")
    if place is None:
        return set()
    found: set[str] = set()
    begin, end = place[0], place[0] + place[1]
    if image.buffer.find(_COMPRESSED_MAGIC, begin, min(end, begin + 4096)) >= 0:
        found.add("gfx (compressed)")
    at = image.buffer.find(_BUNDLE_MAGIC, begin, end)
    budget = _MAX_ENTRIES
    while at >= 0 and budget:
        count_at = at + len(_BUNDLE_MAGIC)
        if count_at + 8 > end:
            break
        (count,) = struct.unpack_from("<Q", image.buffer, count_at)
        entry = count_at + 8
        for _ in range(min(count, 256)):
            budget -= 1
            if entry + 24 > end:
                break
            _offset, _size, length = struct.unpack_from("<QQQ", image.buffer, entry)
            if length > 256 or entry + 24 + length > end:
                break
            triple = image.buffer[entry + 24 : entry + 24 + length].decode("ascii", "replace")
            kind, _, target = triple.rpartition("--")
            if kind.startswith("hip") and target.startswith("gfx"):
                found.add(target.split(":")[0])
            entry += 24 + length
        at = image.buffer.find(_BUNDLE_MAGIC, count_at, end)
    return found
