"""Converts names as users paste them (demangled, with the underscore of macOS, MSVC names, with a version) to names in
the index."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.text.demangled_text import IDENTIFIER, before_parameters, comparable, qualified_name
from abiscan.diagnosis.text.msvc_names import read_msvc_name
from abiscan.environment.python_names import exported_by
from abiscan.mangling import CxxName, NameKind, classify, parse, search_prefixes, string_abi
from abiscan.mangling.string_spelling import Abi, respelled
from abiscan.releases.build import SymbolHistory

# Maximum number of overloads for a demangled name.
_LIMIT = 400
# Minimum characters of a truncated name.
_CUT_LENGTH = 24
# Characters behind a name that may be of the text around it.
_STRAY: Final = 3
# <nested-name> without the prefix of C++ names.
_HEADLESS = re.compile(r"Z?N[rVK]{0,3}[RO]?\d{1,3}[A-Za-z_]")
_NESTED = re.compile(r"_ZN[rVK]{0,3}[RO]?")
# <ctor-dtor-name>
_STRUCTORS: Final = ("C1", "C2", "D0", "D1", "D2")
_LENGTH = re.compile(r"(\d{1,4})")
_TOKEN = re.compile(r"[A-Za-z_?.$@]|[^\x00-\x7f]")
_QUOTES: Final = "'`\"\u2018\u2019"


# at::Tensor inherits functions from it, which mangled names show.
_TENSOR: Final = ("at", "TensorBase")
_DERIVED: Final = ("at", "Tensor")
_NAMESPACES: Final = ("at", "c10", "torch")
# Scopes that people leave out, and that of operators, in which each is a class.
_SCOPES: Final = (
    _TENSOR,
    ("c10",),
    ("c10", "cuda"),
    ("c10", "detail"),
    ("c10", "impl", "GPUTrace"),
    ("at",),
    ("at", "cuda"),
)
_OPERATORS: Final = ("at", "_ops")
# With an underscore or an upper-case letter inside, after lower-case ones.
_COMPOUND: Final = re.compile(r"_?(?=\w{0,255}[a-z](?:_[a-zA-Z]|[A-Z]))[A-Za-z]\w{4,255}", re.ASCII)


class Spelled(Struct, frozen=True):
    """A given name, and the names to look up.

    Attributes:
        given: the text.
        names: the mangled ELF names, likeliest first; one for a mangled name, several if a demangled one matches
            several exports.
        exact: whether `names` are those of the text, not the most similar ones.
        shown: the displayed name if the name itself is made up.
        notes: about the spelling.
        macos: whether it is a name of macOS.
        guessed: whether it is one of several with a truncated name's beginning, of other functions or releases.
        others: one of each such kind, without those that the target exports if it does not export this one.
    """

    given: str
    names: tuple[str, ...]
    exact: bool = True
    shown: str | None = None
    notes: tuple[str, ...] = ()
    macos: bool = False
    guessed: bool = False
    others: tuple[str, ...] = ()


def read(text: str, knowledge: Knowledge, *, macos: bool = False, cut_off: bool = False) -> Spelled | None:
    """The meaning of a name; None if the text is no name.

    Args:
        cut_off: dots in the text show that this is the beginning of the name.
    """
    given = text.strip().strip(_QUOTES)
    if not given or not _TOKEN.match(given[0]) or len(given) > 65_536:
        return None
    kind = classify(given.removeprefix("__imp_"))
    if kind is NameKind.MSVC:
        return _msvc(given, knowledge)
    if kind is NameKind.MACHO:
        note = "A macOS name: Mach-O puts an underscore before every C and C++ name. Without it: " + given[1:]
        return Spelled(given, (given,), notes=(note,), macos=True)
    if kind is NameKind.CXX:
        return _mangled(given.split("@", 1)[0], knowledge, cut_off)
    if kind is NameKind.VECTOR_ABI:
        return Spelled(given, (given,), notes=("A vector variant of a C function (vector function ABI), not C++.",))
    if kind in (NameKind.RUST, NameKind.D, NameKind.SWIFT):
        return Spelled(given, (given,), notes=(f"A name of {kind.value.capitalize()}, not C++.",))
    if any(mark in given for mark in ("::", "(", " ", "<")):
        return _demangled(given, knowledge, macos)
    name = given.split("@", 1)[0]
    if (whole := restore_prefix(name)) is not None:
        note = f"The name has lost its beginning in the text; it is taken to be {whole}."
        return Spelled(given, (whole,), notes=(note,), macos=macos)
    if name.startswith("_") and (macos or (not is_known(name, knowledge) and is_known(name[1:], knowledge))):
        note = f"A macOS name: Mach-O puts an underscore before every name. Without it: {name[1:]}"
        return Spelled(given, (name[1:],), notes=(note,), macos=True)
    qualified = with_scope(name, knowledge)
    if qualified is not None and not is_known(name, knowledge):
        return _demangled(qualified, knowledge, macos)
    return Spelled(given, (name,))


def with_scope(name: str, knowledge: Knowledge) -> str | None:
    """The qualified name of a function of torch that people write without its scope: `mutable_data_ptr`, `SetDevice`;
    None if it is none, or a word that prose has, too."""
    if _COMPOUND.fullmatch(name) is None:
        return None
    scoped = ((*scope, name) for scope in _SCOPES)
    operator = (*_OPERATORS, name, "call")
    return next(("::".join(names) for names in (*scoped, operator) if _exported(_made_up(names), knowledge)), None)


def restore_prefix(name: str) -> str | None:
    """The C++ name whose first characters were lost to Markdown or copying: `ZN3c105ErrorC1Ev`, `N2at5emptyEv`."""
    if not _HEADLESS.match(name):
        return None
    whole = f"_{name.lstrip('_')}" if "Z" in name[:2] else f"_Z{name}"
    parsed = parse(whole)
    return whole if parsed is not None and parsed.parameters is not None and len(parsed.scope) > 0 else None


def _mangled(name: str, knowledge: Knowledge, cut_off: bool) -> Spelled | None:
    """A C++ name; if it is invalid or truncated, the exported name with this beginning. None for that of any name."""
    parsed = parse(name)
    if parsed is not None and ((parsed.parameters is not None and not cut_off) or is_known(name, knowledge)):
        return Spelled(name, (name,))
    # Titles and messages truncate names: `_ZN5torch4lazy13MetricFnValueB5cxx11E` for `...B5cxx11Ed`.
    longer: Mapping[str, SymbolHistory] = {}
    if knowledge.releases is not None and (cut_off or parsed is not None or len(name) >= _CUT_LENGTH):
        longer = knowledge.releases.prefix(name, knowledge.machine, _LIMIT)
    if cut_off and len(longer) == _LIMIT:
        return None  # `_ZN3...` is the beginning of thousands of names, each with its own causes
    if longer:
        taken = _one_of(name, dict(sorted(longer.items(), key=lambda item: (len(item[0]), item[0]))), knowledge)
        best = taken.names[0]
        note = f"The name is cut off in the text; it is taken to be {best}."
        if len(longer) > 1:
            note = f"The name is cut off in the text: {len(longer)} exported names begin so; {best} is taken."
        return replace(taken, notes=(note,))
    if parsed is not None:
        return Spelled(name, (name,))
    # A copy may end with characters of the text around the name.
    for end in range(len(name) - 1, max(len(name) - 1 - _STRAY, 2), -1):
        if is_known(name[:end], knowledge):
            note = f"Not a valid mangled name: without {name[end:]} at its end it is, and that name is taken."
            return Spelled(name, (name[:end],), notes=(note,))
    entity = _entity_of_beginning(name)
    if entity is not None and len(entity) > 1:
        note = (
            f"Not a complete mangled name, and no exported name has this beginning, which is that of "
            f"{'::'.join(entity)}. Copy the whole symbol again."
        )
        return Spelled(name, (_made_up(entity),), exact=False, shown=name, notes=(note,))
    note = (
        f"{name[:80]} is not a valid mangled name: it may be truncated, as in many error messages and titles. Copy the "
        f"whole symbol again."
    )
    return Spelled(name, (name,), notes=(note,))


def _one_of(given: str, exported: Mapping[str, SymbolHistory], knowledge: Knowledge) -> Spelled:
    """The first, and likeliest, of the exported names a text may mean; `others`: of other functions or releases."""
    best = min(exported, key=lambda found: _is_there(found, exported[found], knowledge))
    kinds = {(_entity(each), history.exported_in.text()): each for each, history in exported.items()}
    del kinds[_entity(best), exported[best].exported_in.text()]
    others = tuple(
        each for each in kinds.values() if knowledge.exports is None or not _is_there(each, exported[each], knowledge)
    )
    return Spelled(given, (best,), guessed=bool(kinds), others=others)


def _entity(name: str) -> str:
    """The function or variable of an exported name, without its parameters."""
    parsed = parse(name)
    return name if parsed is None else parsed.qualified


def _is_there(name: str, history: SymbolHistory, knowledge: Knowledge) -> bool:
    """Whether the target, or else the newest build, exports a name: then another one is missing."""
    if knowledge.exports is not None:
        return knowledge.exports.library_of(name) is not None
    return history.exports[-1] is not None


def _entity_of_beginning(name: str) -> tuple[str, ...] | None:
    """Scopes and base of a function whose mangled name is complete up to there (`_ZNK2at10TensorBase8data_ptrI`)."""
    begin = _NESTED.match(name)
    if begin is None:
        return None
    parts: list[str] = []
    at = begin.end()
    while (number := _LENGTH.match(name, at)) is not None:
        end = number.end() + int(number[1])
        if end > len(name):
            break
        parts.append(name[number.end() : end])
        at = end
    if parts and name[at : at + 2] in _STRUCTORS:
        parts.append(parts[-1] if name[at] == "C" else f"~{parts[-1]}")
    return tuple(parts) if parts and all(IDENTIFIER.fullmatch(part) for part in parts) else None


def is_known(name: str, knowledge: Knowledge) -> bool:
    if exported_by(name):
        return True
    if knowledge.exports is not None and knowledge.exports.library_of(name) is not None:
        return True
    return knowledge.releases is not None and knowledge.releases.history(name, knowledge.machine) is not None


# --- MSVC -----------------------------------------------------------------------------------------------------------


def _msvc(given: str, knowledge: Knowledge) -> Spelled:
    note = "A name in MSVC's decoration (Windows); undname or llvm-undname reads it."
    entity = read_msvc_name(given)
    if entity is None:
        return Spelled(given, (given,), exact=False, notes=(note,))
    made_up = _made_up(entity.names)
    candidates = _exported(made_up, knowledge) if entity.is_in_linux_builds else []
    names = tuple(candidates[:1]) or (made_up,)
    return Spelled(given, names, exact=False, shown=entity.shown, notes=(note, f"It is {entity.shown}."))


# --- demangled ------------------------------------------------------------------------------------------------------


def _demangled(given: str, knowledge: Knowledge, macos: bool) -> Spelled | None:
    names = qualified_name(given)
    if names is None:
        return None
    made_up = _made_up(names)
    candidates = _exported(made_up, knowledge)
    if not candidates and len(names) > 1 and "(" not in given and given.startswith(names[0]):
        # People leave out the namespace, as source code inside of it does. Programs print it, and the parameters.
        for namespace in _NAMESPACES:
            if found := _exported(_made_up((namespace, *names)), knowledge):
                given, names, candidates = f"{namespace}::{given}", (namespace, *names), found
                made_up = _made_up(names)
                break
    if not candidates and len(names) == 1 and "<" in given:
        # A method alone, as in the call: `const_data_ptr<long>`.
        candidates = _exported(_made_up((*_TENSOR, *names)), knowledge)
        given, names = ("::".join((*_TENSOR, given)), (*_TENSOR, *names)) if candidates else (given, names)
        made_up = _made_up(names)
    inherited = names[:-1] == _DERIVED and not candidates and _exported(_made_up((*_TENSOR, names[-1])), knowledge)
    if inherited and "at::Tensor::" in given:
        base = _demangled(given.replace("at::Tensor::", "::".join((*_TENSOR, ""))), knowledge, macos)
        return None if base is None else replace(base, given=given)
    wanted = comparable(given)
    same = [name for name in candidates if _compares(name, wanted)]
    # Demanglers print the old std::string in short and the C++11 one in full: the spelling in the text decides.
    own = _string_of(given, macos)
    alike = [name for name in same if own is None or string_abi(name) in (own, None)]
    if alike:
        best = min(alike, key=_complete_first)
        notes: tuple[str, ...] = ()
        if len(alike) > 1 and "<" not in given and (parsed := parse(best)) is not None and parsed.template_args:
            return Spelled(
                given, (best,), exact=False, shown=given, notes=(f"{len(alike)} exported functions have this name.",)
            )
        taken = Spelled(given, (best,))
        histories = {
            name: history
            for name in sorted(alike, key=_complete_first)
            if (history := _history(name, knowledge)) is not None
        }
        if "(" not in given and len(histories) > 1 and len(histories) == len(alike):
            # Without parameters it may be each of the overloads, of which releases export different ones.
            one = _one_of(given, histories, knowledge)
            taken = one if one.guessed else taken
        if len(alike) > 1:
            notes = (f"The text fits {len(alike)} exported names; this is {taken.names[0]}.",)
        return replace(taken, notes=notes)
    if same and own is not None:
        meant = min(same, key=_complete_first)
        spelt = respelled(meant, own, lambda name: _compares(name, wanted))
        if spelt is not None:
            return Spelled(given, (spelt,), macos=own == "libc++")
    note = "No export of a known build reads so."
    if candidates:
        note += (
            f" {len(candidates)} exported name{'s' if len(candidates) > 1 else ''} of {'::'.join(names)} "
            f"differ in parameters or arguments."
        )
    return Spelled(given, (made_up,), exact=False, shown=given, notes=(note,))


def _history(name: str, knowledge: Knowledge) -> SymbolHistory | None:
    return None if knowledge.releases is None else knowledge.releases.history(name, knowledge.machine)


def _complete_first(name: str) -> tuple[bool, str]:
    return "C2E" in name, name


def _string_of(text: str, macos: bool) -> Abi | None:
    """The std::string of a demangled text; None if it has none."""
    if "std::__cxx11::" in text:
        return "new"
    if "std::__1::basic_string" not in text and "std::string" not in text and "std::basic_string<char," not in text:
        return None
    return "libc++" if macos or "std::__1::" in text else "old"


def _compares(name: str, wanted: str) -> bool:
    parsed = parse(name)
    if parsed is None:
        return False
    shown = comparable(parsed.display)
    signature = comparable(parsed.signature)
    # With or without a return type, parameters and const; data and names without parameters unchanged.
    without_const = signature.removesuffix("const")
    return wanted in (shown, signature, without_const, before_parameters(signature), comparable(parsed.qualified))


def _length(part: str) -> int:
    return len(part.encode("utf-8", "surrogateescape"))


def _made_up(names: tuple[str, ...]) -> str:
    """A mangled name of this entity without parameters: for searches only, it does not exist."""
    *scope, base = names
    if base.startswith("~"):
        end = "D1"
    elif scope and scope[-1] == base:
        end = "C1"
    else:
        end = f"{_length(base)}{base}"
    encoded = "".join(f"{_length(part)}{part}" if part != "std" else "St" for part in scope)
    return f"_ZN{encoded}{end}Ev" if scope else f"_Z{end}v"


def _exported(made_up: str, knowledge: Knowledge) -> list[str]:
    """Exported names of the entity, in the index and the target, including data and class data."""
    parsed = parse(made_up)
    if parsed is None:
        return []
    found: dict[str, None] = {}
    prefixes = list(search_prefixes(parsed))
    prefixes.extend(f"{special}{made_up[2:-1]}" for special in ("_ZTV", "_ZTI", "_ZTS"))
    for prefix in prefixes:
        if knowledge.exports is not None and knowledge.exact:
            found.update(dict.fromkeys(knowledge.exports.with_prefix(prefix, _LIMIT)))
        if knowledge.releases is not None:
            found.update(dict.fromkeys(knowledge.releases.prefix(prefix, knowledge.machine, _LIMIT)))
    return [name for name in found if _is_entity(name, parsed)]


def _is_entity(name: str, wanted: CxxName) -> bool:
    parsed = parse(name)
    return parsed is not None and parsed.qualified == wanted.qualified
