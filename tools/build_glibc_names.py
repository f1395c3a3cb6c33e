"""Make abiscan/data/glibc_names.txt.gz: every name that the glibc libraries of a process export on this machine.

    python tools/build_glibc_names.py [DIRECTORY]

The first line is the glibc version. The shipped file was made from glibc 2.36 (Debian 12, x86_64). Releases of glibc
add names and never remove any, so a newer one is the better source.
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

# Libraries of every interpreter process. Others, such as libmvec and libresolv, are loaded only when needed.
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
