"""symbol-hidden: still defined, but no longer exported.

Since 2.7 libtorch_python is compiled with hidden visibility: it exports about 240 of some 3,600 symbols of torch, at,
c10 and THP in 2.6.0 (pytorch/pytorch issue 154105)."""

from __future__ import annotations

from abiscan.diagnosis.fixes import torch_fixes
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.release_position import Position
from abiscan.mangling import SpecialKind
from abiscan.model import versions
from abiscan.model.cause import CauseId
from abiscan.model.versions import ReleaseRanges

_HIDDEN_SINCE = "2.7.0.dev0"
_LIBRARY = "libtorch_python.so"
_CLASS_DATA = frozenset({SpecialKind.VTABLE, SpecialKind.TYPEINFO, SpecialKind.TYPEINFO_NAME, SpecialKind.VTT})


def causes(missing: MissingName) -> Candidates:
    """A symbol that libtorch_python hides, and data of a class that is still exported."""
    if not missing.is_torch_name or missing.file.is_torch_itself or missing.target_library is not None:
        return
    yield from _python_library(missing)
    yield from _class_data(missing)


def _python_library(missing: MissingName) -> Candidates:
    if missing.libraries[:1] != (_LIBRARY,) or not missing.exported_in:
        return
    target = missing.target_version
    at = versions.order(target)
    since = versions.order(_HIDDEN_SINCE)
    assert since is not None
    evidence = [
        missing.exported_text,
        "Since torch 2.7, libtorch_python exports only symbols that are marked TORCH_PYTHON_API.",
    ]
    last_exported = versions.order(missing.exported_in.last)
    ends_there = last_exported is not None and last_exported < since
    if at is None:
        score = 0.6 if ends_there else 0.2
    elif at < since:
        return
    elif missing.position in (Position.AFTER, Position.GAP):
        score = 0.86
    elif target is not None and not versions.is_release(target):
        score = 0.8
        evidence.append(f"{target} is a nightly: symbols were marked one by one, some of them later.")
    elif missing.knowledge.exact:
        score = 0.55
    else:
        score = 0.3
    # Symbols that disappeared before 2.7 were removed or renamed, not hidden.
    if ends_there and not _until_the_change(missing):
        score -= 0.45
    fix = "Replace the internal symbol with the public C++ API (at::, torch::)."
    if (other := torch_fixes.install_torch(missing, missing.exported_in)) is not None:
        fix += f"\nor: {other}"
    fix += "\nor: Ask PyTorch to mark it TORCH_PYTHON_API."
    yield Candidate(CauseId.SYMBOL_HIDDEN, score, tuple(evidence), fix)


def _until_the_change(missing: MissingName) -> bool:
    """Whether the last release before the change still exports the symbol."""
    since = versions.order(_HIDDEN_SINCE)
    assert since is not None
    before = [version for version in missing.known_versions if (versions.order(version) or since) < since]
    return bool(before) and bool((missing.exported_in or ReleaseRanges()).contains(before[-1]))


def _class_data(missing: MissingName) -> Candidates:
    """The vtable or typeinfo of a class whose functions are exported."""
    cxx = missing.cxx
    if cxx is None or cxx.kind not in _CLASS_DATA:
        return
    members = _members_exported(missing)
    unknown = missing.target is None and bool(missing.exported_in)
    if members is None and not missing.knowledge.target_is_before_index and not unknown:
        return
    what = cxx.kind.value.replace("-", " ")
    evidence = [
        f"The symbol is the {what} of {cxx.qualified}. A compiler references it if the class is a base class, is "
        f"thrown, or is cast."
    ]
    if members:
        evidence.append(f"{missing.target_label} exports functions of the class ({members}), not its {what}.")
        score = 0.75
    elif unknown:
        evidence.append("An older torch may export the functions of the class but not this symbol.")
        score = 0.5 if missing.exported_in and not missing.in_oldest_known else 0.35
    else:
        evidence.append(
            f"{missing.target_label} is older than the index: whether it exports the class's functions is not known."
        )
        score = 0.6
    evidence.append(missing.exported_text)
    fix = "Do not derive from the class and do not use dynamic_cast or typeid on it."
    if (other := torch_fixes.install_torch(missing, missing.exported_in or ReleaseRanges())) is not None:
        fix += f"\nor: {other}"
    yield Candidate(CauseId.SYMBOL_HIDDEN, score, tuple(evidence), fix)


def _members_exported(missing: MissingName) -> str | None:
    """One function of the class that the target exports."""
    cxx, exports = missing.parsed, missing.knowledge.exports
    encoded = "".join(f"{len(part.encode('utf-8', 'surrogateescape'))}{part}" for part in (*cxx.scope, cxx.base))
    for prefix in (f"_ZN{encoded}", f"_ZNK{encoded}"):
        found = exports.with_prefix(prefix, 1) if exports is not None else _around(missing, prefix)
        if found:
            return found[0]
    return None


def _around(missing: MissingName, prefix: str) -> tuple[str, ...]:
    """Names in releases before and after a target with known version only, or in that version."""
    releases, target = missing.knowledge.releases, missing.target
    if releases is None or target is None or versions.order(target.version) is None:
        return ()
    found = ((name, each.exported_in) for name, each in releases.prefix(prefix, missing.knowledge.machine).items())
    return tuple(n for n, each in found if not (each.all_after(target.version) or each.all_before(target.version)))
