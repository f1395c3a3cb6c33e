"""Records results of the loader: `python -m tests.truth.record OUT.json [--python PATH] FILE|DIR...`

The record is for reading and for comparing runs; tests run the loader."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.corpus.fetch import shared_objects
from tests.truth.oracle import ask

MODES = {"torch": True, "plain": False}


def expand(targets: Iterable[Path]) -> list[Path]:
    """The given files, and the shared objects below the given directories, absolute."""
    return [file.absolute() for target in targets for file in (shared_objects(target) if target.is_dir() else [target])]


def record(files: Sequence[Path], python: Path) -> dict[str, object]:
    """Results for every file with and without torch, with the facts that they depend on."""
    answers = {mode: ask(files, python=python, torch=torch) for mode, torch in MODES.items()}
    return {
        "glibc": platform.libc_ver()[1],
        "python": str(python),
        "machine": platform.machine(),
        "files": {
            str(file): {
                mode: {"outcome": said[str(file)].outcome, "error": said[str(file)].text or None}
                for mode, said in answers.items()
            }
            for file in files
        },
        "summary": {mode: dict(Counter(a.outcome for a in said.values())) for mode, said in answers.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.truth.record", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("targets", type=Path, nargs="+")
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    options = parser.parse_args()
    result = record(expand(options.targets), options.python)
    options.out.write_text(json.dumps(result, indent=1, sort_keys=True, ensure_ascii=True) + "\n")
    print(json.dumps(result["summary"]))


if __name__ == "__main__":
    main()
