"""cxx11-abi-mismatch: the same function is exported with the other std::string ABI.

libstdc++ has two std::string classes; `_GLIBCXX_USE_CXX11_ABI` selects one for each compilation
(https://gcc.gnu.org/onlinedocs/libstdc++/manual/using_dual_abi.html)."""

from __future__ import annotations

import re
from functools import partial

from abiscan.diagnosis.fixes import extension_fixes, torch_commands, torch_fixes
from abiscan.diagnosis.fixes.libtorch_programs import find_linked_program, find_program, use_libtorch
from abiscan.diagnosis.fixes.package_commands import find_package
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.related_exports import RelatedExport
from abiscan.diagnosis.release_position import Position
from abiscan.diagnosis.target_string_abi import (
    is_before_new_string,
    is_stated_unlike_release,
    is_unlike_its_release,
    last_release_with_old_string,
    may_be_another_build,
    may_have_new_string,
)
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.mangling import DifferenceKind, string_abi
from abiscan.model import versions
from abiscan.model.cause import CauseId
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership import torch_names
from abiscan.ownership.vendors import is_header_only, library_of_namespace

_WORDS = {"old": "the old std::string", "new": "the new std::string (std::__cxx11)"}
# Before a missing link and the import order, which would show with any symbol and rarely with a string first; after
# another release than the stated one (`built_for`).
_ANOTHER_BUILD = 0.725
# After another release than the target's, which also lacks the counterpart.
_OF_ANOTHER_RELEASE = 0.81
# Functions without a std::string are missing, too.
_BESIDE_UNLINKED = 0.6
# A source build most likely has the new one.
_OF_ITS_VERSION = 0.65


def causes(missing: MissingName) -> Candidates:
    """A counterpart of the symbol in the other ABI, in the target or in some release."""
    if missing.macho and missing.is_torch_name and _is_of_libstdcxx(missing):
        yield from row_causes("class-of-libstdcxx-on-macos", missing)
    if missing.cxx is None or missing.macho or missing.reference.msvc:
        # libc++ (macOS) and Microsoft's library have one std::string and no such macro.
        return
    if missing.reference.spelled_as:
        yield from _demangled_name(missing, missing.reference.spelled_as)
        return
    marked = _has_mark(missing.name)
    forms = missing.find_related(None if marked else lambda name, _history: _has_mark(name))
    counterparts = [form for form in forms if form.same_function and _flips(missing, form)]
    mine = _abi_of(missing, counterparts)
    if mine is None:
        return
    if not counterparts:
        yield from _without_counterpart(missing, mine)
        return
    from_source, unlike = may_have_new_string(missing), mine == "new" and is_stated_unlike_release(missing)
    # The target is not the build that the index has of its release.
    here = [] if from_source or unlike else [form for form in counterparts if form.in_target]
    score, evidence = (
        (0.95, _exported_with_other(missing, mine, here[0], missing.target_label))
        if here
        else _elsewhere(missing, mine, counterparts[0], from_source=from_source)
    )
    abi, form = missing.knowledge.target_cxx11_abi, ""
    if abi is None and missing.reference.link_time and missing.log.torch_is_not_linked:
        score = min(score, _BESIDE_UNLINKED)
    if abi is not None:
        agrees = abi == (mine == "new")
        form = "other-build" if agrees else ""
        score, sentence = _by_target_abi(missing, mine, score, agrees=agrees)
        evidence = (*evidence, sentence)
        if missing.position in (Position.BEFORE, Position.AFTER) and all(f.in_target is False for f in counterparts):
            # Its releases export it with neither std::string: a torch that does is the more complete cause.
            score = min(score, _OF_ANOTHER_RELEASE)
    elif missing.target is not None and missing.position is Position.INSIDE and not from_source:
        score = min(score, 0.7)
        release = missing.target.version
        evidence = (*evidence, f"Release builds of torch {release} export this symbol; this build may not.")
    fix = partial(_load_stated, missing) if unlike else partial(_fix, missing, mine)
    yield Candidate(CauseId.CXX11_ABI_MISMATCH, score, evidence, fix, form)


