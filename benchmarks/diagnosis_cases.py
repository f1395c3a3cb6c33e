"""How often the confirmed cause of a real report comes first, or among the first two.

    python benchmarks/diagnosis_cases.py [-v] [CASES.jsonl ...]

Each case is what a user has: a symbol, the torch that is installed as the report words it, the file that needs it. What
the report's readers found to be the cause is compared with `explain`'s answer by `tests/diagnosis/data/cause_map.toml`.
Prints every case whose cause is not first (`-v`: every case), then the figures. Data: each row of
`tests/diagnosis/data/*_cases.jsonl` has its URL.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from abiscan.diagnosis import Knowledge, explain
from abiscan.model import versions as order
from abiscan.model.target import Target, TargetKind
from abiscan.releases import ReleaseIndex, open_index
from abiscan.releases.exports import ReleasedExports

DATA = Path(__file__).parents[1] / "tests" / "diagnosis" / "data"
_VERSION = re.compile(r"(?<![\w.])(\d+\.\d+(?:\.\d+)?(?:a0|\.dev\d+)?)(?:\+([a-z]+[\d.]*))?")
_BOUND = re.compile(r"([<>]=?)\s*(\d+\.\d+(?:\.\d+)?)")
# Words by which a report says that its torch is no release of the package index.
_OTHER_BUILD = re.compile(r"self-built|conda|NGC|\bgit\b|local|nightly|dev|cxx11-abi|ABI=", re.IGNORECASE)
MACHINE = "x86_64"


@dataclass(frozen=True, slots=True)
class Answer:
    """A case with what was answered."""

    case: dict[str, object]
    wanted: tuple[str, ...]
    given: tuple[str, ...]

    @property
    def first(self) -> bool:
        """The cause came first."""
        return bool(self.given) and self.given[0] in self.wanted

    @property
    def second(self) -> bool:
        """The cause came first or second."""
        return any(cause in self.wanted for cause in self.given[:2])


def knowledge_of(installed: str, index: ReleaseIndex) -> Knowledge:
    """What abiscan would know of the torch that a report words so.

    A bound (`<2.0`) is the nearest release within it. What only names a kind of build ("CPU-only torch", "ABI=0") gives
    a target of unknown version: abiscan reads that much from any installed torch.
    """
    abi = None
    if "ABI=1" in installed or "cxx11-abi" in installed:
        abi = True
    elif "ABI=0" in installed:
        abi = False
    low = installed.lower()
    variant = "rocm" if "rocm" in low else "cpu" if re.search(r"\bcpu\b", low) else ""
    version = _version(installed, index)
    if version is None:
        if not variant and abi is None:
            return Knowledge(releases=index, machine=MACHINE)
        return Knowledge(target=_target("unknown", variant, abi), releases=index, machine=MACHINE)
    build = next((b for b in index.builds(MACHINE) if b.torch == version), None)
    if build is None or variant or _OTHER_BUILD.search(installed):
        return Knowledge(target=_target(version, variant, abi), releases=index, machine=MACHINE)
    return Knowledge(
        target=_target(version, build.variant, build.cxx11_abi),
        exports=ReleasedExports(index, build),
        releases=index,
        machine=MACHINE,
    )


def _version(installed: str, index: ReleaseIndex) -> str | None:
    bound = _BOUND.search(installed)
    if bound is not None:
        at = order.order(bound[2])
        if bound[1] in (">=", "<=") or at is None:
            return _full(bound[2])
        known = [b.torch for b in index.builds(MACHINE)]
        below = [v for v in known if (order.order(v) or at) < at]
        # Older than the index: any version below the bound does.
        return below[-1] if below else "1.9.1"
    if re.search(r"\bCUDA\b", installed) or " / " in installed:
        return None
    found = _VERSION.search(installed)
    return _full(found[1]) if found is not None else None


def _full(version: str) -> str:
    return version if version.count(".") > 1 else re.sub(r"^(\d+\.\d+)", r"\1.0", version)


def _target(version: str, variant: str, abi: bool | None) -> Target:
    gpu = variant not in ("cpu", "rocm")
    return Target(
        TargetKind.RELEASE, version, variant, "12" if gpu else None, "6" if variant == "rocm" else None, abi, None, None
    )


def answers(path: Path, index: ReleaseIndex) -> Iterator[Answer]:
    """Every case of a file, answered."""
    with (DATA / "cause_map.toml").open("rb") as file:
        causes = tomllib.load(file)
    for line in path.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        knowledge = knowledge_of(case["torch_installed"] or "", index)
        subjects = explain(case["symbol"], knowledge, case["needed_by"])
        given = tuple(cause.cause.value for cause in subjects[0].causes) if subjects else ()
        yield Answer(case, tuple(causes[case["cause"]]["causes"]), given)


def main() -> None:
    """Print the misses and the figures."""
    verbose = "-v" in sys.argv[1:]
    paths = [Path(a) for a in sys.argv[1:] if a != "-v"] or sorted(DATA.glob("*_cases.jsonl"))
    index = open_index()
    for path in paths:
        found = list(answers(path, index))
        for answer in found:
            if verbose or not answer.first:
                word = "first" if answer.first else "second" if answer.second else "MISS"
                sure = "confirmed" if answer.case["cause_confirmed"] else "inferred"
                print(f"{word:6} {sure:9} {answer.case['cause']}: {str(answer.case['symbol'])[:100]}")
                print(f"       torch {answer.case['torch_installed']!r}, needed by {answer.case['needed_by']!r}")
                print(f"       wanted {' or '.join(answer.wanted)}; given {', '.join(answer.given) or 'nothing'}")
        print(f"\n{path.name}: cases, cause first, cause among the first two")
        for name, rows in (("all", found), ("confirmed", [a for a in found if a.case["cause_confirmed"]])):
            count = max(len(rows), 1)
            first, second = sum(a.first for a in rows), sum(a.second for a in rows)
            print(f"  {name:9} {len(rows):4}  {first:3} ({first / count:.0%})  {second:3} ({second / count:.0%})")


if __name__ == "__main__":
    main()
