"""Real reports as cases: a symbol, the installed torch as the report describes it, the file that needs it, and the
cause found by the participants.

`data/cause_map.toml` maps causes of participants to ours. Each row of `data/*_cases.jsonl` has its URL. The `text` of a
row has the program output in its thread (names of people in paths are replaced); its `symbol` is null if the error
names none.

Each case is tested twice: typed, as the symbol with the torch of the report (`--torch`) and the file (`--needed-by`);
and pasted, as the text of the thread alone. For a case without a text, the loader's message is made, and the torch is
given.
"""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from abiscan.analysis.scan_options import ScanOptions
from abiscan.analysis.text_target import knowledge_for
from abiscan.diagnosis.causes.system_libraries import is_symbol_version
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.readings.answer_text import answer
from abiscan.diagnosis.readings.read_text import ReadText, read_text
from abiscan.loader import LoaderSettings
from abiscan.model.subject import Subject
from abiscan.model.target import TorchBuild, TorchKind
from abiscan.model.versions import order
from abiscan.releases import ReleaseIndex
from abiscan.releases.exports import ReleasedExports
from tests.diagnosis.explained import explain

DATA = Path(__file__).parent / "data"
FILES = tuple(sorted(DATA.glob("*_cases.jsonl")))
_VERSION = re.compile(r"(?<![\w.])(\d+\.\d+(?:\.\d+)?(?:a0|\.dev\d+)?)(?:\+([a-z]+[\d.]*))?")
# A value of --torch at the start of a report's description; and words that contain more than a version.
_SPEC = re.compile(r"\d{1,2}\.\d{1,2}(?:\.\d{1,2})?(?:a0|\.dev\d{8})?(?:\+[\w.]+)?(?=$|[ ,(])")
_KIND = re.compile(r"ABI=|cxx11-abi|\bcpu\b|rocm|CUDA| / |, \d|local|conda|self-built|nightly", re.IGNORECASE)
_BOUND = re.compile(r"([<>]=?)\s*(\d+\.\d+(?:\.\d+)?)")
_CUDA_LABEL = re.compile(r"cu(\d{1,2})(\d)")
# Words for a torch that is not a release on the package index.
_OTHER_BUILD = re.compile(r"self-built|conda|NGC|\bgit\b|local|nightly|dev|cxx11-abi|ABI=", re.IGNORECASE)
MACHINE = "x86_64"
_NOTHING_HERE = ScanOptions(torch=None, environment=None, settings=LoaderSettings(cwd="/"))


class Case(Struct, frozen=True):
    """One report, and the causes of which one was confirmed or inferred.

    Attributes:
        id: file of cases, place of the thread, and beginning of the symbol; unique.
        torch_installed: in the words of the report; empty if unknown.
        confirmed: the thread confirms the cause; otherwise it was inferred.
    """

    id: str
    symbol: str | None
    needed_by: str | None
    torch_installed: str
    cause: str
    wanted: tuple[str, ...]
    confirmed: bool
    text: str | None = None

    def typed(self, index: ReleaseIndex) -> tuple[str, ...] | None:
        """The causes of `explain SYMBOL`, best first, each with its confidence: `import-torch-first high`; None without
        a symbol."""
        if self.symbol is None:
            return None
        subjects = explain(self.symbol, knowledge_of(self.torch_installed, index), self.needed_by)
        return _causes(subjects[0]) if subjects else ()

    def pasted(self, index: ReleaseIndex) -> tuple[str, ...]:
        """The causes of `explain TEXT` for the symbol, or for the first subject without one."""
        if self.text is not None:
            subjects = explain_text(self.text, index)
        else:
            subjects = explain(self.loaders_message, knowledge_of(self.torch_installed, index))
        name = (self.symbol or "").split(", version")[0]
        about = next((s for s in subjects if name in (s.mangled, s.text)), subjects[0] if subjects else None)
        return _causes(about) if about is not None else ()

    @property
    def loaders_message(self) -> str:
        """The message of a loader for this case."""
        assert self.symbol is not None
        file = f"/opt/e/{self.needed_by or '_C.so'}"
        if is_symbol_version(self.symbol):
            return f"ImportError: /lib/libstdc++.so.6: version `{self.symbol}' not found (required by {file})"
        if ".so" in self.symbol and "," not in self.symbol:
            return f"ImportError: {self.symbol}: cannot open shared object file: No such file or directory"
        return f"Traceback (most recent call last):\nImportError: {file}: undefined symbol: {self.symbol}\n"

    def rank(self, answer: tuple[str, ...]) -> int | None:
        """The index of the cause in an answer, from 0; None if it is missing."""
        given = [cause.split()[0] for cause in answer]
        return next((place for place, cause in enumerate(given) if cause in self.wanted), None)


