"""template-mangling: the same instantiation, with the mangling of another compiler or another system's integer types.

Clang 18+ writes the declaration of a constrained template parameter before its argument (`Tn...`; Itanium C++ ABI,
section 5.1.8, after itanium-cxx-abi/cxx-abi issue 24). GCC, the compiler of libtorch, does not. nvcc's front end writes
`sr4__T0` where Clang writes `sr3std` (pytorch/pytorch issue 174898)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from abiscan.diagnosis.fixes import extension_fixes, package_commands
from abiscan.diagnosis.fixes.hip_sources import is_for_hip
from abiscan.diagnosis.fixes.libtorch_programs import find_program
from abiscan.diagnosis.fixes.loaded_copies import folder_of_first_use
from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.fixes.wheel_rows import is_on_windows
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.related_exports import RelatedExport, find_in_target
from abiscan.diagnosis.release_position import Position
from abiscan.mangling import DifferenceKind
from abiscan.mangling.compiler_flags import AS_GCC, AS_GCC_FOR_HIP, AS_LIBTORCH_OF_MACOS, GCC_FORM_FLAG
from abiscan.model.cause import CauseId
from abiscan.model.platforms import OperatingSystem, system_of

# <builtin-type> (Itanium C++ ABI, 5.1.5.2): element types of tensors.
_BUILTIN = {
    "a": "int8_t",
    "b": "bool",
    "d": "double",
    "f": "float",
    "h": "uint8_t",
    "i": "int",
    "l": "int64_t",
    "s": "int16_t",
    "x": "int64_t",
}
_OF_LONG_LONG = r"::(?:data|data_ptr|item|to)<((?:unsigned )?long long)[,>]"
# The <template-arg> of at::TensorBase::const_data_ptr<T>(): a builtin type, or a class of c10; K for `const T`.
_ELEMENT = r"(?:const|mutable)_data_ptrIK?([a-z]|N3c10\w{1,60}?E)"


def causes(missing: MissingName) -> Candidates:
    """The mangling of another compiler, and integer types of macOS and Windows."""
    if missing.cxx is None:
        return
    if missing.reference.spelled_as.startswith("_Z"):
        yield from _cut_off(missing, missing.reference.spelled_as)
        return
    if missing.file.is_torch_itself:
        yield from _two_compilers(missing)
    yield from _other_compiler(missing)
    yield from _readable(missing)
    yield from _darwin_integers(missing)
    yield from _windows_integers(missing)
    yield from _linux_integers(missing)


def _two_compilers(missing: MissingName) -> Candidates:
    """Libraries of a torch source build that two compilers built: each has its own mangling of constrained
    templates."""
    arguments = missing.parsed.template_args or ()
    # `std::enable_if_t<..., int> = 0`: all manglings have the argument, only Clang's has its declaration.
    if not arguments or arguments[-1] != "0" or not missing.exported_in or missing.file.facts is not None:
        return
    evidence = (
        f"{missing.file.base_name} is a library of torch and needs {missing.shown} as mangled by GCC; Clang 18 and "
        f"later mangle the parameters of this template (Tn...).",
        "If GCC compiled one library of a torch built from source and Clang the other, their symbols do not match.",
    )
    fix = (
        f"Compile all of torch with one compiler, or give Clang {GCC_FORM_FLAG}; remove build and torch/lib/build first"
    )
    yield Candidate(CauseId.TEMPLATE_MANGLING, 0.81, evidence, fix)


def _other_compiler(missing: MissingName) -> Candidates:
    if missing.exported_in:
        return  # some release exports this spelling: it is a symbol of libtorch
    if missing.macho and not (missing.parsed.declares_parameters and _is_of_macos(missing)):
        return  # macOS has its own std
    forms = [f for f in missing.related if f.same_function and DifferenceKind.TEMPLATE_MANGLING in f.kinds]
    declares = missing.parsed.declares_parameters
    if not forms and (not declares or _for_int64(missing)):
        return
    evidence = []
    if declares:
        evidence.append(_of_clang(missing, missing.name))
    score = 0.6
    if forms:
        best = forms[0]
        score = 0.97 if best.in_target else 0.9
        where = missing.target_label if best.in_target else f"torch {best.where}"
        evidence.append(f"{where} exports the same function as {best.name}")
        if missing.target is not None and best.in_target is False:
            evidence.append(f"{missing.target_label} exports neither mangling.")
    else:
        evidence.append("No known build exports this function under any mangling.")
    evidence.append(missing.exported_text)
    yield Candidate(CauseId.TEMPLATE_MANGLING, score, tuple(evidence), _fix(missing, *_where(forms)))


def _readable(missing: MissingName) -> Candidates:
    """A readable name of a template that some releases constrain: Clang's mangling may be the one that is missing."""
    arguments = missing.parsed.template_args or ()
    # MSVC's decoration, which Clang writes on Windows too, has no constraints.
    if not missing.reference.demangled or not arguments or is_on_windows(missing):
        return
    constrained = arguments if arguments[-1] == "0" else (*arguments, "0")
    name = (
        missing.name
        if constrained == arguments
        else next((form.name for form in missing.related if form.parsed.template_args == constrained), None)
    )
    if name is None:
        return
    meant = MissingName(replace(missing.reference, name=name), missing.knowledge, missing.file)
    if not meant.exported_in:
        return
    releases = meant.exported_in.text()
    libtorch = "the older Clang that compiled libtorch for macOS" if missing.macho else "GCC, the compiler of libtorch"
    words = f"which Clang 18 and later mangle differently from {libtorch} (Tn..., enable_if)"
    evidence = [f"torch {releases} declares {missing.parsed.qualified} with a constrained parameter, {words}."]
    if missing.log.rejected_name:
        evidence.append("c++filt of binutils 2.40 cannot read such a name.")
    # With the constraint in its arguments, the name is of headers of these releases.
    undecided = 0.7 if constrained == arguments and missing.knowledge.target is None else 0.59
    if constrained == arguments and _is_in_target(meant):
        undecided = 0.8  # the mangling of GCC is there: another one is missing
    score = 0.9 if missing.log.rejected_name else undecided
    # A linker that failed left no file with dynamic symbols.
    file = "OBJECT.o" if missing.reference.link_time else "-u FILE" if missing.macho else "-D FILE"
    evidence.append(
        f"The mangled name decides: nm {file} | grep {safe(missing.parsed.base, 'NAME')} | abiscan explain -"
    )
    yield Candidate(CauseId.TEMPLATE_MANGLING, score, tuple(evidence), _fix(meant, releases, _is_in_target(meant)))


