"""Check abiscan/data/stable_counterparts.toml against the headers of releases and the release index.

    python tools/check_stable_counterparts.py [VERSION=DIRECTORY_OF_HEADERS]...

A directory is the `torch/include/torch` of a wheel of that release; default: that of the installed torch. For each row,
headers since the release `since` must contain the evidence, and earlier ones must not; the same holds for the members
of rows whose counterpart has "the same name". `since` must not be older than a `TORCH_FEATURE_VERSION` guard around it,
and no shim may be newer than `since` in the release index. Exit status 1 if a row is wrong.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from abiscan.model.versions import order
from abiscan.releases import open_index
from abiscan.releases.stable_counterparts import Counterpart, counterparts

_GUARD = re.compile(r"^\s*#\s*if\s+TORCH_FEATURE_VERSION\s*>=\s*TORCH_VERSION_(\d+)_(\d+)_(\d+)")


def found_in(text: str, evidence: str) -> bool:
    """Whether a header contains it: a word, or a declaration without white space and namespaces."""
    if re.fullmatch(r"\w+", evidence):
        return re.search(rf"\b{re.escape(evidence)}\b", text) is not None
    spelled = re.escape(evidence).replace(r"torch::stable::", r"(?:torch::stable::)?").replace(r"\ ", r"\s+")
    return re.search(spelled, text) is not None


def guard_of(text: str, evidence: str) -> str | None:
    """The release in the guard around its first place; None without a guard."""
    guards: list[str | None] = []
    for line in text.splitlines():
        if re.match(r"^\s*#\s*if", line):
            match = _GUARD.match(line)
            guards.append(".".join(match.groups()) if match else None)
        elif re.match(r"^\s*#\s*endif", line) and guards:
            guards.pop()
        elif found_in(line, evidence):
            named = [guard for guard in guards if guard]
            return named[-1] if named else None
    return None


def problems(headers: Mapping[str, Path]) -> Iterator[str]:
    """A sentence for each invalid row.

    Args:
        headers: release -> its directory of headers (`.../torch/include/torch`).
    """
    index = open_index()
    for row in counterparts():
        name = (row.imports or row.sources)[0]
        for shim in row.shims:
            history = index.history(shim)
            if history is None:
                yield f"{name}: no release exports {shim}"
            elif (order(history.exported_in.first) or ()) > (order(row.since) or ()):
                yield f"{name}: since {row.since}, but {shim} came with {history.exported_in.first}"
        if row.header:
            yield from _of_headers(name, row, headers)


def _of_headers(name: str, row: Counterpart, headers: Mapping[str, Path]) -> Iterator[str]:
    for version, root in headers.items():
        path = root / row.header
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        there = found_in(text, row.evidence)
        expected = (order(version) or ()) >= (order(row.since) or ())
        if there != expected:
            has = "has" if there else "lacks"
            yield f"{name}: since {row.since}, but {row.header} of {version} {has} {row.evidence!r}"
        if row.use.endswith("with the same name"):
            for word in row.sources:
                if found_in(text, f" {word.rpartition('::')[2]}(") != expected:
                    has = "lacks" if expected else "has"
                    yield f"{word}: since {row.since}, but {row.header} of {version} {has} it"
        guard = guard_of(text, row.evidence)
        if there and guard is not None and (order(guard) or ()) > (order(row.since) or ()):
            yield f"{name}: since {row.since}, but {row.header} guards {row.evidence!r} by {guard}"


def installed() -> dict[str, Path]:
    """The headers of the installed torch, which is not imported."""
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        return {}
    root = Path(found.origin).parent
    version = re.search(r"__version__ = '([\d.]+)", (root / "version.py").read_text(encoding="utf-8"))
    return {version[1]: root / "include" / "torch"} if version else {}


def main() -> int:
    given = dict(argument.partition("=")[::2] for argument in sys.argv[1:])
    headers = {version: Path(path) for version, path in given.items()} or installed()
    wrong = list(problems(headers))
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(counterparts())} rows against the headers of {', '.join(headers) or 'no release'}: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
