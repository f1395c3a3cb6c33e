"""Make abiscan/data/torch_headers.txt.gz: the C++ headers that a torch ships, by the paths that sources include.

    python tools/build_header_names.py DIRECTORY_OF_TORCH

The first line is the version. Those of single operators (ATen/ops) are left out: each operator has one.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from abiscan.data import data_file  # noqa: E402 - of this work tree, installed or not


def main() -> None:
    torch = Path(sys.argv[1])
    version = (torch / "version.py").read_text(encoding="utf-8").partition("__version__ = '")[2].partition("'")[0]
    include = torch / "include"
    found = set()
    for root in (include, include / "torch" / "csrc" / "api" / "include"):
        for path in root.rglob("*"):
            name = path.relative_to(root).as_posix()
            if path.suffix in (".h", ".cuh", ".hpp") and name.startswith(("ATen/", "c10/", "torch/", "caffe2/")):
                found.add(name)
    kept = sorted(name for name in found if not name.startswith("ATen/ops/"))
    text = "\n".join([version.partition("+")[0], *kept]) + "\n"
    Path(data_file("torch_headers.txt.gz")).write_bytes(gzip.compress(text.encode("ascii"), mtime=0))
    print(f"{len(kept)} headers of torch {version}")


if __name__ == "__main__":
    main()