def fix_for_any_element(missing: MissingName) -> str:
    """What to change where a text names at::TensorBase::const_data_ptr<T>() without its T."""
    reference = replace(missing.reference, name=_CONSTRAINED)
    meant = MissingName(reference, missing.knowledge, missing.file)
    releases = "" if meant.exported_in is None else meant.exported_in.text()
    return _fix(meant, releases, _is_in_target(meant), _CONSTRAINED[: _CONSTRAINED.index("Il") + 1])


def _is_in_target(meant: MissingName) -> bool:
    return bool(find_in_target(meant.name, meant.history, meant.knowledge)[0])


# As GCC mangles it, for an element type that all releases export.
_CONSTRAINED = "_ZNK2at10TensorBase14const_data_ptrIlLi0EEEPKT_v"

# <template-param-decl> within <template-args>: Ty, Tn <type>, Tt ..., Tp; after I and preceding arguments.
_DECLARED = r"I\w{0,256}?(T(?:n(?:[A-Z]|$)|y|t|p))"
# What has digits: <substitution>, <template-param>, literals; and <source-name> with its length.
_WITH_DIGITS = r"S[0-9A-Z]{0,9}_|T\d{0,9}_|L[a-z]n?\d{1,20}E|(\d{1,5})"


def _cut_off(missing: MissingName, beginning: str) -> Candidates:
    """A name without its end that the index cannot complete: its beginning may identify the compiler."""
    declared = re.search(_DECLARED, _without_identifiers(beginning))
    if declared is None:
        return
    # The manglings of both compilers are equal before the declaration.
    alike = [form for form in missing.related if form.name.startswith(beginning[: declared.start(1)])]
    if declared[1].startswith("Tn"):
        # GCC writes only the value, a literal or an expression; otherwise it is another declaration's name.
        alike = [form for form in alike if form.name[declared.start(1) : declared.start(1) + 1] in ("L", "X")]
    evidence = [
        _of_clang(missing, beginning),
        f"The name is not complete; it begins like {missing.cxx.qualified if missing.cxx is not None else beginning}.",
    ]
    mangling = "mangling without it" if missing.macho else "GCC mangling"
    evidence += [f"torch {form.where} exports the {mangling}: {form.name}" for form in alike[:2]]
    score = 0.88 if missing.related else 0.6
    yield Candidate(CauseId.TEMPLATE_MANGLING, score, tuple(evidence), _fix(missing, *_where(alike), beginning))


