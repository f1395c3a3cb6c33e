"""Targets from a package index: NAME==VERSION or the URL of a wheel. Nothing else is ever fetched."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from abiscan.cli.options import environment_of, user_directory
from abiscan.cli.output import note, progress
from abiscan.errors import AbiscanError, UsageError, os_error_words
from abiscan.inputs.expand import is_fetched

if TYPE_CHECKING:
    from pathlib import Path

    from abiscan.cli.command_line import CommandLine
    from abiscan.releases.pip_download import Fetched


def fetched_directory() -> str:
    """The directory of fetched wheels.

    Raises:
        AbiscanError: another user can write to it.
    """
    path, why = user_directory("XDG_CACHE_HOME", "~/.cache", "fetched")
    if why is not None:
        raise AbiscanError(f"{path}: fetched wheels are not kept there: {why}; set XDG_CACHE_HOME")
    return path


def local_targets(targets: Sequence[str], line: CommandLine) -> list[str]:
    """The targets as local paths. Wheels that are not local are fetched.

    Args:
        line: `--python` selects the Python of the wheel; with `--root`, nothing is fetched.

    Raises:
        UsageError: there is no such wheel, or the URL is not that of a wheel.
        AbiscanError: the server does not answer, or the wheel cannot be stored.
    """
    if line.root is not None or not any(map(is_fetched, targets)):
        return list(targets)
    from abiscan.inputs.remote import readable

    return [
        target
        if not is_fetched(target) or os.path.lexists(target) or readable(target)
        else _fetched(target, line.python, line.quiet)
        for target in targets
    ]


def display_names(targets: Sequence[str], local: Sequence[str]) -> dict[str, str]:
    """Path of each fetched wheel -> its name in reports: the file name, preceded by the requirement or URL if another
    input has the same name.

    Args:
        local: the result of `local_targets`.
    """
    names: dict[str, str] = {}
    for target, path in zip(targets, local, strict=True):
        if path == target or path in names:
            continue
        name = os.path.basename(path)
        if name in names.values() or os.path.lexists(name):
            from urllib.parse import urlsplit

            parts = urlsplit(target)
            folder = os.path.dirname(parts.path).rstrip("/")
            asked = parts.netloc.rpartition("@")[2] + folder if parts.netloc else target
            name = f"{asked}/{name}"
        names[path] = name
    return names


def _fetched(target: str, python: str | None, quiet: bool) -> str:
    if "://" in target:
        return _of_url(target, quiet)
    from abiscan.model.platforms import own_key

    pythons, machine = _pythons(python), own_key()
    machine = "aarch64" if machine == "arm64" else machine
    return fetch_wheel(target, pythons if python is None else pythons[:1], machine, quiet=quiet)


def fetch_for_tags(requirement: str, tags: Sequence[str], machine: str, *, quiet: bool) -> str:
    """The path of the wheel for the same Python and machine as another wheel; for another Python if there is none.

    Args:
        tags: of the other wheel, expanded (`cp311-cp311-manylinux_2_28_x86_64`).
        machine: of its shared objects.

    Raises:
        UsageError, AbiscanError: as `local_targets`.
    """
    own = [python[2:] + "t" * abi.endswith("t") for python, abi, _ in (tag.split("-") for tag in tags)]
    own = [each for each in own if each.rstrip("t").isdecimal() and len(each) > 1]
    return fetch_wheel(requirement, list(dict.fromkeys((*own, *_pythons(None)))), machine, quiet=quiet)


def fetch_wheel(target: str, pythons: Sequence[str], machine: str, *, quiet: bool) -> str:
    """The path of the wheel that pip chooses for a requirement.

    Args:
        pythons: CPythons (`311`, `313t`), the preferred one first.

    Raises:
        UsageError, AbiscanError: as `local_targets`.
    """
    from abiscan.model.dependency_specifiers import InvalidDependency, read_requirement

    try:
        asked = read_requirement(target)
    except InvalidDependency as error:
        raise UsageError(f"{target}: not a requirement: {error}") from None
    requirement = f"{asked.name}{asked.specifier}"
    exact = all(each.operator in ("==", "===") and "*" not in each.version for each in asked.specifier)
    place = _place(f"{requirement}\0{machine}\0{pythons[0]}")
    kept = sorted(place.glob("*.whl"))
    if exact and kept:
        return str(kept[0])
    from abiscan.wheel.tags import list_platforms

    found: Fetched | None = None
    offered = ""
    for version in pythons:
        abis = (f"cp{version}",) if version.endswith("t") else ()
        found, path = _download(
            requirement, place, version.removesuffix("t"), list_platforms(machine), abis, quiet=quiet
        )
        if path is not None:
            return path
        offered = offered or found.offered
        if found.unreachable or "No matching distribution" not in found.reason:
            break
    assert found is not None
    if found.unreachable or "No matching distribution" not in found.reason:
        raise _failure(found, target, "the package index of pip", found.reason)
    from abiscan.model.platforms import platform_of

    which = ", ".join(f"{each[0]}.{each[1:]}" for each in sorted(pythons, key=lambda each: (len(each), each)))
    hint = f"available are {offered}" if offered else _NO_VERSION
    raise UsageError(
        f"{target}: no wheel for {platform_of(machine).shown} in the package index of pip (asked for CPython {which}); "
        f"{hint}"
    )


_NO_VERSION = (
    "no version has one: check the name; a project with sources only is not fetched, because building it runs its code"
)


def _failure(found: Fetched, target: str, server: str, reason: str) -> AbiscanError:
    """The error of a download that failed.

    Args:
        server: its name in a sentence.
        reason: of pip, without secrets.
    """
    if found.unreachable:
        why = found.reason if found.stopped else f"{server} does not answer"
        return AbiscanError(f"{target}: {why}: name a local wheel, or try again")
    return AbiscanError(f"{target}: could not be fetched (pip: {reason})")


def _of_url(url: str, quiet: bool) -> str:
    """Fetch the file at a URL. It is fetched each time, because it may have changed; pip's own cache detects that."""
    from urllib.parse import unquote, urlsplit

    from abiscan.wheel.wheel_name import split_wheel_name

    parts = urlsplit(url)
    shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()
    if parts.scheme not in ("http", "https"):
        raise UsageError(f"{shown}: only wheels are fetched, by http and https; name a local file by its path")
    named = split_wheel_name(unquote(parts.path).rpartition("/")[2])
    if named is None:
        raise UsageError(
            f"{shown}: not the name of a wheel; sources are not fetched, because building them runs their code"
        )
    triples = [tag.split("-") for tag in named[2]]
    python = next((p[2:] for p, _, _ in triples if p.startswith("cp") and p[2:].isdigit()), None)
    abis = list(dict.fromkeys(abi for _, abi, _ in triples))
    platforms = list(dict.fromkeys(platform for _, _, platform in triples))
    python = python or _pythons(None)[0].removesuffix("t")
    found, path = _download(url, _place(url), python, platforms, abis, quiet=quiet)
    if path is None:
        raise _failure(found, shown, "the server", found.reason.replace(url, shown))
    return path