def _load_stated(missing: MissingName) -> str:
    """How the torch that the text or `--torch` names is loaded, and no other build of its release."""
    target = missing.target
    again = ""
    if target is not None:
        found = torch_commands.find_torch(target.version, missing, variant=target.variant)
        if found is not None and found[1] == target.variant:
            again = f"\npip install --force-reinstall {found[0]}  # {missing.target_label}"
    return (
        "python -c 'import torch; print(torch.__version__, torch.__file__, torch.compiled_with_cxx11_abi())'  # with "
        f"the Python that fails; False: another build is loaded{again}"
    )


def _exported_with_other(missing: MissingName, mine: str, counterpart: RelatedExport, where: str) -> tuple[str, ...]:
    return (
        f"The file imports {missing.shown} with {_WORDS[mine]}; {where} exports it with {_WORDS[_other(mine)]}.",
        f"Exported symbol: {counterpart.name}",
    )


def _other(abi: str) -> str:
    return "old" if abi == "new" else "new"


def _elsewhere(
    missing: MissingName, mine: str, counterpart: RelatedExport, *, from_source: bool
) -> tuple[float, tuple[str, ...]]:
    """Score and evidence if other builds than the target export the counterpart."""
    evidence = _exported_with_other(missing, mine, counterpart, f"torch {counterpart.where}")
    target = missing.target
    if missing.knowledge.target_is_before_index and _is_older_counterpart(missing, counterpart):
        older = (
            f"{missing.target_label} is older than the index: all known releases up to {counterpart.exported_in.last} "
            f"have that form, so it has it too."
        )
        return 0.88, (*evidence, older)
    if from_source:
        return _from_source(missing, mine, counterpart)
    if (
        target is not None
        and counterpart.in_target is False
        and missing.target_library is None
        and target.cxx11_abi is not (mine == "old")
    ):
        return 0.55, (*evidence, f"{missing.target_label} exports neither form.")
    if target is None and not missing.exported_in:
        return 0.75, (*evidence, "No known build exports the form that the file imports.")
    return 0.75, evidence


def _from_source(missing: MissingName, mine: str, counterpart: RelatedExport) -> tuple[float, tuple[str, ...]]:
    """Score and evidence for a source build, which most likely has the C++11 ABI."""
    score = 0.86 if mine == "old" else 0.4
    imported, built = f"The file imports {missing.shown} with {_WORDS[mine]}.", _source_build_text(missing)
    last = last_release_with_old_string(missing)
    if mine == "old" and last:
        return score, (imported, built, f"torch wheels on PyPI up to {last} use the old std::string.")
    if missing.target is not None and counterpart.exported_in.contains(missing.target.version):
        released = f"Releases of its version export it with {_WORDS[_other(mine)]}."
        return _OF_ITS_VERSION, (built, imported, released)
    return score, (imported, built)


def _by_target_abi(missing: MissingName, mine: str, score: float, *, agrees: bool) -> tuple[float, str]:
    """The score and a sentence, from the std::string of the target: that of the file, or the other."""
    if agrees and may_be_another_build(missing, mine):
        return _ANOTHER_BUILD, _another_build_text(missing)
    if agrees and mine == "new" and score > _ANOTHER_BUILD and is_stated_unlike_release(missing):
        return _ANOTHER_BUILD, (
            f"{missing.target_label} is built with {_WORDS[mine]}, unlike the build of that release on PyPI: the "
            f"loaded torch is that one, or the file was built for a later release."
        )
    if agrees:
        return min(score, 0.3), f"Against it: {missing.target_label} is also built with {_WORDS[mine]}."
    sentence = (
        f"{missing.target_label} is built with {_WORDS[_other(mine)]} and exports no torch symbol with the other "
        f"std::string."
    )
    return score if missing.knowledge.exact else 0.93, sentence


# Classes that libc++ has in std::__1 (`NSt3__1...`).
_OF_LIBSTDCXX = (
    r"St(?:10unique_ptr|10shared_ptr|8functionI|6vectorI|4pairI|5tupleI|8optionalI|13unordered_map|3mapI|4listI)"
    r"|NSt7__cxx11|_Z\w{1,512}(?:Ss|RKSs)"
)