def _without_identifiers(mangled: str) -> str:
    """The name with `_` for each letter of an identifier: `ScalarType` declares no parameter."""
    at, pattern = 0, re.compile(_WITH_DIGITS)
    while (found := pattern.search(mangled, at)) is not None:
        at = found.end()
        if found[1] is not None:
            end = min(at + int(found[1]), len(mangled))
            mangled = mangled[:at] + "_" * (end - at) + mangled[end:]
            at = end
    return mangled


def _of_clang(missing: MissingName, name: str) -> str:
    libtorch = "The older Clang that compiled libtorch for macOS" if missing.macho else "GCC, the compiler of libtorch,"
    compiler = "nvcc with Clang 18 or later as its host compiler" if "sr4__T" in name else "Clang 18 or later"
    return f"Compiled by {compiler}, which mangles the parameters of this template (Tn...). {libtorch} does not."


def _is_of_macos(missing: MissingName) -> bool:
    """Whether the related exports are of builds for macOS."""
    return system_of(missing.knowledge.machine) is OperatingSystem.MACOS


def _where(forms: Sequence[RelatedExport]) -> tuple[str, bool]:
    """The releases that export the mangling of GCC, and whether the target does."""
    return (forms[0].where if forms else ""), any(form.in_target for form in forms)


def _fix(missing: MissingName, releases: str, in_target: bool, beginning: str | None = None) -> str:
    """What to change in the source, or how to compile. One way is enough.

    Args:
        releases: export the mangling of GCC.
        in_target: whether the target exports it.
        beginning: of the name, if its end is unknown.
    """
    plain = _unconstrained(missing)
    again = plain is not None and bool(plain.in_target) and not missing.knowledge.target_is_assumed
    since = releases.partition("-")[0]
    tree, build = extension_fixes.source_tree(missing), extension_fixes.build_tree(missing, since=since)
    rewrite = "" if missing.log.keeps_source else _rewrite(missing, beginning)
    compiled = _compile_again(missing, rewrite, any_compiler=again)
    if compiled is not None:
        return compiled
    ways: list[str] = []
    if again:
        declared = f"{missing.target_label} declares {missing.parsed.base} without the constraint"
        ways.append(f"build it again: {declared}, so any compiler will do. DIRECTORY: {tree}\n{build}")
    if rewrite and missing.parsed.base == "const_data_ptr":
        write = "abiscan fix --apply --select const-data-ptr DIRECTORY"
        rewrite += (
            f": {write}, then the same command  # {extension_fixes.REWRITES}"
            if again
            else f". DIRECTORY: {tree}\n{write}  # {extension_fixes.REWRITES}\n{build}"
        )
    ways += [rewrite] if rewrite else []
    alone = "without this change, compile" if rewrite else "compile"
    as_gcc = AS_LIBTORCH_OF_MACOS if missing.macho else AS_GCC_FOR_HIP if is_for_hip(missing) else AS_GCC
    end = f". DIRECTORY: {tree}\n{build}" if missing.log.keeps_source and not again else "."
    if in_target:
        ways.append(f"{alone} {as_gcc}{end}")
    elif missing.target is None and releases:
        ways.append(f"{alone} {as_gcc}, for torch {releases}{end}")
        if plain is not None and plain.exported_in.last == missing.known_versions[-1]:
            ways.append(f"{alone} for torch {plain.exported_in[-1][0]} or later, with any compiler.")
    elif not ways:
        ways.append(extension_fixes.rebuild(missing))
    if not missing.file.is_torch_itself and not missing.reference.link_time and find_program(missing) is None:
        ways.append(f"with only the wheel: {_other_release(missing)}")
    text = "\nor: ".join(ways)
    return text if text.startswith("pip ") else text[0].upper() + text[1:]


