"""Every sentence that a diagnosis prints about a file, and its condition.

A row is a sentence with named fields. The value of a field is compared with oracles (`FIELDS`); the row adds the
condition of the sentence (`holds`)."""

from __future__ import annotations

import gzip
import importlib.metadata
import os
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

from abiscan.data import data_file
from abiscan.diagnosis.causes.inlined_calls import inlined_calls
from abiscan.environment.python_names import exported_by, known_versions
from abiscan.model import versions
from abiscan.model.cause import CauseGroup, CauseId, Confidence
from abiscan.ownership.names import is_python_name
from abiscan.ownership.torch_names import ACCELERATOR_LIBRARIES, SHIM_PREFIXES, is_torch_library
from abiscan.ownership.vendors import vendor_of, vendor_of_library
from tests.diagnosis.oracles import Case, demangled, qualified, spans
from tests.releases.test_pythons import WHEELS

_TORCH = r"torch \S+?(?: \([^)]*\))?|the installed torch(?: \([^)]*\))?"
_SPANS = r"\d[\w.]*(?:-\d[\w.]*)?(?:(?:, | and )\d[\w.]*(?:-\d[\w.]*)?)*"
_VERSION = r"\d(?:[\w.]*\w)?"
# The form of fields that are not any text.
SHAPES: Mapping[str, str] = {
    **dict.fromkeys(("label",), _TORCH),
    **dict.fromkeys(("ranges", "other"), _SPANS),
    **dict.fromkeys(("first", "last", "release", "version", "before", "after", "torch"), _VERSION),
    **dict.fromkeys(("first_of", "last_of"), _VERSION),
    **dict.fromkeys(("soname", "library", "asked", "deep"), r"[^\s,]+"),
    **dict.fromkeys(("mangled", "twin"), r".+"),
    "count": r"\d+",
    "places": rf"{_SPANS} in \S+ and .+",
    "where": rf"{_TORCH}|torch {_SPANS}|torch this torch",
    "shown": r".+",
    "mine": r"the (?:old std::string|new std::string \(std::__cxx11\))",
    "theirs": r"the (?:old std::string|new std::string \(std::__cxx11\))",
    "gpu": r"CUDA|ROCm|XPU",
    "scope": r"namespace(?: or class)?",
}


def _is_shown(case: Case, text: str) -> bool:
    """Whether a text is the readable name: the last word of its qualified name is in GNU's text."""
    if text in (case.name, case.bound.demangled if case.bound is not None else None):
        return True
    head = re.split(r"[(<\[]", text.replace("(anonymous namespace)", ""))[0]
    words = re.findall(r"~?\w+", head)
    return bool(words) and words[-1] in case.demangled


FIELDS: Mapping[str, Callable[[Case, str], bool]] = {
    "label": lambda case, text: text == case.label,
    "ranges": lambda case, text: spans(text, case.known) == case.exported_in(case.name),
    "first": lambda case, text: text == case.known[0],
    "last": lambda case, text: text == case.known[-1],
    "torch": lambda case, text: text == case.torch,
    "shown": _is_shown,
    "mangled": lambda case, text: text == case.name,
    "needed": lambda case, text: text == ", ".join(case.file.needed),
    "soname": lambda case, text: text in case.file.needed or text in (n.rpartition("/")[2] for n in case.file.needed),
    "twin": lambda case, text: text != case.name and bool(case.exported_in(text) or case.has(text)),
    "base": lambda case, text: text == case.base,
}

Fields = Mapping[str, str]


class Sentence(Struct, frozen=True):
    """A sentence and its condition, besides the values of its fields.

    Attributes:
        needs: the torch or machine that would show it, if no fixture does.
    """

    says: str
    holds: Callable[[Case, Fields], bool] = lambda _case, _fields: True
    needs: str = ""

    @property
    def pattern(self) -> re.Pattern[str]:
        """A pattern for the whole sentence."""
        return _pattern(self.says)