# ld64 prints names of libc++ with `std::__1::`.
_DEMANGLED = r"\bstd::(?:[io]?stream\b|(?:unique_ptr|shared_ptr|optional|vector|function|tuple|unordered_map)<)"


def _is_of_libstdcxx(missing: MissingName) -> bool:
    demangled = re.search(_DEMANGLED, missing.reference.spelled_as)
    return demangled is not None or re.search(_OF_LIBSTDCXX, missing.name) is not None


def _demangled_name(missing: MissingName, text: str) -> Candidates:
    """A demangled name that no build exports in this form: demanglers print the old class as std::string, the C++11 one
    in full."""
    if "__cxx11" in text:
        mine = "new"
    elif "std::string" in text or "std::basic_string<char" in text:
        mine = "old"
    else:
        if text.startswith("_Z"):
            yield from _cut_off_name(missing)
        return
    other = "old" if mine == "new" else "new"
    counterparts = [form for form in missing.related if string_abi(form.name) == other]
    if not missing.is_torch_name:
        yield from _without_counterpart(missing, mine)
        return
    abi = missing.knowledge.target_cxx11_abi
    if abi is not None and abi == (mine == "new"):
        return
    evidence = [f"The file imports {missing.shown} with {_WORDS[mine]}."]
    score = 0.9 if abi is not None else 0.64
    if counterparts:
        counterpart = counterparts[0]
        evidence.append(
            f"torch {counterpart.where} exports {counterpart.parsed.qualified} with {_WORDS[other]}: "
            f"{counterpart.parsed.display[:200]}."
        )
        score = max(score, 0.68)
    if abi is not None:
        evidence.append(f"{missing.target_label} is built with {_WORDS[other]}.")
    else:
        evidence.append("Check the std::string ABI of your torch: torch.compiled_with_cxx11_abi().")
    yield Candidate(CauseId.CXX11_ABI_MISMATCH, score, tuple(evidence), partial(_fix, missing, mine))


def _cut_off_name(missing: MissingName) -> Candidates:
    """A name without its parameters, of a function whose known forms all have a std::string."""
    forms = [form for form in missing.related if form.in_target] or missing.related
    if not missing.is_torch_name or not forms or any(string_abi(form.name) is None for form in forms):
        return
    abi = missing.knowledge.target_cxx11_abi
    evidence = [
        f"The symbol is truncated: its parameters are missing. Every known form of "
        f"{missing.related[0].parsed.qualified} takes a std::string, which has two ABIs."
    ]
    if abi is not None:
        evidence.append(f"{missing.target_label} is built with {_WORDS['new' if abi else 'old']}.")
    fix = extension_fixes.rebuild(missing) if abi is None else _fix(missing, "old" if abi else "new")
    yield Candidate(CauseId.CXX11_ABI_MISMATCH, 0.66, tuple(evidence), fix)


def _has_mark(mangled: str) -> bool:
    """Whether a name may have the C++11 std::string or an ABI tag; of two names in different ABIs, one does."""
    return "cxx11" in mangled or re.search(_TAG, mangled) is not None


# <abi-tag> is B and a <source-name>.
_TAG = r"B\d"


def _flips(missing: MissingName, form: RelatedExport) -> bool:
    """Whether this is the symbol in the other ABI, not another spelling in the same one."""
    if DifferenceKind.STRING_ABI in form.kinds:
        return True
    # A function that returns a string has the ABI only as a tag. A tag alone proves nothing, but no build exports both:
    # each has one std::string.
    if DifferenceKind.ABI_TAG not in form.kinds:
        return False
    mine = set() if missing.history is None else {build.key for build in missing.history.exporting_builds}
    releases = missing.knowledge.releases
    theirs = None if releases is None else releases.history(form.name, missing.knowledge.machine)
    return theirs is None or mine.isdisjoint(build.key for build in theirs.exporting_builds)


def _is_older_counterpart(missing: MissingName, counterpart: RelatedExport) -> bool:
    """Whether the counterpart is exported from the first known release on, and the symbol itself only later."""
    theirs = counterpart.exported_in
    return bool(theirs) and theirs.first == missing.known_versions[0] and not missing.in_oldest_known


