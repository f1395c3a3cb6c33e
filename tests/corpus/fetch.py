"""Fetches and unpacks the corpus: `python -m tests.corpus.fetch [DIR] [--only NAME]...`

DIR is the environment variable ABISCAN_CORPUS, or `abiscan/corpus` in the user's cache directory. Wheels stay in DIR,
each is unpacked as pip would install it into a directory of its own, `DIR/unpacked/<wheel>/`, but only what abiscan
reads: ELF files, Python and C++ sources, and the metadata. Nothing is fetched or unpacked twice.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tests.corpus.wheels import WHEELS, Wheel
from tests.programs import run_program

_SOURCES = (".py", ".h", ".hpp", ".cpp", ".cc", ".cu", ".cuh", ".hip")
_ELF = b"\x7fELF"


def corpus_dir() -> Path:
    """The directory of the corpus; may not exist yet."""
    if named := os.environ.get("ABISCAN_CORPUS"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "abiscan" / "corpus"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download(wheel: Wheel, directory: Path) -> Path:
    """The wheel in `directory`, downloaded if missing.

    Raises:
        RuntimeError: pip failed, or downloaded another file.
    """
    path = directory / wheel.file
    if path.exists():
        return path
    directory.mkdir(parents=True, exist_ok=True)
    # A pip that prefers local wheels would find another build of the same version.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_FIND_LINKS")}
    environment["PIP_CONFIG_FILE"] = os.devnull
    # For CPython 3.11, whatever interpreter runs this, and of several builds the one for this platform.
    platforms = [argument for platform in wheel.platforms for argument in ("--platform", platform)]
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary=:all:", "--python-version", "3.11", *platforms, "-d", scratch, wheel.requirement]
        done = run_program(command, env=environment)
        brought = Path(scratch) / wheel.file
        if not brought.exists():
            raise RuntimeError(f"{wheel.file}: not fetched: {done.stderr.strip()[-500:] or 'another file was served'}")
        if (found := _digest(brought)) != wheel.sha256:
            raise RuntimeError(f"{wheel.file}: its SHA-256 is {found}, not {wheel.sha256}")
        brought.replace(path)
    return path


def installed_name(member: str) -> PurePosixPath | None:
    """The path of an installed member, relative to site-packages; None if it is installed elsewhere."""
    path = PurePosixPath(member)
    if path.is_absolute() or ".." in path.parts:
        return None
    if path.parts[0].endswith(".data"):
        return PurePosixPath(*path.parts[2:]) if path.parts[1] in {"purelib", "platlib"} else None
    return path


def unpack(wheel: Path, directory: Path) -> Path:
    """Unpack into `directory/<wheel's name>/` if that does not exist. Return that directory."""
    target = directory / wheel.stem
    if target.exists():
        return target
    partial = directory / f".{wheel.stem}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            name = None if member.is_dir() else installed_name(member.filename)
            if name is None:
                continue
            with archive.open(member) as source:
                head = source.read(4)
                wanted = head == _ELF or name.suffix in _SOURCES or name.parts[0].endswith(".dist-info")
                if not wanted:
                    continue
                path = partial / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("wb") as out:
                    out.write(head)
                    shutil.copyfileobj(source, out, 1 << 20)
    partial.mkdir(parents=True, exist_ok=True)
    partial.rename(target)
    return target


def shared_objects(directory: Path) -> Iterator[Path]:
    """Every ELF shared object (ET_DYN) below `directory`, sorted."""
    for path in sorted(directory.rglob("*")):
        if path.is_symlink() or not path.is_file() or ".so" not in path.name:
            continue
        with path.open("rb") as file:
            header = file.read(18)
        # e_type, two bytes in the file's byte order (gABI, "ELF Header").
        kind = header[16:18] if header[5:6] == b"\x02" else header[17:15:-1]
        if header[:4] == _ELF and kind == b"\0\x03":
            yield path


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.corpus.fetch", description=__doc__)
    parser.add_argument("directory", type=Path, nargs="?", default=corpus_dir())
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="wheels whose file name begins so")
    options = parser.parse_args(arguments)
    failed = 0
    for wheel in WHEELS:
        if options.only and not wheel.file.startswith(tuple(options.only)):
            continue
        try:
            unpack(download(wheel, options.directory), options.directory / "unpacked")
        except (RuntimeError, zipfile.BadZipFile) as error:
            print(error, file=sys.stderr)
            failed = 1
    found = sum(1 for _ in shared_objects(options.directory / "unpacked"))
    print(f"{options.directory / 'unpacked'}: {found} shared objects")
    return failed


if __name__ == "__main__":
    sys.exit(main())
