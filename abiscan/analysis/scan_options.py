"""What a run is to look at, and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from abiscan.environment.python import PythonEnvironment
from abiscan.loader import LoaderSettings
from abiscan.model.target import TargetPart

if TYPE_CHECKING:
    from abiscan.model.progress import Progress


class ScanOptions(Struct, frozen=True):
    """What a run is to look at; the command line fills it in.

    Attributes:
        torch: as `--torch` has it; `declared` for what each file declares, whatever is installed.
        environment: whose interpreter and packages; None where there is none.
        compared: also say what a comparison with another file asks: all exports, and the Pythons that import it.
        python_named: whether the environment was named (`--python`): its CPython counts then, whatever a file declares.
        settings: what the loader of that environment's processes inherits.
        matrix: judge every known build of a file's architecture.
        sources: directories in which the flagged calls are looked for.
        hashes: compute sha256 of every file.
        user_index: directory of the user's own release index.
        cache: directory in which what was read from a `--torch` wheel is kept; None to read it in each run.
        gpus: those on which the device code of every file must run; none where nobody asks.
        driver: the version of NVIDIA's driver beside them; None where nobody asks.
        operators: also of a file that is looked at alone; of several files they are compared, and always read.
        progress: is told how far the run is.
        timings: pass -> seconds, which every file adds to; None where nobody asks.
        called: absolute path -> what the report calls it, for targets that the user knows by another name.
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
    progress: Progress | None = None
    called: Mapping[str, str] = {}
    timings: dict[str, float] | None = None
