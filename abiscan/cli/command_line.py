"""The options of a command line as one value: every command reads them from here, each by its name and type."""

from __future__ import annotations

from msgspec import Struct


class CommandLine(Struct, frozen=True, kw_only=True):
    """What a command line says: each field is the option of its name, and has its default where that is not given.

    Attributes:
        targets: as the user wrote them.
        format: `NAME[:FILE]`, in the order given.
        imports: `all` or `unresolved`.
        require_stable_abi: a release, or `any`.
        verbose: how often `-v` is given.
        color: `auto`, `always` or `never`.
    """

    targets: tuple[str, ...] = ()
    targets_from: tuple[str, ...] = ()
    torch: str | None = None
    python: str | None = None
    root: str | None = None
    gpu: tuple[str, ...] = ()
    driver: str | None = None
    matrix: bool = False
    source: tuple[str, ...] = ()
    format: tuple[str, ...] = ()
    imports: str | None = None
    history: str | None = None
    fail_on: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    baseline: str | None = None
    write_baseline: str | None = None
    allow_stale: bool = False
    require_torch: str | None = None
    require_stable_abi: str | None = None
    config: str | None = None
    hash: bool = False
    jobs: int | None = None
    statistics: bool = False
    quiet: bool = False
    verbose: int = 0
    timings: bool = False
    color: str = "auto"
