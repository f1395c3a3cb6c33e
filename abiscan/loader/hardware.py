"""CPU properties that affect the library search: glibc-hwcaps subdirectories and $PLATFORM.

glibc queries the CPU itself; here /proc/cpuinfo is read, whose flags the kernel has already reduced to the usable ones.
"""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from abiscan.filesystem import FileSystem

# One processor's paragraph is enough; a large machine has hundreds of identical ones.
_FIRST_PARAGRAPH = 8192

# sysdeps/x86/get-isa-level.h of glibc, in the kernel's spelling (pni is SSE3, abm is LZCNT).
_LEVELS = (
    ("x86-64-v2", ("cx16", "lahf_lm", "popcnt", "pni", "ssse3", "sse4_1", "sse4_2")),
    ("x86-64-v3", ("avx", "avx2", "f16c", "fma", "abm", "movbe")),
    ("x86-64-v4", ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")),
)
_HASWELL = ("avx2", "fma", "bmi1", "bmi2", "abm", "movbe", "popcnt")


class Hardware(Struct, frozen=True):
    """CPU properties that affect the library search.

    Attributes:
        platform: value of $PLATFORM.
        levels: active glibc-hwcaps subdirectories, best first.
        legacy: subdirectories of the search before glibc 2.37 (`tls/haswell/x86_64`, ...), in order, without the plain
            directory.
        is_known: whether the CPU's features could be read; if not, only the baseline is certain.
    """

    platform: str | None
    levels: tuple[str, ...]
    legacy: tuple[str, ...]
    is_known: bool = True

    @property
    def isa_bits(self) -> int:
        """The levels as GNU_PROPERTY_X86_ISA_1_* bits, the baseline included."""
        return (2 << len(self.levels)) - 1


@cache
def read_hardware(machine: str, files: FileSystem) -> Hardware:
    """Describe the CPU of this machine to a loader for `machine`. In another file system the CPU is unknown, unless its
    /proc has it."""
    if machine != "x86_64":
        # powerpc64le has power9/power10, s390x z13 to z16; AT_HWCAP2 says which are active, and no file has it.
        return Hardware(machine, (), _power_set([machine, "tls"]))
    vendor, flags = _cpuinfo(files)
    levels: list[str] = []
    for name, needed in _LEVELS:
        if not flags.issuperset(needed):
            break
        levels.insert(0, name)
    # init_cpu_features in sysdeps/x86/cpu-features.c: only Intel processors replace AT_PLATFORM.
    platform = "x86_64"
    capabilities = ["x86_64"]
    if vendor == "GenuineIntel":
        if flags.issuperset(("avx512cd", "avx512er", "avx512pf")):
            platform = "xeon_phi"
        elif flags.issuperset(_HASWELL):
            platform = "haswell"
        if flags.issuperset(("avx512cd", "avx512bw", "avx512dq", "avx512vl")) and "avx512er" not in flags:
            capabilities.append("avx512_1")
    return Hardware(platform, tuple(levels), _power_set([*capabilities, platform, "tls"]), is_known=bool(flags))


def _power_set(names: list[str]) -> tuple[str, ...]:
    """Every combination; the last name has the highest weight (_dl_important_hwcaps in elf/dl-hwcaps.c)."""
    count = len(names)
    masks = range((1 << count) - 1, 0, -1)
    return tuple(dict.fromkeys("/".join(names[n] for n in range(count - 1, -1, -1) if mask >> n & 1) for mask in masks))


def _cpuinfo(files: FileSystem) -> tuple[str, frozenset[str]]:
    text = (files.read("/proc/cpuinfo", _FIRST_PARAGRAPH) or b"").decode("ascii", "replace")
    vendor, flags = "", frozenset[str]()
    for line in text.partition("\n\n")[0].splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "vendor_id":
            vendor = value.strip()
        elif key.strip() == "flags":
            flags = frozenset(value.split())
    return vendor, flags
