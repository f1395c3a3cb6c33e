"""Options of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from abiscan.environment.python import PythonEnvironment
from abiscan.loader import LoaderSettings
from abiscan.model.limits import MAX_SITES
from abiscan.model.target import TargetPart

if TYPE_CHECKING:
    from abiscan.model.progress import Progress


class ScanOptions(Struct, frozen=True):
    """Options of a run, from the command line.

    Attributes:
        torch: value of `--torch`; `declared` for the torch that each file declares.
        environment: the environment with interpreter and packages; None if there is none.
        compared: whether to collect all exports and the importing Pythons of each file, for comparisons.
        python_named: whether `--python` was given: its CPython then takes precedence over declared ones.
        settings: loader settings that processes of the environment inherit.
        matrix: whether to check against every known build of the architecture.
        sources: directories in which flagged calls are searched.
        hashes: whether to compute the sha256 of every file.
        user_index: directory of the user's release index.
        cache: directory for the symbols of a `--torch` wheel; None to read it in each run.
        gpus: GPUs on which the device code of every file must run; empty if none are given.
        driver: NVIDIA driver version for these GPUs; None if none is given.
        import_details: whether reports have the releases and the causes of each import.
        sites: maximum number of call sites of each import.
        operators: whether to list operators of a single file; they are always read and compared for several files.
        progress: receives the progress of the run.
        timings: pass -> seconds, summed over files; None to measure nothing.
        display_names: absolute path -> name in the report, for inputs that the user knows by another name.
    """

    torch: str | None
    environment: PythonEnvironment | None
    settings: LoaderSettings
    matrix: bool = False
    sources: tuple[str, ...] = ()
    hashes: bool = False
    user_index: str | None = None
    cache: str | None = None
    python_named: bool = False
    gpus: tuple[TargetPart, ...] = ()
    driver: TargetPart | None = None
    compared: bool = False
    operators: bool = True
    import_details: bool = True
    sites: int = MAX_SITES
    progress: Progress | None = None
    display_names: Mapping[str, str] = {}
    timings: dict[str, float] | None = None