def _compile_again(missing: MissingName, rewrite: str, *, any_compiler: bool) -> str | None:
    """How to compile a module at its first use again; None for other files.

    torch.utils.cpp_extension.load reads CC and CXX, and not CFLAGS and CXXFLAGS.

    Args:
        rewrite: which accessor to use; empty if none helps.
        any_compiler: whether any compiler will do.
    """
    is_clang_alone = missing.macho or is_for_hip(missing)
    compiled = extension_fixes.compile_again(
        missing, "" if any_compiler or is_clang_alone else "; export CC=gcc CXX=g++"
    )
    if compiled is None or any_compiler:
        return compiled
    ways = [compiled]
    if folder_of_first_use(missing.file.path) is None or "torch_extensions" in missing.file.path:
        of_cuda = f', extra_cuda_cflags=["-Xcompiler", "{GCC_FORM_FLAG}"]'
        flags = f'extra_cflags=["{GCC_FORM_FLAG}"]{"" if is_clang_alone else of_cuda}'
        unread = "of torch.utils.cpp_extension, also load_inline: they do not read CFLAGS and CXXFLAGS"
        if is_clang_alone:
            ways = [f"load(..., {flags})  # {unread}", compiled]
        else:
            ways.append(f"or, with Clang: load(..., {flags})  # {unread}")
    ways += [f"or, in its sources: {rewrite}"] if rewrite else []
    return "\n".join(ways)


def _rewrite(missing: MissingName, beginning: str | None) -> str:
    """Which accessor to use; empty if none helps."""
    if missing.parsed.base not in ("const_data_ptr", "mutable_data_ptr"):
        return ""
    argument = (missing.parsed.template_args or ("T",))[0]
    element = argument.removesuffix(" const")
    is_const, argument = element != argument, element
    if beginning is not None:
        at = beginning.find(f"{missing.parsed.base}I") + len(missing.parsed.base) + 1
        argument = _BUILTIN.get(beginning[at : at + 1], "T")
    # `unsigned char` is two words.
    letter = missing.name.partition(f"{missing.parsed.base}I")[2].removeprefix("K")[:1]
    named = _BUILTIN.get(letter, "T")
    argument = "int64_t" if argument == ("long long" if missing.macho else "long") else safe(argument, named)
    accessor = _data_ptr(missing, beginning or missing.name, argument)
    if not accessor or not is_const:
        return accessor
    # accessor<const T, N>() of aten/src/ATen/core/TensorBase.h calls const_data_ptr<const T>().
    return f"{accessor}; in place of accessor<const {argument}, N>(), which calls it, accessor<{argument}, N>()"


def _unconstrained(missing: MissingName) -> RelatedExport | None:
    """The same function as headers of other releases declare it, without the constrained parameter."""
    arguments = missing.parsed.template_args or ()
    return next((f for f in missing.related if arguments and f.parsed.template_args == arguments[:-1]), None)


def _other_release(missing: MissingName) -> str:
    """How to get a release of the package without this file, else one that loads."""
    known = package_commands.find_package(missing)
    without = None if known is None else package_commands.without_file(known, missing, if_unnamed=True)
    name = "the package" if known is None else known.name
    return without or f"install another release of {name}, or ask its publisher for one that loads."


def _data_ptr(missing: MissingName, name: str, argument: str) -> str:
    """The accessor with one mangling and the releases that export it; empty if none does."""
    element, releases = re.search(_ELEMENT, name), missing.knowledge.releases
    exported = ""
    if element is not None and releases is not None and missing.known_versions:
        history = releases.history(f"_ZNK2at10TensorBase8data_ptrI{element[1]}EEPT_v", missing.knowledge.machine)
        if history is None or not history.exported_in:
            return ""
        target = missing.target_version
        if target in missing.known_versions and not history.exported_in.contains(target):
            return ""
        exported = f", exported by torch {history.exported_in.text()}"
    return f"use data_ptr<{argument}>(){exported}"


# The form of the cause: libtorch has the instance for int64_t, which is another type here.
_INTEGER: Final = "integer-type"


def _darwin_integers(missing: MissingName) -> Candidates:
    """`long` where int64_t of macOS is `long long`: libtorch instantiates its templates for int64_t."""
    arguments = missing.parsed.template_args or ()
    if not missing.macho or not any(argument in ("long", "unsigned long") for argument in arguments):
        return
    if missing.parsed.declares_parameters and _is_of_macos(missing):
        yield from _long_of_clang(missing)
        return
    evidence = [
        f"This is a macOS symbol (__Z) with the template argument {', '.join(arguments)}.",
        "int64_t is long long on macOS and long on Linux; libtorch instantiates its templates for int64_t.",
    ]
    score = 0.62
    if missing.exported_in:
        evidence.append(
            f"On Linux, where int64_t is long, the same name is exported by torch {missing.exported_in.text()}."
        )
        score = 0.84 if missing.position is not Position.BEFORE or missing.knowledge.target_is_before_index else 0.55
    yield Candidate(
        CauseId.TEMPLATE_MANGLING, score, tuple(evidence), _other_integer("long", "int64_t", missing), _INTEGER
    )


