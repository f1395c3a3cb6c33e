"""Writes names.tsv: the names that GCC and Clang give to the declarations in constructs.cpp and strings.cpp.

    python tests/mangling/compiled/make.py [--check]

Needs g++ (12), clang-19 and nm. `--check` compares with the existing file and writes nothing. Each name has one row,
after its compilers: `gcc`, `clang` (template parameters declared, Clang 18 and later) and `clang17`
(-fclang-abi-compat=17); for strings.cpp with `-old` or `-new` for the std::string ABI.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.programs import output_of

HERE = Path(__file__).parent
COMPILERS = {"gcc": ["g++"], "clang": ["clang-19"], "clang17": ["clang-19", "-fclang-abi-compat=17"]}


def names(compiler: list[str], source: Path, *flags: str) -> set[str]:
    found: set[str] = set()
    with tempfile.TemporaryDirectory() as scratch:
        built = str(Path(scratch) / "built.o")
        for standard in ("17", "20"):
            command = [*compiler, "-w", f"-std=c++{standard}", "-O0", "-fPIC", "-c", str(source), "-o", built, *flags]
            # constructs.cpp is C++20; what the older standard compiles of strings.cpp is one more spelling of it.
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                listed = output_of(["nm", built])
                found.update(line.split()[-1] for line in listed.splitlines())
    return {name for name in found if name.startswith("_Z")}


def table() -> str:
    by_name: dict[str, list[str]] = {}
    for label, compiler in COMPILERS.items():
        for name in names(compiler, HERE / "constructs.cpp"):
            by_name.setdefault(name, []).append(label)
        for abi, value in (("old", 0), ("new", 1)):
            for name in names(compiler, HERE / "strings.cpp", f"-D_GLIBCXX_USE_CXX11_ABI={value}"):
                if "3c10" in name:
                    by_name.setdefault(name, []).append(f"{label}-{abi}")
    return "".join(f"{','.join(sorted(labels))}\t{name}\n" for name, labels in sorted(by_name.items()))


def main() -> int:
    made = table()
    path = HERE / "names.tsv"
    if "--check" in sys.argv[1:]:
        return 0 if path.read_text(encoding="utf-8") == made else 1
    path.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
