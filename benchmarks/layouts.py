"""Cost of layouts in the scan of a file: processor time of the functions that compare them, in milliseconds.

    python -m benchmarks.layouts [--torch 2.13.0] [--most 200] [FILE.so ...]

Without files, it uses files of the corpus that import mangled torch names, evenly distributed over their paths. All are
scanned in one process, as by `abiscan FILE...`; the first, which opens the index, is not counted. A function called by
another measured one is counted once. All files are scanned in turn, `--rounds` times; the minimum of each file counts.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from abiscan.analysis import layouts, shared_object
from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.passes import apply_rules
from abiscan.analysis.scan_batch import analyse
from abiscan.binary import open_binary
from abiscan.cli.command_line import CommandLine
from abiscan.cli.options import scan_options
from abiscan.errors import AbiscanError
from abiscan.inputs import Artifact, expand
from abiscan.model.imports import Owner
from abiscan.ownership.names import owner_of

CORPUS = Path("~/.cache/abiscan/corpus/unpacked").expanduser()
# Functions of a scan that use layouts.
TIMED = (
    (shared_object, "shared_layouts"),
    (shared_object, "drifting_on"),
    (apply_rules, "_layout_drift"),
    (layouts, "with_layouts"),
)


class Clock:
    """Processor seconds within the functions of `TIMED`."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        for module, name in TIMED:
            setattr(module, name, self._timed(getattr(module, name)))

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            self._depth += 1
            started = time.process_time()
            try:
                return function(*arguments, **named)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.seconds += time.process_time() - started

        return timed


def takes_torch(path: Path) -> bool:
    """Whether a file imports a mangled name of torch."""
    try:
        imports = open_binary(path).imports
    except AbiscanError:
        return False
    return any(each.name.startswith("_Z") and owner_of(each.name) is Owner.TORCH for each in imports)


def of_corpus(most: int) -> list[Path]:
    """Modules of the corpus, evenly distributed."""
    files = (path for path in sorted(CORPUS.rglob("*.so*")) if path.is_file() and not path.is_symlink())
    found = [path for path in files if takes_torch(path)]
    return [found[at * len(found) // most] for at in range(most)] if len(found) > most else found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.so")
    parser.add_argument("--torch", default="2.13.0", help="the release that they are judged on")
    parser.add_argument("--most", type=int, default=200, help="files of the corpus")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--slowest", type=int, default=10, help="files that are named")
    chosen = parser.parse_args()
    gc.set_threshold(50_000)  # as in the command
    clock = Clock()
    options = scan_options(CommandLine(torch=chosen.torch))
    context = AnalysisContext(options)
    taken: dict[str, float] = {}
    files = [str(path) for path in chosen.files or of_corpus(chosen.most)]
    # The first one opens the index.
    for number, path in enumerate([files[0], *files * chosen.rounds]):
        clock.seconds = 0.0
        for item in expand([path], cwd=options.settings.cwd):
            if isinstance(item, Artifact):
                for _share in analyse(item, context):
                    pass
        if number:
            taken[path] = min(taken.get(path, clock.seconds), clock.seconds)
    milliseconds = sorted((seconds * 1000, path) for path, seconds in taken.items())
    values = [each for each, _path in milliseconds]
    print(f"{len(values)} files, torch {chosen.torch}: mean {statistics.mean(values):.2f}, ", end="")
    print(f"median {statistics.median(values):.2f}, largest {values[-1]:.1f} ms")
    for each, path in milliseconds[::-1][: chosen.slowest]:
        print(f"{each:8.2f}  {path}")


if __name__ == "__main__":
    main()
