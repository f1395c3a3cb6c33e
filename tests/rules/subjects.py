"""Files bound by the release index alone: what the rules see of a fixture, the same on every machine.

It stands in for the loader stage, which has tests of its own: torch's names are served by torch 2.13.0 (CUDA) as
released, `Py*` by any interpreter, everything else is there.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from abiscan.elf import open_elf
from abiscan.mangling import (
    Demangler,
    NameKind,
    classify,
    parse,
)
from abiscan.model.binding import (
    BoundImport,
    NeededLibrary,
    Owner,
    Status,
)
from abiscan.model.facts import Import, SymbolBinding
from abiscan.model.fingerprint import module_key
from abiscan.model.target import Target, TargetKind
from abiscan.model.versions import Windows
from abiscan.releases import ReleaseIndex, open_index
from abiscan.rules import RuleSubject

FIXTURES = Path(__file__).parents[1] / "fixtures"
TORCH_SCOPES = (("at",), ("c10",), ("torch",), ("caffe2",), ("c10d",))


@cache
def index() -> ReleaseIndex:
    return open_index()


@cache
def demangler() -> Demangler:
    return Demangler()


def windows(name: str) -> Windows | None:
    if index().known_omitted(name) is not None:
        return None
    history = index().history(name)
    return Windows() if history is None else history.windows


def libraries(name: str) -> tuple[str, ...] | None:
    history = index().history(name)
    if history is None:
        return None
    return next((export.libraries for export in reversed(history.exports) if export is not None), None)


def owner_of(name: str) -> Owner:
    if classify(name) is NameKind.CXX:
        parsed = parse(name)
        if parsed is None:
            return Owner.OTHER
        if parsed.scope[:1] in TORCH_SCOPES or parsed.base.startswith("THP"):
            return Owner.TORCH
        return Owner.SELF if parsed.scope[:1] == ("myext",) else Owner.CXX
    if name.startswith(("Py", "_Py")):
        return Owner.PYTHON
    return Owner.TORCH if name.startswith(("THP", "THC", "aoti_torch_", "torch_")) else Owner.LIBC


def bind(symbol: Import, needed: tuple[str, ...], torch: str = "2.13.0") -> BoundImport:
    owner = owner_of(symbol.name)
    demangled = demangler().demangle(symbol.name)
    status, provider = Status.RESOLVED, "libc.so.6" if owner is Owner.LIBC else None
    if owner is Owner.TORCH:
        export = index().exports(index().resolve(torch), symbol.name)
        if export is not None:
            provider = export.library
            in_scope = provider in needed or provider != "libtorch_python.so"
            status = Status.RESOLVED if in_scope else Status.UNREACHABLE
        else:
            status = Status.WEAK if symbol.binding is SymbolBinding.WEAK else Status.MISSING
    elif owner is Owner.SELF or (owner is Owner.OTHER and symbol.binding is not SymbolBinding.WEAK):
        status = Status.MISSING
    return BoundImport(symbol, demangled.text, demangled.by, owner, status, provider)


def subject(path: Path, torch: str = "2.13.0") -> RuleSubject:
    facts = open_elf(path, path.name).facts()
    builds = index().builds("x86_64")
    return RuleSubject(
        facts=facts,
        imports=tuple(bind(symbol, facts.needed, torch) for symbol in facts.imports if symbol.relocated),
        needed=tuple(NeededLibrary(name, None if "doesnotexist" in name else f"/lib/{name}") for name in facts.needed),
        module=module_key(path.name),
        parse=parse,
        target=Target(TargetKind.RELEASE, torch, "cu130", "13.0", None, True, None, None, "x86_64"),
        windows=windows,
        libraries=libraries,
        span=(builds[0].torch, builds[-1].torch),
        gnu_available=demangler().gnu_available,
    )
