"""The options of a command line as one value with typed fields."""

from __future__ import annotations

from msgspec import Struct


class CommandLine(Struct, frozen=True, kw_only=True):
    """A command line. Each field is the option of the same name, or its default.

    Attributes:
        targets: as written by the user.
        format: `NAME[:FILE]`, in the order given.
        imports: `all` or `unresolved`.
        require_stable_abi: a release, or `any`.
        verbose: number of `-v`.
        color: `auto`, `always` or `never`.
    """

    targets: tuple[str, ...] = ()
    inputs_from: tuple[str, ...] = ()
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
    baseline_release: str | None = None
    write_baseline: str | None = None
    allow_stale: bool = False
    require_torch: str | None = None
    require_stable_abi: str | None = None
    config: str | None = None
    hash: bool = False
    jobs: int | None = None
    statistics: bool = False
    json_lines: bool = False
    exit_zero: bool = False
    quiet: bool = False
    verbose: int = 0
    timings: bool = False
    color: str = "auto"