@cache
def cases(path: Path) -> tuple[Case, ...]:
    """Every case of a file, in order."""
    causes = tomllib.loads((DATA / "cause_map.toml").read_text(encoding="utf-8"))
    found: dict[str, Case] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        thread = "/".join(row["url"].split("?")[0].split("#")[0].rstrip("/").split("/")[-4:])
        name = f"{path.name.removesuffix('_cases.jsonl')}:{thread}:{(row['symbol'] or '')[:60]}"
        while name in found:
            name += "'"
        wanted = tuple(causes[row["cause"]])
        installed = row["torch_installed"] or ""
        found[name] = Case(
            name,
            row["symbol"],
            row["needed_by"],
            installed,
            row["cause"],
            wanted,
            row["cause_confirmed"],
            row.get("text"),
        )
    return tuple(found.values())


def _causes(subject: Subject) -> tuple[str, ...]:
    return tuple(f"{cause.cause} {cause.confidence}" for cause in subject.causes)


def knowledge_of(installed: str, index: ReleaseIndex) -> Knowledge:
    """Knowledge of the torch that a report describes. A bound (`<2.0`) is the nearest release within it. A kind of
    build ("CPU-only torch", "ABI=0") gives a target with unknown version: abiscan reads that much from any installed
    torch."""
    spec = _SPEC.match(installed)
    of_container = "NGC" in installed and "a0" not in installed
    if spec is not None and not of_container and not _KIND.search(installed):
        options = replace(_NOTHING_HERE, torch=_full(spec[0]))
        return replace(knowledge_for(options, read_text(""), here=False), releases=index)
    abi = None
    if "ABI=1" in installed or "cxx11-abi" in installed:
        abi = True
    elif "ABI=0" in installed:
        abi = False
    low = installed.lower()
    variant = "rocm" if "rocm" in low else "cpu" if re.search(r"\bcpu\b", low) else ""
    said = re.search(r"\+(cu\d{2,3})\b", low)
    version = _version(installed, index)
    if version is None:
        if not variant and abi is None:
            return Knowledge(releases=index, machine=MACHINE)
        return Knowledge(target=_target("unknown", variant, abi), releases=index, machine=MACHINE)
    build = next((b for b in index.builds(MACHINE) if b.torch == version), None)
    if build is None or variant or _OTHER_BUILD.search(installed):
        return Knowledge(target=_target(version, variant, abi), releases=index, machine=MACHINE)
    return Knowledge(
        target=_target(version, said[1] if said is not None else build.variant, build.cxx11_abi),
        exports=ReleasedExports(index, build),
        releases=index,
        machine=MACHINE,
    )


def explain_text(text: str, index: ReleaseIndex) -> tuple[Subject, ...]:
    """Explain every subject of a text from another machine: only torch and Python in the text are known."""
    return explain_read(read_text(text), index)


def explain_read(read: ReadText, index: ReleaseIndex) -> tuple[Subject, ...]:
    """The same for a text that was read."""
    return answer(read, replace(knowledge_for(_NOTHING_HERE, read, here=False), releases=index))


def _version(installed: str, index: ReleaseIndex) -> str | None:
    bound = _BOUND.search(installed)
    if bound is not None:
        at = order(bound[2])
        if bound[1] in (">=", "<=") or at is None:
            return _full(bound[2])
        known = [b.torch for b in index.builds(MACHINE)]
        below = [v for v in known if (order(v) or at) < at]
        # Older than the index: any version below the bound works.
        return below[-1] if below else "1.9.1"
    if re.search(r"\bCUDA\b", installed) or " / " in installed:
        return None
    found = _VERSION.search(installed)
    return _full(found[1]) if found is not None else None


def _full(version: str) -> str:
    return version if version.count(".") > 1 else re.sub(r"^(\d+\.\d+)", r"\1.0", version)


def _target(version: str, variant: str, abi: bool | None) -> TorchBuild:
    gpu = variant not in ("cpu", "rocm")
    label = _CUDA_LABEL.fullmatch(variant)
    cuda = f"{label[1]}.{label[2]}" if label is not None else "12"
    return TorchBuild(
        TorchKind.RELEASE, version, variant, cuda if gpu else None, "6" if variant == "rocm" else None, abi, None, None
    )