def _abi_of(missing: MissingName, counterparts: list[RelatedExport]) -> str | None:
    """The ABI of the symbol: from its types, or from the tag that distinguishes it from its counterpart."""
    abi = string_abi(missing.name)
    if abi is not None:
        return abi
    if counterparts or (missing.parsed.has_cxx11_tag and not missing.is_torch_name):
        return "new" if missing.parsed.has_cxx11_tag else "old"
    return None


def _without_counterpart(missing: MissingName, mine: str) -> Candidates:
    """A symbol with a std::string and no known counterpart: of another library, or of a torch before the index."""
    found = _of_torch(missing, mine) if missing.is_torch_name else _of_library(missing, mine)
    if found is not None:
        score, *reasons = found
        evidence = (f"{missing.shown} uses {_WORDS[mine]}.", *reasons)
        yield Candidate(CauseId.CXX11_ABI_MISMATCH, score, evidence, partial(_fix, missing, mine))


_NO_OTHER_FORM = "No known release exports the function with the other std::string either."


def _of_torch(missing: MissingName, mine: str) -> tuple[float, *tuple[str, ...]] | None:
    """The score of a torch symbol, and the evidence; None if its std::string is no reason."""
    abi = missing.knowledge.target_cxx11_abi
    may_be_old = missing.target is None or is_before_new_string(missing)
    if abi is None and mine == "new" and not missing.exported_in and may_be_old:
        old = "torch wheels on PyPI use the old std::string up to 2.6.0: none of them exports this symbol."
        return 0.68 if missing.target is None else 0.8, old, _NO_OTHER_FORM
    if may_be_another_build(missing, mine):
        return _ANOTHER_BUILD, _another_build_text(missing)
    if abi is None and mine == "old" and missing.target is None and missing.exported_in:
        # A symbol that disappeared while all wheels had the old ABI has another reason. A linker has the library of the
        # same headers.
        score = 0.59 if missing.exported_in.contains(last_release_with_old_string(missing)) else 0.55
        return (
            0.68 if missing.reference.link_time else score,
            missing.exported_text,
            "Your torch may use the new std::string, as PyPI wheels do since 2.7.0 and conda-forge and NVIDIA images "
            "also before: the file was built for another build.",
        )
    if (
        abi is None
        and mine == "old"
        and missing.knowledge.target_is_before_index
        and (missing.in_oldest_known or not missing.exported_in)
    ):
        return (
            0.57 if missing.exported_in else 0.54,
            missing.exported_text,
            f"{missing.target_label} is older than the index: if it exports the function, it uses the other "
            f"std::string, as torch from conda-forge and NVIDIA images does.",
        )
    if mine == "old" and may_have_new_string(missing):
        return 0.74, _source_build_text(missing)
    if abi is None or abi == (mine == "new"):
        return None
    other = f"{missing.target_label} is built with the other std::string, so it does not export this symbol."
    return 0.86 if is_unlike_its_release(missing) else 0.78, other, _NO_OTHER_FORM


def _of_library(missing: MissingName, mine: str) -> tuple[float, *tuple[str, ...]] | None:
    """The same of a symbol of another library."""
    # Distributions compile with the C++11 string since GCC 5; the old one comes from a flag, usually that of torch.
    torch_types = any(f"{scope}::" in missing.parsed.signature for scope in torch_names.NAMESPACES)
    defines_itself = missing.namespace == "std" or is_header_only(missing.namespace)
    if defines_itself or missing.file.is_torch_itself or torch_types:
        return None
    # An unknown library is more often missing, or another release, than built with the other ABI. For a function of the
    # extension's own library with the old ABI, a missing source is more frequent.
    is_known = bool(library_of_namespace(missing.namespace)) or missing.file.facts is not None
    score = (0.87 if is_known else 0.74) if mine == "old" else 0.62 if library_of_namespace(missing.namespace) else 0.56
    evidence = [
        f"The symbol is not from a torch library. A library that was compiled with "
        f"{_WORDS['new' if mine == 'old' else 'old']} exports only the other form."
    ]
    if mine == "old" and (last := last_release_with_old_string(missing)):
        evidence.append(
            f"torch wheels up to {last} pass -D_GLIBCXX_USE_CXX11_ABI=0 to the extensions that are built with them."
        )
    abi = missing.knowledge.target_cxx11_abi
    if mine == "new" and abi is False and missing.file.facts is None:
        score = 0.7
        evidence.append(
            f"{missing.target_label} is built with {_WORDS['old']}, and so is a library that was built with this torch."
        )
    if torch_names.is_plugin_namespace(missing.namespace or ""):
        score = 0.52
        evidence.append(
            f"Against it: namespace {missing.namespace} looks like a plug-in or an extension of torch; another release "
            f"of that package is equally likely."
        )
    return score, *evidence


