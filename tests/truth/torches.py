"""Makes environments with CUDA builds of torch: `python -m tests.truth.torches [DIR] [--only VERSION]...`

DIR is the environment variable ABISCAN_TORCHES, or `abiscan/torches` in the user's cache directory. Each is a virtual
environment of the interpreter that runs this, `DIR/<version>/`, of 5 to 9 GB: 40 GB in all. All of them must have
wheels for the interpreter: CPython 3.10 to 3.12. The corpus has wheels for 3.11.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

# Release -> packages installed with it: releases that open different libraries when imported; some with a numpy that
# they can be imported with, some without.
TORCHES = {"2.4.1": ("numpy<2",), "2.6.0": ("numpy",), "2.8.0": ("numpy",), "2.11.0": (), "2.13.0": ()}


def torches_dir() -> Path:
    """The directory of the environments; may not exist yet."""
    if named := os.environ.get("ABISCAN_TORCHES"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "abiscan" / "torches"


def torch_python(version: str) -> Path:
    """The interpreter of an environment.

    Raises:
        RuntimeError: there is none.
    """
    python = torches_dir() / version / "bin" / "python"
    if not python.exists():
        raise RuntimeError(f"{python}: not there: python -m tests.truth.torches --only {version}")
    return python


def make(version: str, directory: Path) -> None:
    """Make the environment of one release, unless it exists.

    Raises:
        subprocess.CalledProcessError: pip failed and printed why.
    """
    target = directory / version
    if target.exists():
        return
    partial = directory / f".{version}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    # A pip that prefers local wheels would find another build of the same version.
    environment = {name: value for name, value in os.environ.items() if name != "PIP_FIND_LINKS"}
    environment["PIP_CONFIG_FILE"] = os.devnull
    subprocess.run([sys.executable, "-m", "venv", partial], check=True)
    command = [partial / "bin" / "python", "-m", "pip", "install", "-q", "--no-cache-dir", f"torch=={version}"]
    subprocess.run([*command, *TORCHES[version]], env=environment, check=True)
    # Only names of scripts, which are not used, contain the path.
    partial.rename(target)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.truth.torches", description=__doc__)
    parser.add_argument("directory", type=Path, nargs="?", default=torches_dir())
    parser.add_argument("--only", action="append", choices=TORCHES, metavar="VERSION")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    for version in options.only or TORCHES:
        make(version, options.directory)
        print(options.directory / version)
    return 0


if __name__ == "__main__":
    sys.exit(main())
