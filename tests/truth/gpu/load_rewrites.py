"""The rewrite of `__ldg` on a GPU, for every type that a kernel is launched for.

    python -m tests.truth.gpu.load_rewrites DIRECTORY [sm_90]

makes two programs of `tests/source/compiled/load.cu` with nvcc and torch's headers: `before`, the source as it is
(for the types that it compiles for), and `after`, what `abiscan fix` makes of it and `abiscan explain` advises. A
machine with a GPU needs the directory and no more: `sh DIRECTORY/run.sh` copies every value of each 16-bit type and a
million patterns of the others through the kernel, compares all bits, and ends with 1 where one differs.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

from abiscan.rules import load_rules
from abiscan.source import FileSet, SourceRules
from abiscan.source.rewrites import rewrite_source
from tests.tables import data_text

SOURCE = Path(__file__).parents[2] / "source" / "compiled" / "load.cu"
# What the source as it is does not compile for under CUDA or HIP.
PLAIN = ("float", "double", "int", "int64_t", "short", "signed char", "unsigned char")
NOT_PLAIN = ("c10::Half", "c10::BFloat16", "c10::complex<float>")
MAIN = data_text(__file__, "load_rewrites.cu")
RUN = """cd "$(dirname "$0")" || exit 1
bad=0
for program in before after; do
  echo "$program:"
  ./$program || bad=1
done
exit $bad
"""


def texts() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Program -> its kernel, and the types that it is launched for."""
    before = SOURCE.read_text(encoding="utf-8")
    after = rewrite_source(before, SOURCE.name, SourceRules(load_rules()), FileSet()).after
    return {"before": (before, PLAIN), "after": (f"#include <c10/util/complex.h>\n{after}", PLAIN + NOT_PLAIN)}


def build(directory: Path, gpu: str) -> None:
    """Build the programs, and `run.sh` that runs each."""
    directory.mkdir(parents=True, exist_ok=True)
    nvcc, torch = shutil.which("nvcc"), importlib.util.find_spec("torch")
    if nvcc is None or torch is None or torch.origin is None:
        raise SystemExit("nvcc and a torch are needed")
    # Flags of torch.utils.cpp_extension: operators on __half are torch's.
    flags = ("HALF_OPERATORS", "HALF_CONVERSIONS", "BFLOAT16_CONVERSIONS", "HALF2_OPERATORS")
    for name, (kernel, types) in texts().items():
        source = directory / f"{name}.cu"
        checks = " + ".join(f'check<{each}>("{each}")' for each in types)
        source.write_text(kernel + MAIN.replace("CHECKS", checks), encoding="utf-8")
        command = [nvcc, "-std=c++20", "-w", f"-arch={gpu}", "-cudart", "static", "--expt-relaxed-constexpr"]
        command += [f"-D__CUDA_NO_{flag}__" for flag in flags]
        include = f"-I{Path(torch.origin).parent}/include"
        subprocess.run([*command, include, str(source), "-o", str(directory / name)], check=True)
    (directory / "run.sh").write_text(RUN, encoding="utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1]), *(sys.argv[2:3] or ["sm_90"]))
