"""Make abiscan/data/glibc_names.txt.gz: every name that glibc's libraries in a process export, read from this machine.

    python tools/build_glibc_names.py [DIRECTORY]

The first line says which glibc. The shipped file was made of glibc 2.36 (Debian 12, x86_64); names are added to glibc
with each release and never taken away, so a newer one is the better source.
"""

from __future__ import annotations

import gzip
import platform
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from abiscan.data import data_file  # noqa: E402 - of this work tree, installed or not
from abiscan.elf import open_elf  # noqa: E402

# Those that an interpreter's process has in any case. libmvec, libresolv and their like are only where they are needed.
LIBRARIES = (
    *("libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1"),
)


def main() -> None:
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else "/lib/x86_64-linux-gnu")
    found: set[str] = set()
    read = []
    for library in LIBRARIES:
        path = directory / library
        if path.exists():
            found |= {export.name for export in open_elf(str(path)).exports()}
            read.append(library)
    names = sorted(name for name in found if not name.startswith(("GLIBC_", "_rtld_global")))
    text = "\n".join([f"{' '.join(platform.libc_ver())}: {' '.join(read)}", *names]) + "\n"
    Path(data_file("glibc_names.txt.gz")).write_bytes(gzip.compress(text.encode("ascii"), mtime=0))
    print(f"{len(names)} names of {len(read)} libraries")


if __name__ == "__main__":
    main()
