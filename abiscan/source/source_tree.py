"""Source files on disk, and their findings joined with those of a binary."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from abiscan.errors import UnreadableFile, os_error_words
from abiscan.model.finding import Finding
from abiscan.model.limits import MAX_SOURCE_FILES, MAX_SOURCE_SIZE
from abiscan.model.report import ArtifactKind, InputError
from abiscan.rules.element_types import element_type, fundamental_type
from abiscan.rules.load import load_rules
from abiscan.rules.make_finding import MAX_LOCATIONS
from abiscan.rules.rule import Rule
from abiscan.source.match import SourceHit, SourceRules, match_source
from abiscan.source.source_set import LANGUAGES, MAX_INCLUDED_SIZE, FileSet, SourceSet

if TYPE_CHECKING:
    from abiscan.mangling import CxxName

# Directories of build systems and version control.
_SKIPPED = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", ".tox", ".mypy_cache"})


class SourceFile(Struct, frozen=True):
    """One source file after the scan.

    Attributes:
        path: in reports.
        hits: one per rule and text of the place.
    """

    path: str
    kind: ArtifactKind
    size: int
    hits: tuple[SourceHit, ...]


def is_source(name: str) -> bool:
    """Whether a file with this name is read: C++, CUDA, HIP, or Python for generated kernels."""
    suffix = PurePath(name).suffix.lower()
    return suffix in LANGUAGES or suffix == ".py"


def scan_source(
    data: bytes,
    path: str,
    rules: SourceRules,
    *,
    module: str | None = None,
    others: SourceSet | None,
    release: str | None,
) -> SourceFile:
    """The findings of one file.

    Args:
        data: contents, decoded as UTF-8 with replacement characters.
        path: in reports.
        module: name of the file in fingerprints (default: `path`).
        others: finds included files.
        release: see `match_source`.
    """
    text = data.decode("utf-8", "replace")
    if PurePath(path).suffix.lower() == ".py":
        from abiscan.rules.computed.generated_kernel import match_kernels

        kernels = [] if rules.kernels is None else match_kernels(rules.kernels, text, path, module or path)
        hits = tuple(SourceHit(finding, None) for finding in kernels)
        return SourceFile(path, ArtifactKind.GENERATED_KERNEL, len(data), hits)
    hits = match_source(text, path, rules, module=module, others=others, release=release)
    return SourceFile(path, ArtifactKind.SOURCE, len(data), hits)


def check_source(
    path: str, data: bytes, module: str, others: SourceSet | None = None, release: str | None = None
) -> tuple[Finding, ...]:
    """The findings of all rules in one source file.

    Args:
        path: in reports; its extension determines the language.
        module: name of the file in fingerprints (`abiscan.model.fingerprint.module_key`).
        others: finds included files; `path` is the name of this file in it.
        release: see `match_source`.
    """
    scanned = scan_source(data, path, _every_rule(), module=module, others=others, release=release)
    return tuple(hit.finding for hit in scanned.hits)


@cache
def _every_rule() -> SourceRules:
    return SourceRules(load_rules())


def scan_tree(
    root: Path, rules: tuple[Rule, ...], display: Callable[[Path], str] = str, release: str | None = None
) -> tuple[list[SourceFile], list[InputError]]:
    """Every source file with a finding below a directory (or the file `root`), sorted by path.

    Args:
        display: the name of a file in reports.
        release: see `match_source`.

    Returns:
        Files with findings, and read errors.
    """
    prepared = SourceRules(rules)
    files: list[SourceFile] = []
    errors: list[InputError] = []
    walked = list(islice(_walk(root), MAX_SOURCE_FILES + 1))
    places = {display(path): path for path in walked}
    others = FileSet(places, lambda shown: _text(places[shown]))
    for number, path in enumerate(walked):
        if number >= MAX_SOURCE_FILES:
            words = f"more than {MAX_SOURCE_FILES} source files: the rest was not read"
            errors.append(InputError(display(root), words))
            break
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                errors.append(InputError(display(path), "neither a file nor a directory"))
                continue
            size = status.st_size
            if size > MAX_SOURCE_SIZE:
                errors.append(InputError(display(path), f"{size} bytes: too large to be a source"))
                continue
            data = path.read_bytes()
        except OSError as error:
            errors.append(InputError(display(path), f"cannot be read: {os_error_words(error)}"))
            continue
        try:
            scanned = scan_source(data, display(path), prepared, others=others, release=release)
        except UnreadableFile as error:
            errors.append(InputError(display(path), error.reason))
            continue
        if scanned.hits:
            files.append(scanned)
    return sorted(files, key=lambda each: each.path), errors


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "replace") if path.stat().st_size <= MAX_INCLUDED_SIZE else None
    except OSError:
        return None  # reported by the scan of the file itself


def sources_below(root: Path) -> Iterator[Path]:
    """The C++, CUDA and HIP sources below a directory, sorted, or the file itself; at most MAX_SOURCE_FILES."""
    return islice((path for path in _walk(root) if path.suffix.lower() in LANGUAGES), MAX_SOURCE_FILES)


def _walk(root: Path) -> Iterator[Path]:
    if not root.is_dir():
        yield root
        return
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(names):
            path = Path(folder, name)
            if is_source(name) and path.is_file():
                yield path


def attach_sources(
    findings: Iterable[Finding], files: Iterable[SourceFile], parse: Callable[[str], CxxName | None]
) -> tuple[Finding, ...]:
    """Add the lines of sources with hits of the same rule to a binary's findings. If both have an element type
    (`const_data_ptr<int64_t>`, import for `long`), it must be equal. A dependent type (`scalar_t`) matches all."""
    hits: dict[str, list[SourceHit]] = {}
    for file in files:
        for hit in file.hits:
            hits.setdefault(hit.finding.rule, []).append(hit)
    result = []
    for finding in findings:
        element = element_type(parse(finding.symbol)) if finding.symbol is not None else None
        wanted = None if element is None else fundamental_type(element)
        places = [
            place
            for hit in hits.get(finding.rule, ())
            if wanted is None or hit.element is None or fundamental_type(hit.element) in (wanted, None)
            for place in hit.finding.locations
        ]
        merged = tuple(dict.fromkeys((*finding.locations, *places)))[:MAX_LOCATIONS]
        result.append(replace(finding, locations=merged) if places else finding)
    return tuple(result)