@cache
def _pattern(says: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", says)
    text = "".join(
        f"(?P<{part}>{SHAPES.get(part, '.+')})" if at % 2 else re.escape(part) for at, part in enumerate(parts)
    )
    return re.compile(text, re.DOTALL)


# --- conditions -----------------------------------------------------------------------------------------------------


def _order(version: str) -> tuple[int, ...]:
    found = versions.order(version)
    assert found is not None, version
    return found


def _newest_exporter(case: Case, fields: Fields) -> bool:
    """The library of the newest build that exports the name."""
    history = case.history(case.name)
    assert history is not None
    newest = next(export for export in reversed(history.exports) if export is not None)
    return fields["library"] in newest.libraries


def _exporter_of_each_range(case: Case, fields: Fields) -> bool:
    """`1.1.0-1.11.0 in libc10.so and 2.9.0 in libtorch_cpu.so`: of each range the library in its newest release."""
    history = case.history(case.name)
    assert history is not None
    told: set[str] = set()
    for span, library in re.findall(rf"({_SPANS}) in (\S+)(?: and |$)", fields["places"]):
        releases = spans(span, case.known)
        last = max(releases, key=_order)
        of_last = [e for b, e in zip(history.builds, history.exports, strict=True) if b.torch == last and e is not None]
        if not any(library in export.libraries for export in of_last):
            return False
        told |= releases
    return told == case.exported_in(case.name)


def _all_after(case: Case, since: str) -> bool:
    return since == min(case.exported_in(case.name), key=_order) and _order(case.torch) < _order(since)


def _all_before(case: Case, until: str) -> bool:
    return until == max(case.exported_in(case.name), key=_order) and _order(case.torch) > _order(until)


def _in_gap(case: Case, fields: Fields) -> bool:
    exported = case.exported_in(case.name)
    older = [v for v in exported if _order(v) < _order(case.torch)]
    newer = [v for v in exported if _order(v) > _order(case.torch)]
    return fields["before"] == max(older, key=_order) and fields["after"] == min(newer, key=_order)


def _other_forms(case: Case, fields: Fields) -> bool:
    """Each release in the sentence exports some name of this qualified name, and not the missing one."""
    text = fields["other"]
    named = spans(text, case.known)
    forms = case.forms(fields["qualified"]) - {case.name}
    exported = {version for form in forms for version in case.exported_in(form)}
    return bool(forms) and named <= exported and not case.exported_in(case.name)


def _nothing_alike(case: Case, _fields: Fields) -> bool:
    """No build exports the name in any form."""
    if not case.name.startswith("_Z"):
        return not case.exported_in(case.name)
    wanted = case.qualified
    return not any(qualified(demangled(form)) == wanted for form in case.forms(wanted)) and not case.exported_in(
        case.name
    )


def _twin_exported(case: Case, fields: Fields) -> bool:
    """If the sentence states that another form is exported, some form is."""
    where = fields["where"]
    names = case.alike
    if where == case.label:
        return any(case.has(name) for name in names)
    named = spans(where.removeprefix("torch "), case.known)
    return any(named == case.exported_in(name) for name in names)


def _string_of(name: str) -> str:
    """The std::string of a name, by libstdc++'s own mark (`__cxx11`, `[abi:cxx11]`)."""
    return "new" if "__cxx11" in name or "B5cxx11" in name else "old"


def _other_string(case: Case, fields: Fields) -> bool:
    mine = _string_of(case.name)
    return mine in fields["mine"] and mine not in fields["theirs"] and _twin_exported(case, fields)


def _target_string(case: Case, words: str) -> bool:
    target = case.report.torch_build
    return (
        target is not None
        and target.cxx11_abi is not None
        and words.startswith("the new" if target.cxx11_abi else "the old")
    )


def _lives_in(case: Case, fields: Fields) -> bool:
    """The newest build that exports it has it in libraries for that GPU, and every build with the library is for it."""
    history = case.history(case.name)
    assert history is not None
    libraries = set(next(export.libraries for export in reversed(history.exports) if export is not None))
    gpu = {"CUDA": "cuda", "ROCm": "hip"}[fields["gpu"]]
    builds = [build for build in case.builds if build.ships(fields["library"])]
    return (
        fields["library"] in libraries
        and libraries <= ACCELERATOR_LIBRARIES.keys()
        and all(getattr(build, gpu) is not None for build in builds)
    )


def _nobodys(case: Case, _fields: Fields) -> bool:
    """No release and no CPython exports it, and it does not have the form of a known library."""
    name = case.name
    return not (case.exported_in(name) or exported_by(name) or vendor_of(name) or is_python_name(name))


def _namespace(case: Case) -> str:
    return case.qualified.partition("::")[0] if "::" in case.qualified else ""


def _own_namespace(case: Case, _fields: Fields) -> bool:
    """The file defines a name in the same outermost namespace."""
    scope = _namespace(case)
    encoded = f"{len(scope)}{scope}"
    return bool(scope) and any(re.match(rf"_Z\w{{0,2}}N[KrV]*{encoded}", name) for name in case.file.exports)


def _shared_word(case: Case, fields: Fields) -> bool:
    words = re.findall(r"[a-z]{3,}|\d{3,}", fields["namespace"].lower())
    return any(word in case.base for word in words)


def _not_needed(case: Case, fields: Fields) -> bool:
    return fields["library"] not in case.file.needed


def _in_target(case: Case, fields: Fields) -> bool:
    return fields["library"] in case.has(case.name)


def _shipped(case: Case, fields: Fields) -> bool:
    """The releases in the sentence are those that ship one of the missing torch libraries."""
    named = spans(fields["other"], case.known)
    return any(named == {build.torch for build in case.builds if build.ships(need)} for need in _torch_libraries(case))


def _torch_libraries(case: Case) -> list[str]:
    return [need.rpartition("/")[2] for need in case.file.needed if is_torch_library(need)]


def _no_such_build(case: Case, fields: Fields) -> bool:
    target = case.report.torch_build
    assert target is not None
    is_one = {"CUDA": target.cuda, "ROCm": target.hip}.get(fields["gpu"]) is not None
    return not is_one and any(need not in case.ships for need in _torch_libraries(case))


def _not_found(case: Case, fields: Fields) -> bool:
    """It is a needed library that no search found, neither here nor in the release and the package."""
    return case.lacks(fields["soname"])


def _brought_by_nobody(case: Case, fields: Fields) -> bool:
    return not case.installed and _not_found(case, fields) and fields["soname"] not in case.ships | case.brings


def _same_library(case: Case, fields: Fields) -> bool:
    mine, theirs = vendor_of_library(fields["soname"]), vendor_of_library(fields["library"])
    return _brought_by_nobody(case, fields) and mine is theirs and fields["library"] in case.brings


def _of_vendor(case: Case, fields: Fields) -> bool:
    found = {vendor.product for soname in case.lacking if (vendor := vendor_of_library(soname)) is not None}
    return any(fields["product"] in (product, f"{product}.".rstrip(".")) for product in found)


def _vendor_version(case: Case, fields: Fields) -> bool:
    return _of_vendor(case, fields) and any(f".so.{fields['version']}" in soname for soname in case.lacking)


@cache
def _cuda_lines() -> tuple[str, ...]:
    return tuple(gzip.decompress(Path(data_file("cuda_exports.txt.gz")).read_bytes()).decode("ascii").split("\n"))


@cache
def _cuda_table() -> Mapping[str, tuple[tuple[str, ...], Mapping[str, int]]]:
    """Library -> its releases, and its names with the releases that have them (`tools/build_cuda_exports.py`)."""
    found: dict[str, tuple[tuple[str, ...], dict[str, int]]] = {}
    for line in _cuda_lines():
        library, colon, releases = line.partition(": ")
        if colon and library != "cuda":
            found[library] = (tuple(releases.split()), {})
            of = found[library][1]
        elif not colon:
            bits, name = line.split(" ")
            of[name] = int(bits, 16)
    return found


def _library_of(name: str) -> str:
    vendor = vendor_of(name)
    assert vendor is not None
    return vendor.library


def _in_cuda_table(name: str, fields: Fields) -> set[str] | None:
    """The releases with a name; None if the sentence names others than those that were read."""
    releases, names = _cuda_table()[_library_of(name)]
    if (fields["first_of"], fields["last_of"]) != (releases[0], releases[-1]):
        return None
    return {release for at, release in enumerate(releases) if names.get(name, 0) >> at & 1}


def _belongs(case: Case, fields: Fields) -> bool:
    reference = case.file.imports.get(case.name)
    vendor = (vendor_of_library(reference[0]) if reference else None) or vendor_of(case.name)
    return vendor is not None and vendor.product == fields["product"]


def _installed_packages(_case: Case, fields: Fields) -> bool:
    return all(
        importlib.metadata.version(name) == version
        for name, _, version in (each.partition(" ") for each in fields["packages"].split(", "))
    )


def _paths_are_there(_case: Case, fields: Fields) -> bool:
    return all(os.path.exists(path) for path in fields["paths"].split(", "))


def _revision(case: Case) -> str | None:
    return next((b.git_revision for b in case.builds if b.torch == case.torch and b.git_revision), None)


def _target_revision(case: Case) -> str:
    target = case.report.torch_build
    return (target.git_revision or "") if target is not None else ""


def _pythons(text: str) -> set[str]:
    known = [str(version) for version in known_versions()]
    parts = text.split(", not ")
    found: set[str] = set()
    for part in parts[0].split(", "):
        first, _, last = part.partition("-")
        same = [each for each in known if each.endswith("t") == first.endswith("t")]
        found.update(same[same.index(first) : same.index(last or first) + 1])
    return found


def _pythons_exporting(case: Case, fields: Fields) -> bool:
    exporting = {str(version) for version in exported_by(case.name)}
    return {v for v in exporting if not v.endswith("t")} == {v for v in _pythons(fields["pythons"]) if v[-1] != "t"}


def _is_this_python(case: Case, fields: Fields) -> bool:
    return case.installed and case.sight.python == tuple(map(int, fields["python"].split(".")))


def _lacks_python_name(case: Case, fields: Fields) -> bool:
    return not any(str(version) == fields["python"] for version in exported_by(case.name))


def _setting_lacks(case: Case, fields: Fields) -> bool:
    """The target environment has these CPythons, or names none and torch has wheels for them, and some of them do not
    export the name."""
    setting = case.report.target
    stated = None if setting is None else setting.python
    lacking = _pythons(fields["lacking"])
    exporting = {str(version) for version in exported_by(case.name)}
    if stated is not None:
        said = stated.detected_from == fields["because"]
    else:
        torch = setting.torch.value.partition("+")[0] if setting is not None and setting.torch is not None else ""
        said = fields["because"] == "none is declared; installers use these"
        said = said and _pythons(fields["pythons"]) == set(WHEELS[torch])
    return said and bool(lacking) and lacking <= _pythons(fields["pythons"]) and not lacking & exporting


def _inlined(case: Case, fields: Fields) -> bool:
    """A row of the table, which tests/diagnosis/test_inlined_calls.py compares with torch's headers, or an operator."""
    entity = case.qualified
    if entity.startswith("at::_ops::"):
        return fields.get("header", "ATen/ops") == "ATen/ops"
    rows = [row for row in inlined_calls() if row.entity in (entity, case.name)]
    return any(fields.get("header", row.header) == row.header for row in rows) and any(
        fields.get("call", row.called_by) == row.called_by for row in rows
    )


def _version_asked(case: Case, fields: Fields) -> bool:
    reference = case.file.imports.get(case.name)
    return reference is not None and reference[1] == fields["asked"]


def _template_declared(case: Case, fields: Fields) -> bool:
    return "Tn" in case.name and ("sr4__T" in case.name) == (fields["who"].startswith("nvcc "))


def _exports_neither(case: Case, _fields: Fields) -> bool:
    return not case.has(case.name)


def _another_build(case: Case, _fields: Fields) -> bool:
    return case.torch in case.exported_in(case.name) and not case.has(case.name)


# --- the table ------------------------------------------------------------------------------------------------------

# What would show a sentence that no fixture shows; in CI an installed CPU build shows those of CPU_BUILD.
CPU_BUILD = "an installed CPU build"
_NO_RELEASE = "a torch that is no release of the index"
_PUBLISHED_WHEEL = "a published wheel, of the corpus"
_CUDA_HERE = "CUDA's libraries on this machine"
_SYSTEM_AGE = "a system of a certain age"

SENTENCES = (
    Sentence(
        "That signature is exported by torch {other}.",
        lambda c, f: any(spans(f["other"], c.known) == c.exported_in(name) for name in c.alike),
    ),
    # Releases and the target's position among them.
    Sentence("{shown} is exported by torch {ranges} in {library}.", _newest_exporter),
    Sentence(
        "{shown} is exported by torch {places}.",
        _exporter_of_each_range,
        needs="a name that went, and came back in another library",
    ),
    Sentence("No known torch build ({first}-{last}) exports {mangled}.", lambda c, _: not c.exported_in(c.name)),
    Sentence(
        "Whether releases of torch export {shown} is not recorded.",
        lambda c, _: c.sight.index.known_omitted(c.name) is not None,
    ),
    Sentence(
        "{label} is older than {release}, the first release that exports {shown}.",
        lambda c, f: _all_after(c, f["release"]),
    ),
    Sentence(
        "{label} is newer than {release}, the last release that exports {shown}.",
        lambda c, f: _all_before(c, f["release"]),
    ),
    Sentence("{label} is between them: the symbol was removed after {before} and added again in {after}.", _in_gap),
    Sentence("{qualified} has another signature in torch {other}.", _other_forms),
    Sentence(
        "No known release exports a similar function: it is from a torch before {first} or after {last}, or not from "
        "torch.",
        _nothing_alike,
    ),
    Sentence(
        "{label} has that version but does not export it: it is a different build (source, conda, NGC, another "
        "variant).",
        _another_build,
        needs=_NO_RELEASE,
    ),
    Sentence(
        "{label} is a source build or nightly, not a release: its exports may differ from every release.",
        lambda c, _: c.build is None,
        needs=_NO_RELEASE,
    ),
    Sentence(
        "Against it: {label} is a nightly before {release} and may already export the symbol.",
        lambda c, f: _order(c.torch)[:3] == _order(f["release"])[:3] and _order(c.torch) < _order(f["release"]),
        needs=_NO_RELEASE,
    ),
    Sentence(
        "Against it: its git revision {revision} is that of the release.",
        lambda c, f: _target_revision(c).startswith(f["revision"]) and _revision(c) == _target_revision(c),
        needs=_NO_RELEASE,
    ),
    Sentence(
        "Its git revision {revision} is not that of the release ({released}).",
        lambda c, f: _target_revision(c).startswith(f["revision"]) and _revision(c) != _target_revision(c),
        needs=_NO_RELEASE,
    ),
    Sentence(
        "More than one torch is installed: {paths}.",
        lambda c, f: c.installed and "," in f["paths"] and _paths_are_there(c, f),
        needs=_NO_RELEASE,
    ),
    # Other forms of the name.
    Sentence(
        "{where} exports {qualified} with another signature: {form}; expected: {shown}.",
        lambda c, f: not c.has(c.name) and _twin_exported(c, f),
    ),
    Sentence("Differences: {marks}."),
    Sentence("The file imports {shown} with {mine}; {where} exports it with {theirs}.", _other_string),
    Sentence("Exported symbol: {twin}", lambda c, f: _string_of(f["twin"]) != _string_of(c.name)),
    Sentence("{label} exports neither form.", _exports_neither),
    Sentence("{label} exports neither mangling.", _exports_neither),
    Sentence("Against it: {label} is also built with {mine}.", lambda c, f: _target_string(c, f["mine"])),
    Sentence(
        "{label} is built with {theirs} and exports no torch symbol with the other std::string.",
        lambda c, f: _target_string(c, f["theirs"]) and not c.has(c.name),
    ),
    Sentence(
        "Release builds of torch {torch} export this symbol; this build may not.",
        lambda c, _: c.torch in c.exported_in(c.name),
        needs=_NO_RELEASE,
    ),
    Sentence("{shown} uses {mine}.", lambda c, f: _string_of(c.name) in f["mine"]),
    Sentence(
        "{label} is built with the other std::string, so it does not export this symbol.",
        lambda c, _: not c.has(c.name) and not _target_string(c, f"the {_string_of(c.name)}"),
    ),
    Sentence(
        "No known release exports the function with the other std::string either.",
        lambda c, _: (
            not any(
                _string_of(form) != _string_of(c.name) and _without_string(form) == _without_string(c.name)
                for form in c.forms(c.qualified)
            )
        ),
    ),
    Sentence(
        "The symbol is not from a torch library. A library that was compiled with {theirs} exports only the other "
        "form.",
        lambda c, f: not c.exported_in(c.name) and _string_of(c.name) not in f["theirs"],
    ),
    Sentence(
        "Against it: namespace {namespace} looks like a plug-in or an extension of torch; another release of that "
        "package is equally likely.",
        lambda c, f: f["namespace"] == _namespace(c) and f["namespace"].startswith(("torch_", "c10_", "at_")),
    ),
    Sentence(
        "torch wheels up to {release} pass -D_GLIBCXX_USE_CXX11_ABI=0 to the extensions that are built with them.",
        lambda c, f: all(b.cxx11_abi is (_order(b.torch) > _order(f["release"])) for b in c.builds),
    ),
    Sentence(
        "Compiled by {who}, which mangles the parameters of this template (Tn...). GCC, the compiler of libtorch, "
        "does not.",
        _template_declared,
    ),
    Sentence(
        "{where} exports the same function as {twin}",
        lambda c, f: (
            bool(c.has(f["twin"]))
            if f["where"] == c.label
            else spans(f["where"].removeprefix("torch "), c.known) == c.exported_in(f["twin"])
        ),
    ),
    Sentence("No known build exports this function under any mangling.", _nothing_alike),
    Sentence(
        "The symbol is the {what} of {qualified}. A compiler references it if the class is a base class, is thrown, "
        "or is cast.",
        lambda c, f: c.demangled.startswith(f"{f['what']} for ".replace("VTT for ", "VTT for ")),
    ),
    Sentence(
        "{label} exports functions of the class ({twin}), not its {what}.",
        lambda c, f: bool(c.has(f["twin"])) and not c.has(c.name),
    ),
    Sentence(
        "Since torch 2.7, libtorch_python exports only symbols that are marked TORCH_PYTHON_API.",
        lambda c, _: _order(c.torch) >= _order("2.7.0.dev0") and not c.has(c.name),
    ),
    Sentence(
        "{torch} is a nightly: symbols were marked one by one, some of them later.",
        lambda c, _: not versions.is_release(c.torch),
        needs=_NO_RELEASE,
    ),
    # C shims.
    Sentence(
        "{mangled} is a C shim of PyTorch's stable ABI.",
        lambda c, _: c.name.startswith(SHIM_PREFIXES) and bool(c.exported_in(c.name)),
    ),
    Sentence(
        "{mangled} is named like the C shims of PyTorch's stable ABI.", lambda c, _: c.name.startswith(SHIM_PREFIXES)
    ),
    Sentence(
        "It is from a torch newer than the index, from builds for another device, or not from torch.",
        lambda c, _: not c.exported_in(c.name),
    ),
    # Every release that declares it exports instances of it.
    Sentence(
        "The headers of {label} have no const_data_ptr: a source that calls it needs a change.",
        lambda c, _: not any(c.torch in c.exported_in(form) for form in c.alike | {c.name}),
    ),
    Sentence("{label} is older than {release}.", lambda c, f: _all_after(c, f["release"])),
    # GPU builds.
    Sentence("{shown} is exported by {library}, which only {gpu} builds of torch contain.", _lives_in, needs=CPU_BUILD),
    Sentence(
        "{shown} is named like the symbols of torch's {gpu} builds.",
        lambda c, f: {"CUDA": "cuda", "ROCm": "hip"}[f["gpu"]] in c.demangled.lower() and not c.exported_in(c.name),
        needs=CPU_BUILD,
    ),
    Sentence("{label} is a CPU build.", lambda c, _: c.is_cpu, needs=CPU_BUILD),
    Sentence(
        "{label} is not built for {gpu} and does not contain this library.", _no_such_build, needs="a file for XPU"
    ),
    Sentence(
        "Only ROCm builds of torch contain {deep}. {label} is not one of them: the extension was built for ROCm.",
        lambda c, f: (
            c.report.torch_build is not None
            and c.report.torch_build.hip is None
            and not any(b.ships(f["deep"]) and b.hip is None for b in c.builds)
        ),
    ),
    Sentence(
        "No known torch build ({first}-{last}) ships it.",
        lambda c, _: any(not any(b.ships(need) for b in c.builds) for need in _torch_libraries(c)),
    ),
    Sentence("{label} is a CPU build and does not install the CUDA libraries.", lambda c, _: c.is_cpu, needs=CPU_BUILD),
    Sentence(
        "{label} is a CPU build: it does not load {library} into the process, as a CUDA build does.",
        lambda c, f: c.is_cpu and not any(f["library"] in soname for soname in c.ships | c.brings),
        needs=CPU_BUILD,
    ),
    Sentence("{shown} is a symbol that hipify generates for ROCm builds.", lambda c, _: "hip" in c.demangled.lower()),
    Sentence(
        "{label} is not a ROCm build; CUDA builds call the same API c10::cuda and at::cuda.",
        lambda c, _: c.report.torch_build is not None and c.report.torch_build.hip is None,
    ),
    Sentence(
        "Its CUDA counterpart is exported by torch {other}: {qualified}.",
        lambda c, f: any(c.exported_in(name) == spans(f["other"], c.known) for name in c.forms(f["qualified"])),
    ),
    # Libraries that the file does not need.
    Sentence("{label} exports {shown} in {library}.", _in_target),
    Sentence("{shown} is exported in {library} by torch {ranges}.", _newest_exporter, needs=_NO_RELEASE),
    Sentence(
        "{shown} is exported in {library}.",
        lambda c, f: c.bound is not None and f["library"] == c.bound.provider,
        needs=_NO_RELEASE,
    ),
    Sentence("The file does not list {library} as needed: {needed}.", _not_needed),
    Sentence(
        "Against it: the file does not list {library} as needed: loading it first does not add it to the file's scope.",
        _not_needed,
    ),
    Sentence("If the file listed it, the loader would report `cannot open shared object file` and no symbol."),
    Sentence(
        "Against it: the file does not list {library} as needed.",
        lambda c, f: not any(need.startswith(f["library"]) for need in c.file.needed),
    ),
    Sentence("The file's needed libraries are: {needed}."),
    Sentence("{mangled} belongs to {product} ({library}).", _belongs),
    Sentence(
        "No known release ({counted} {first_of}-{last_of}) exports it.", lambda c, f: _in_cuda_table(c.name, f) == set()
    ),
    Sentence(
        "Every known release of {product} ({counted} {first_of}-{last_of}) exports it; older ones may not.",
        lambda c, f: _in_cuda_table(c.name, f) == set(_cuda_table()[_library_of(c.name)][0]),
        needs=CPU_BUILD,
    ),
    Sentence(
        "Of the known releases ({counted} {first_of}-{last_of}), {counted_too} {spans_of} exports it.",
        lambda c, f: 0 < len(_in_cuda_table(c.name, f) or ()) < len(_cuda_table()[_library_of(c.name)][0]),
        needs=CPU_BUILD,
    ),
    Sentence("{mangled} belongs to {product}.", _belongs),
    Sentence("Installed: {packages}.", _installed_packages, needs=_CUDA_HERE),
    Sentence("On this machine: {paths}.", _paths_are_there, needs=_CUDA_HERE),
    Sentence(
        "The file lists {soname} as needed: another version of it was found.",
        lambda c, f: c.installed and any(n.soname == f["soname"] and n.found for n in c.report.needed),
        needs=_CUDA_HERE,
    ),
    # Libraries that were not found.
    Sentence(
        "Needs {deep}, a library of torch (in torch/lib).",
        lambda c, f: any(b.ships(f["deep"]) for b in c.builds) or is_torch_library(f["deep"]),
    ),
    Sentence(
        "Needs {deep}, a library of torch's {gpu} builds (in torch/lib).",
        lambda _c, f: ACCELERATOR_LIBRARIES.get(f["deep"]) == f["gpu"],
    ),
    Sentence("torch {other} ships it.", _shipped),
    Sentence("{label} does not ship it.", lambda c, _: any(need not in c.ships for need in _torch_libraries(c))),
    Sentence("The loader did not find {soname}.", lambda c, f: c.installed and _not_found(c, f)),
    Sentence(
        "The file needs {soname}, which neither its package nor {label} provides; provided: {library}.", _same_library
    ),
    Sentence(
        "The file needs {soname}, which neither its package nor {label} provides.",
        _brought_by_nobody,
        needs=_PUBLISHED_WHEEL,
    ),
    Sentence(
        "A library that the file needs imports from {deep}, which neither its package nor {label} provides; "
        "provided: {library}.",
        lambda c, f: (
            c.lacks_beside(f["deep"])
            and f["library"] in c.brings
            and vendor_of_library(f["deep"]) is vendor_of_library(f["library"])
        ),
        needs=_PUBLISHED_WHEEL,
    ),
    Sentence(
        "A library that the file needs imports from {deep}, which neither its package nor {label} provides.",
        lambda c, f: c.lacks_beside(f["deep"]),
        needs=_PUBLISHED_WHEEL,
    ),
    Sentence("{deep} is part of {product}, version {version}.", _vendor_version),
    Sentence("{deep} is part of {product}.", _of_vendor),
    Sentence(
        "{label} is built for CUDA {cuda}.",
        lambda c, f: c.report.torch_build is not None and c.report.torch_build.cuda == f["cuda"],
    ),
    Sentence(
        "It is installed at {paths}, which is not in the search path of this file.",
        lambda c, f: c.installed and os.path.exists(f["paths"]),
        needs=_CUDA_HERE,
    ),
    Sentence(
        "Installed instead: {sonames}.",
        lambda c, f: (
            c.installed and all(vendor_of_library(s) and s not in c.file.needed for s in f["sonames"].split(", "))
        ),
        needs=_CUDA_HERE,
    ),
    # Names of the file's own project, and unknown names.
    Sentence("{shown} is not a symbol of torch, Python, CUDA or the C++ library.", _nobodys),
    Sentence("The file exports other symbols of the same namespace.", _own_namespace),
    Sentence("It has no namespace, like many functions that extensions define.", lambda c, _: not _namespace(c)),
    Sentence(
        "The library of namespace {namespace} is header-only: the file should define the symbol itself.",
        lambda c, f: f["namespace"] == _namespace(c) == "pybind11",
    ),
    Sentence("Its namespace {namespace} shares a word with the file's name, {base}.", _shared_word),
    Sentence(
        "It is unknown whether {scope} {namespace} is part of the extension or of another library.",
        lambda c, f: f["namespace"] == _namespace(c) and not _own_namespace(c, f),
    ),
    Sentence(
        "None of the libraries that the file needs exports {shown} ({scope} {namespace}).",
        lambda c, f: f["namespace"] == _namespace(c) and not any(c.lacks(need) for need in c.file.needed),
    ),
    Sentence("{mangled} is a C symbol that torch, Python and CUDA do not export.", _nobodys),
    Sentence('If it is defined in C++, its definition or its declaration in the caller lacks extern "C".'),
    Sentence("The library that defines it may not be linked, or the copy found is another release."),
    Sentence(
        "The file's name ({base}) marks it as the CPU variant of its library; the GPU variant may define the symbol.",
        lambda c, _: "cpu" in c.base,
    ),
    Sentence(
        "{mangled} is generated by nvcc -rdc=true; the object from the device link step (nvcc -dlink), which defines "
        "it, is not in the file.",
        lambda c, _: c.name.startswith("__cudaRegisterLinkedBinary_") and c.name not in c.file.exports,
    ),
    # Headers, Python, the system.
    Sentence("An inline function in {header} calls {shown}.", _inlined),
    Sentence(
        "Called from source code as: {call}.", lambda c, f: f["call"].startswith("the operator ") or _inlined(c, f)
    ),
    Sentence("{mangled} is exported by CPython {pythons}.", _pythons_exporting),
    Sentence(
        "{mangled} is not exported by any CPython for Linux from {oldest} to {newest}.",
        lambda c, _: not exported_by(c.name),
    ),
    Sentence("This interpreter is CPython {python}.", lambda c, f: _is_this_python(c, f) and _lacks_python_name(c, f)),
    Sentence("Checked for CPython {pythons} ({because}); CPython {lacking} does not export it.", _setting_lacks),
    Sentence(
        "The file name is tagged for CPython {python}.",
        lambda c, f: f"cpython-{f['python'].replace('.', '')}" in c.base,
    ),
    Sentence("{shown} is a symbol of the C++ standard library.", lambda c, _: c.demangled.startswith("std::")),
    Sentence(
        "A file that was linked with gcc or ld instead of g++ does not list libstdc++ as needed.",
        lambda c, _: not any(each.startswith("libstdc++") for each in c.file.needed),
    ),
    Sentence(
        "libstdc++ contains {shown} since GCC 9; with GCC 8 it is in libstdc++fs.a.",
        lambda c, _: c.qualified.startswith("std::filesystem::"),
    ),
    Sentence(
        "{shown} is in libstdc++fs.a, not in the shared libstdc++.",
        lambda c, _: c.qualified.startswith("std::experimental::filesystem::"),
    ),
    Sentence(
        "{shown} is in namespace {namespace} of {library}.",
        lambda c, f: f["namespace"] == _namespace(c) and not c.exported_in(c.name),
    ),
    Sentence(
        "The symbol is from CUDA {version}: the loaded library is older.",
        lambda c, f: c.installed and c.name.endswith("_" + f["version"].replace(".", "_")),
        needs=_CUDA_HERE,
    ),
    Sentence(
        "The file imports it from {library}, which was found but does not export it: it is another release of "
        "{product}.",
        lambda c, f: c.installed and not c.lacks(f["library"]) and (c.file.imports[c.name] or ("",))[0] == f["library"],
        needs=_CUDA_HERE,
    ),
    Sentence("The loaded libstdc++ is too old: the file needs {asked}.", _version_asked),
    Sentence("{asked} is a symbol version of {library}, a GCC runtime library.", _version_asked),
    Sentence(
        "{library} on this machine defines versions up to {newest}.",
        lambda c, f: c.installed and (c.file.imports[c.name] or ("",))[0] == f["library"],
    ),
    Sentence("The loaded libstdc++ is too old: the file needs {asked} (GCC {gcc}).", _version_asked, needs=_SYSTEM_AGE),
    Sentence("The loaded glibc is too old: the file needs {asked}.", _version_asked),
    Sentence("{names} {has} glibc {version}.", needs=_SYSTEM_AGE),
)
"""The first matching row applies to a sentence."""


def _without_string(name: str) -> str:
    return re.sub(r"NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE|B5cxx11|Ss", "", name)


GROUP_SENTENCES = (
    Sentence(
        "Not found: {sonames}.",
        lambda c, f: all(c.lacks(name) or c.lacks_beside(name) for name in f["sonames"].split(", ")),
    ),
)
"""Additional sentences of a cause of the whole file."""


def _target_ranges(case: Case, group: CauseGroup, place: Callable[[Case, str], bool]) -> bool:
    """For high confidence: the releases of some name of the group, or with a needed library, are on that side."""
    if group.confidence is not Confidence.HIGH:
        return not any(case.has(name) for name in group.symbols)
    names = [case.exported_in(name) for name in group.symbols]
    shipped = [{b.torch for b in case.builds if b.ships(need)} for need in _torch_libraries(case)]
    return any(found and all(place(case, version) for version in found) for found in (*names, *shipped))


_GCC_VERSION = re.compile("GLIBCXX_|CXXABI_|GCC_|GOMP_|GFORTRAN_")

SUMMARIES: Mapping[CauseId, Callable[[Case, CauseGroup], bool]] = {
    CauseId.BUILT_FOR_NEWER_TORCH: lambda c, g: _target_ranges(c, g, lambda c, v: _order(v) > _order(c.torch)),
    CauseId.BUILT_FOR_OLDER_TORCH: lambda c, g: _target_ranges(c, g, lambda c, v: _order(v) < _order(c.torch)),
    CauseId.CXX11_ABI_MISMATCH: lambda c, g: (
        any(not _target_string(c, f"the {_string_of(name)}") for name in g.symbols)
        and not any(c.has(name) for name in g.symbols)
    ),
    CauseId.SIGNATURE_CHANGED: lambda c, g: not any(c.has(name) for name in g.symbols),
    CauseId.TEMPLATE_MANGLING: lambda c, g: not any(c.exported_in(name) for name in g.symbols),
    CauseId.SYMBOL_HIDDEN: lambda c, g: not any(c.has(name) for name in g.symbols),
    CauseId.STABLE_SHIM_TOO_NEW: lambda c, g: not any(c.has(name) for name in g.symbols),
    CauseId.CUDA_BUILD_REQUIRED: lambda c, _: c.is_cpu or any(need not in c.ships for need in _torch_libraries(c)),
    CauseId.ROCM_NAMING: lambda c, g: (
        c.report.torch_build is not None
        and c.report.torch_build.hip is None
        and all("3hip" in name for name in g.symbols)
    ),
    CauseId.LIBSTDCXX_TOO_OLD: lambda c, g: all(
        demangled(name).startswith("std::") or _GCC_VERSION.match((c.file.imports[name] or ("", ""))[1])
        for name in g.symbols
    ),
    CauseId.GLIBC_TOO_OLD: lambda c, g: all(
        (c.file.imports[name] or ("", ""))[1].startswith("GLIBC_") for name in g.symbols
    ),
    CauseId.DISTRIBUTION_VARIANT: lambda c, g: (
        not any(c.has(name) for name in g.symbols) and any(c.torch in c.exported_in(name) for name in g.symbols)
    ),
    CauseId.LIBTORCH_PYTHON_NOT_LINKED: lambda c, g: (
        "libtorch_python.so" not in c.file.needed and all("libtorch_python.so" in c.has(name) for name in g.symbols)
    ),
    CauseId.LIBRARY_NOT_LINKED: lambda c, g: bool(g.symbols),
    CauseId.LIBRARY_MISSING: lambda c, _: bool(c.lacking),
    CauseId.CUDA_LIBRARY_MISMATCH: lambda c, g: any(
        vendor_of_library(soname) is not None
        and any(vendor_of_library(other) is vendor_of_library(soname) for other in c.brings | _on_this_machine(c))
        for soname in c.lacking
    ),
    CauseId.PYTHON_ABI_MISMATCH: lambda c, g: all(is_python_name(name) for name in g.symbols),
    CauseId.EXTENSION_SOURCE_NOT_BUILT: lambda c, g: not any(c.exported_in(name) for name in g.symbols),
}
"""The condition of each cause of a file; causes without a row must not occur."""


def _on_this_machine(case: Case) -> set[str]:
    """Files of CUDA libraries here, for the installed torch."""
    if not case.installed:
        return set()
    folders = [Path("/usr/local/cuda/lib64"), *Path("/usr/local").glob("cuda-*/lib64")]
    return {path.name for folder in folders if folder.is_dir() for path in folder.iterdir()}