def _other_integer(written: str, integer: str, missing: MissingName) -> str:
    other = " (or uint64_t)" if written == "long" else ""
    code = f"Replace {written} with {integer}{other}: {safe(missing.parsed.base, 'f')}<{integer}>()"
    return code if missing.reference.link_time else f"{code}\nor: with only the wheel: {_other_release(missing)}"


def _long_of_clang(missing: MissingName) -> Candidates:
    """The same with the mangling of Clang 18: with int64_t alone, the symbol is still missing."""
    wanted = tuple(re.sub(r"\blong\b", "long long", each) for each in missing.parsed.template_args or ())
    forms = [form for form in missing.related if form.parsed.template_args == wanted]
    evidence = [
        "int64_t is long long on macOS and long on Linux; libtorch instantiates its templates for int64_t.",
        _of_clang(missing, missing.name),
    ]
    evidence += [f"torch {form.where} exports {form.name}, for int64_t." for form in forms[:1]]
    fix = "Replace long with int64_t (or uint64_t)"
    if forms:
        meant = MissingName(replace(missing.reference, name=f"_{forms[0].name}"), missing.knowledge, missing.file)
        fix = f"{fix} first. Then:\n{_fix(meant, *_where(forms))}"
    yield Candidate(CauseId.TEMPLATE_MANGLING, 0.9 if forms else 0.62, tuple(evidence), fix, _INTEGER)


def _windows_integers(missing: MissingName) -> Candidates:
    """`long` has 32 bits on Windows, where int64_t is `__int64` (`long long`)."""
    # A readable name of MSVC's tools that is looked up has the types of Linux, where int64_t is long.
    if missing.reference.demangled:
        return
    if not missing.reference.msvc or not any(each in missing.shown for each in ("<long>", "<unsigned long>")):
        return
    evidence = (
        f"This is an MSVC symbol for {missing.shown}: long has 32 bits on Windows and 64 on Linux.",
        "libtorch instantiates its templates for int64_t, which is long long on Windows.",
    )
    yield Candidate(CauseId.TEMPLATE_MANGLING, 0.85, evidence, _other_integer("long", "int64_t", missing), _INTEGER)


def _linux_integers(missing: MissingName) -> Candidates:
    """`long long` on Linux, where int64_t is `long`."""
    if missing.macho or missing.reference.msvc or missing.exported_in:
        return
    forms = _for_int64(missing)
    found = re.search(_OF_LONG_LONG, missing.shown)
    if found is None and not forms:
        return
    written = found[1] if found is not None else "long long"
    evidence = [
        f"The template argument is {written}.",
        "int64_t is long on Linux and long long on Windows and macOS; libtorch instantiates its templates for int64_t.",
        *([_of_clang(missing, missing.name)] if missing.parsed.declares_parameters else ()),
        *(f"torch {form.where} exports {form.name}." for form in forms[:1]),
        missing.exported_text,
    ]
    integer = "uint64_t" if written.startswith("unsigned") else "int64_t"
    fix = _other_integer(written, integer, missing)
    if forms and missing.parsed.declares_parameters:
        meant = MissingName(replace(missing.reference, name=forms[0].name), missing.knowledge, missing.file)
        fix = f"Replace {written} with {integer} first. Then:\n{_fix(meant, *_where(forms))}"
    score = 0.8 if missing.related else 0.6
    if missing.target is not None and forms and not any(form.in_target for form in forms):
        score = 0.5  # with int64_t alone, the symbol is still missing
    yield Candidate(CauseId.TEMPLATE_MANGLING, score, tuple(evidence), fix, _INTEGER)


def _for_int64(missing: MissingName) -> list[RelatedExport]:
    """The same function for int64_t of Linux, where the name is for `long long`, with or without the constraint."""
    arguments = missing.parsed.template_args or ()
    wanted = tuple("long" if each == "long long" else each for each in arguments)
    if wanted == arguments or missing.macho or missing.exported_in:
        return []
    spellings = (wanted, (*wanted, "0"), wanted[:-1] if wanted[-1] == "0" else wanted)
    return [form for form in missing.related if form.parsed.template_args in spellings]