def _another_build_text(missing: MissingName) -> str:
    assert missing.target is not None
    exported = (
        f"torch {missing.target.version} exports it"
        if versions.is_release(missing.target.version)
        else f"Releases near {missing.target.version} export it"
    )
    return f"{exported}; a build with the new std::string (conda-forge, NVIDIA, from source) does not."


def _source_build_text(missing: MissingName) -> str:
    return (
        f"{missing.target_label} is built from source: it uses the new std::string unless it was compiled with "
        f"-D_GLIBCXX_USE_CXX11_ABI=0."
    )


def _fix(missing: MissingName, mine: str) -> str:
    flag = "-D_GLIBCXX_USE_CXX11_ABI=" + ("0" if mine == "new" else "1")
    if not missing.is_torch_name:
        text = f"Rebuild the caller with {flag}, or rebuild the library with the other value."
        # Distributions have libraries with the new class: the caller has the old one for a torch that needs it.
        if mine == "new":
            return text
        if (linked := find_linked_program(missing)) is not None:
            other = use_libtorch(missing, linked, ReleaseRanges(), new_string=True)
            return (
                "If it uses libtorch: an archive without cxx11-abi in its name, and the torch of pip up to 2.6, add "
                f"-D_GLIBCXX_USE_CXX11_ABI=0 to all that is compiled with them.\n{other}\n"
                f"If it does not use libtorch: {text[0].lower()}{text[1:]}"
            )
        return (
            f"If the caller is an extension of torch, which takes the std::string of torch: build the library with "
            f"-D_GLIBCXX_USE_CXX11_ABI=0 (CMake: -DCMAKE_CXX_FLAGS=-D_GLIBCXX_USE_CXX11_ABI=0), and link that one\n"
            f"or use a torch with the new std::string (wheels since 2.7, libtorch-cxx11-abi-... up to 2.6), and build "
            f"the extension again\nIf it does not use torch: {text[0].lower()}{text[1:]}"
        )
    program = find_program(missing)
    if program is not None and (program.abi or not missing.reference.link_time):
        ranges = missing.knowledge.loads_on or ReleaseRanges()
        return use_libtorch(missing, program, ranges, new_string=mine == "new")
    if missing.reference.link_time:
        return (
            f"Compile everything that is linked with {flag}, as this torch (CMake: set(CMAKE_CXX_FLAGS "
            '"${CMAKE_CXX_FLAGS} ${TORCH_CXX_FLAGS}") takes it from torch), or link the libtorch with the other ABI.'
        )
    wheel = "cxx11abiFALSE" if mine == "new" else "cxx11abiTRUE"
    ways = torch_fixes.rebuild_or_install(missing, missing.knowledge.loads_on or ReleaseRanges())
    if find_package(missing) is not None:
        unknown = missing.target is None and missing.exported_in
        return torch_fixes.by_release(missing, unknown, ways) if unknown else ways
    compilers = torch_fixes.with_new_string(missing)
    text = f"{ways}\nor: Build it with {flag}" + (f", {compilers}" if compilers else "")
    if missing.knowledge.target_from_source:
        return text
    if missing.target is not None:
        text += f"\nor: Install the wheel for torch {versions.minor(missing.target.version)}"
    else:
        text += "\nor: Install the wheel"
    return f"{text} with {wheel} in its name, if the project publishes one"
