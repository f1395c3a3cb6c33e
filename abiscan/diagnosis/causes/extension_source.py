"""extension-source-not-built: a name of the file's own that nothing exports, because an object was not linked in."""

from __future__ import annotations

import re

from abiscan.diagnosis import fixes
from abiscan.diagnosis.causes.system_libraries import is_symbol_version
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.mangling import NameKind
from abiscan.model.cause import CauseId
from abiscan.model.imports import Owner, Status
from abiscan.model.module_name import module_name
from abiscan.ownership.names import STANDARD_SCOPES, is_python_name
from abiscan.ownership.vendors import vendor_of

_WORD = re.compile(r"[a-z]+|\d+")
# Words of file names that say nothing of whose code it is.
_COMMON = frozenset(
    {
        "c",
        "lib",
        "so",
        "cpython",
        "cuda",
        "cpu",
        "gpu",
        "ext",
        "torch",
        "linux",
        "gnu",
        "ops",
        "abi",
        "x",
        "py",
        "core",
        "module",
        "python",
    }
)
_CPU_FILE = re.compile(r"(?:^|[_.-])cpu(?:[_.-]|$)")
_LINKED_BINARY = re.compile(r"__cudaRegisterLinkedBinary_")


def causes(missing: MissingName) -> Candidates:
    """For names that are nobody else's."""
    if missing.library is not None or missing.version is not None:
        return
    if _LINKED_BINARY.match(missing.name):
        yield _device_link(missing)
        return
    if (
        missing.is_torch_name
        or missing.is_torch_itself
        or is_python_name(missing.name)
        or is_symbol_version(missing.name)
    ):
        return
    if missing.cxx is None:
        if missing.name_kind in (NameKind.C, NameKind.MACHO) and vendor_of(missing.name) is None:
            yield from _c_name(missing)
        return
    if missing.namespace in STANDARD_SCOPES:
        return
    yield from _cxx_name(missing)


def _device_link(missing: MissingName) -> Candidate:
    evidence = (
        f"{missing.name} is made by nvcc -rdc=true; the device link step (nvcc -dlink) defines it, and its "
        f"object is not in the file.",
    )
    fix = (
        "Build without -rdc=true, or add the device link: CUDAExtension(..., dlink=True, "
        "dlink_libraries=[...]); in CMake CUDA_RESOLVE_DEVICE_SYMBOLS ON."
    )
    return Candidate(CauseId.EXTENSION_SOURCE_NOT_BUILT, 0.9, evidence, fix)


def _cxx_name(missing: MissingName) -> Candidates:
    cxx = missing.cxx
    assert cxx is not None
    evidence = [f"{missing.shown} is a name of neither torch, Python, CUDA nor the C++ library."]
    words = _words(missing.base_name)
    scopes = "_".join(cxx.scope).lower()
    own = missing.namespace is None or bool(words & _words(scopes))
    if missing.namespace is None:
        evidence.append("It stands in no namespace, as an extension's own functions often do.")
        score = 0.88 if missing.bound_owner is Owner.SELF else 0.78
    elif missing.bound_owner is Owner.SELF:
        own = True
        score = 0.88
        if missing.namespace == "pybind11":
            evidence.append(
                f"The library of namespace {missing.namespace} is headers alone: what is used of it is built into the "
                "file."
            )
        else:
            evidence.append("The file itself exports names of the same namespace.")
    elif own:
        evidence.append(
            f"Its namespace {'::'.join(cxx.scope)} shares a word with the file's name, {missing.base_name}."
        )
        score = 0.86
    else:
        evidence.append(f"Whether {_scope(missing)} is the extension's own or another library's is open.")
        score = 0.55
    fix = _fix(missing, cxx.base)
    yield Candidate(CauseId.EXTENSION_SOURCE_NOT_BUILT, score, tuple(evidence), fix)
    if not own:
        if missing.status is Status.MISSING:
            text = f"None of the libraries that the file needs exports {missing.shown}, of {_scope(missing)}."
        else:
            text = f"{missing.shown} is of {_scope(missing)}, whose library was not found, or is of another version."
        yield Candidate(
            CauseId.LIBRARY_NOT_LINKED,
            0.58,
            (text,),
            f"Link, and install in the version that its headers are of, the library of "
            f"{fixes.word(missing.namespace or '', 'NAME')}.",
        )


def _scope(missing: MissingName) -> str:
    """The outermost scope in a sentence; where it is the only one, a mangled name does not tell which it is."""
    only = missing.cxx is not None and len(missing.cxx.scope) == 1
    return f"{'namespace or class' if only else 'namespace'} {missing.namespace}"


def _c_name(missing: MissingName) -> Candidates:
    if missing.name.startswith(("_Z", "__Z")):
        return  # a C++ name that nobody can read
    evidence = [f"{missing.name} is a plain C name, and none that is known of torch, Python or CUDA."]
    score = 0.6
    if _CPU_FILE.search(missing.base_name):
        text = (
            f"The file's name ({missing.base_name}) says that it is the CPU variant of its library; the GPU "
            f"variant may define it."
        )
        fix = (
            "Make the GPU variant load: check that its CUDA libraries are found (python -c 'import torch; "
            "print(torch.version.cuda)'), and reinstall the extension for that CUDA."
        )
        yield Candidate(CauseId.CUDA_BUILD_REQUIRED, 0.66, (evidence[0], text), fix)
    evidence.append('Where its definition is C++, the declaration in the caller or in the definition lacks extern "C".')
    yield Candidate(CauseId.EXTENSION_SOURCE_NOT_BUILT, score, tuple(evidence), _fix(missing, missing.name))
    yield Candidate(
        CauseId.LIBRARY_NOT_LINKED,
        0.4 if _is_python_module(missing) else 0.62,
        (evidence[0], "A library that defines it may not be linked, or be found in another release."),
        "Link the library that defines it: -lNAME.",
    )


def _is_python_module(missing: MissingName) -> bool:
    """Whether the file may be one of Python's: a plugin of another program mostly lacks a library's function."""
    if missing.file is not None or not missing.file_name:
        return True
    path = missing.file_name.replace("\\", "/").lower()
    if any(word in path for word in ("-packages/", ".egg", "torch", "python")):
        return True
    base = missing.base_name
    importable = module_name(base) is not None or base.startswith("lib") or base.endswith((".pyd", ".dylib"))
    return importable and not path.startswith(("/usr/", "/lib"))


def _fix(missing: MissingName, base: str) -> str:
    text = (
        f"grep -rn {fixes.word(base, 'NAME')} over the extension's sources: add the file that defines it to "
        f"the sources= of "
        f"setup.py (or the CMake target)."
    )
    if missing.namespace is not None or missing.cxx is not None:
        text += (
            "\nWhere it is defined under #if or an architecture list (TORCH_CUDA_ARCH_LIST), build with that "
            "architecture, or guard the call too."
        )
    return text


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text) if len(word) > 2 and word not in _COMMON}