def _download(
    requirement: str, place: Path, python: str, platforms: Sequence[str], abis: Sequence[str], *, quiet: bool
) -> tuple[Fetched, str | None]:
    """The result of pip, and the path of the wheel in `place`, which holds at most one wheel."""
    import tempfile
    from pathlib import Path

    from abiscan.releases.pip_download import pip_download

    try:
        for each in (place.parent.parent, place.parent):  # for any umask: no other user may write there
            os.makedirs(each, mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=place.parent) as folder:
            found = pip_download(
                requirement,
                Path(folder),
                python=python,
                platforms=platforms,
                abis=abis,
                quiet=quiet or progress() is None,
            )
            if found.wheel is None:
                return found, None
            place.mkdir(exist_ok=True)
            path = place / found.wheel.name
            os.replace(found.wheel, path)
            for other in place.glob("*.whl"):
                if other != path:
                    with contextlib.suppress(FileNotFoundError):
                        other.unlink()
    except OSError as error:
        raise AbiscanError(f"{place}: a fetched wheel cannot be kept there: {os_error_words(error)}") from error
    if not quiet:
        note(f"fetched {path.name}")
    return found, str(path)


def _place(key: str) -> Path:
    import hashlib
    from pathlib import Path

    return Path(fetched_directory()) / hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _pythons(python: str | None) -> list[str]:
    """CPythons to fetch wheels for, as `311` or `313t`: that of the environment first, then the most common."""
    from abiscan.releases.add import PYTHONS

    environment = environment_of(python)
    here = environment.version if environment is not None else None
    own = [] if here is None else [f"{here.major}{here.minor}{'t' if here.free_threaded else ''}"]
    return list(dict.fromkeys((*own, *PYTHONS)))
