"""The options of a command line as one value: every command reads them from here, each by its name and type."""

from __future__ import annotations

from msgspec import Struct


class CommandLine(Struct, frozen=True, kw_only=True):
    """What a command line says. An option that a command does not have, or that was not given, has its default.

    Attributes:
        targets: as the user wrote them.
        lists: files with more targets (`--targets-from`).
        formats: `NAME[:FILE]`, in the order given.
        hashes: `--hash`.
        sources: `--source`.
        gpus: `--gpu`.
        time_limit: seconds for each wheel of tables.
        memory_limit: MiB for each wheel of tables.
        imports: `all` or `unresolved`.
        require_stable_abi: a release, or `any`.
        color: `auto`, `always` or `never`.

    The others have the name of their option.
    """

    targets: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    torch: str | None = None
    python: str | None = None
    root: str | None = None
    gpus: tuple[str, ...] = ()
    driver: str | None = None
    matrix: bool = False
    sources: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    resume: str | None = None
    engine: str | None = None
    time_limit: float | None = None
    memory_limit: int | None = None
    imports: str | None = None
    history: str | None = None
    fail_on: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    baseline: str | None = None
    write_baseline: str | None = None
    no_stale: bool = False
    require_torch: str | None = None
    require_stable_abi: str | None = None
    config: str | None = None
    hashes: bool = False
    jobs: int | None = None
    quiet: bool = False
    verbose: bool = False
    timings: bool = False
    color: str = "auto"
