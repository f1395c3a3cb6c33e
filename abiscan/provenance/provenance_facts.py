"""Build properties of a file, each with its source."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from abiscan.binary import Binary
from abiscan.environment.python_names import stable_abi
from abiscan.mangling import string_abis
from abiscan.model.cause import Confidence
from abiscan.model.device_code import DeviceCode
from abiscan.model.facts import SharedObject
from abiscan.model.imports import CheckedImport, Owner
from abiscan.model.provenance import Provenance, ProvenanceFact, Topic
from abiscan.provenance.instruction_sets import instruction_sets
from abiscan.wheel.tags import fitting_platform, other_c_library

# Patterns are strings, compiled only on use.
_GCC = r"GCC: \([^)]*\) (\d+(?:\.\d+)+)"
_CLANG = r"clang version (\d+(?:\.\d+)+)"
_LLD = r"(?:Linker: )?LLD (\d+(?:\.\d+)+)"
_RUST = r"rustc version (\d+(?:\.\d+)+)"
_DWARF_GNU = r"GNU (C\S*|Fortran\S*) (\d+(?:\.\d+)+)"
# Family of symbol versions -> its topic.
_FAMILIES = {"GLIBC": Topic.GLIBC, "GLIBCXX": Topic.GLIBCXX, "CXXABI": Topic.CXXABI, "GCC": Topic.GCC}
# Functions that instrumented code calls (compiler-rt, libsanitizer).
_SANITIZERS = {
    "__asan_": "AddressSanitizer",
    "__hwasan_": "HWAddressSanitizer",
    "__msan_": "MemorySanitizer",
    "__tsan_": "ThreadSanitizer",
    "__ubsan_": "UndefinedBehaviorSanitizer",
}
# A library that auditwheel copied into the wheel under a new name, although a process should have only one: two OpenMP
# runtimes have two thread pools, two CUDA runtimes two sets of registered kernels.
_BUNDLED = (
    r"lib(gomp|omp|iomp5|cudart|cublas|cublasLt|cudnn|nccl|stdc\+\+|c10|torch\w*)[-.][0-9a-f]{8}[\w.-]*\.so[\w.]*"
)
# Directories that are the same on every machine.
_SYSTEM_DIRECTORIES = ("/usr/lib", "/lib", "/usr/local/lib", "/usr/local/cuda", "/opt/rocm")
PYBIND11 = b"__pybind11_internals_v"
# pybind11 checks it for every attribute that it looks up (pybind11_meta_getattro of pybind11/detail/class.h).
_OF_PYBIND11 = "PyInstanceMethod_Type"
# Two ids of one file are in one string table; the largest distance in the extensions of the corpus is 0.2 MB.
_GAP = 1 << 19
# Functions called by Py_INCREF and Py_DECREF in the headers of a free-threaded CPython (PEP 703).
_FREE_THREADED = frozenset(("_Py_MergeZeroLocalRefcount", "_Py_DecRefShared", "_Py_DecRefSharedDebug"))
# The first symbol that the AOTInductor runtime looks up in a model (torch/csrc/inductor/aoti_runner).
AOTINDUCTOR = "AOTInductorModelContainerCreateWithDevice"
# Models call operators through it, by the `.json` file beside them (torch/_inductor/codegen/cpp_wrapper_cpu.py).
CALLS_BY_NAME = "aoti_torch_proxy_executor_call_function"
_LABEL = r"\+([\w.]+)"


class FactOrigin(Struct, frozen=True):
    """Facts about a file from outside of its bytes.

    Attributes:
        package_path: its path, inside its container if it is in one.
        version: version of its distribution, with its label.
    """

    package_path: str
    version: str | None = None


def provenance_facts(
    binary: Binary, facts: SharedObject, imports: Sequence[CheckedImport], made: Provenance, origin: FactOrigin
) -> tuple[ProvenanceFact, ...]:
    """All facts, in the order of their topics.

    Args:
        made: facts that were already found, in single fields.
    """
    names = [bound.name for bound in imports]
    marks = binary.build_marks()
    found = [
        *_compilers(facts.compilers, marks.producers),
        *_strings(imports),
        *_cxx_library(facts, names),
        *_debug_modes(names),
        *_torch(binary, names, made, origin),
        *_python(binary, imports, made, origin),
        *_cuda(made),
        *_floors(facts),
        *(instruction_sets(marks, origin.package_path) if facts.machine == "x86_64" else ()),
        *_machine(facts, executable_stack=marks.executable_stack),
    ]
    order = {topic: number for number, topic in enumerate(Topic)}
    return tuple(sorted(found, key=lambda fact: order[fact.topic]))


def _compilers(comments: Iterable[str], producers: Iterable[str]) -> Iterator[ProvenanceFact]:
    found: dict[str, ProvenanceFact] = {}
    for comment in comments:
        for pattern, name in ((_GCC, "GCC"), (_CLANG, "Clang"), (_LLD, "LLD"), (_RUST, "rustc")):
            match = re.search(pattern, comment)
            if match is not None:
                value = f"{name} {match[1]}"
                found.setdefault(value, ProvenanceFact(Topic.COMPILER, value, f".comment: {comment}"))
                break
        else:
            found.setdefault(comment, ProvenanceFact(Topic.COMPILER, comment, ".comment"))
    for producer in producers:
        gnu, clang = re.search(_DWARF_GNU, producer), re.search(_CLANG, producer)
        value = f"GCC {gnu[2]}" if gnu is not None else f"Clang {clang[1]}" if clang is not None else producer
        lto = ", with link-time optimization" if " -flto" in producer else ""
        language = f" ({gnu[1]}{lto})" if gnu is not None else ""
        found.setdefault(value + language, ProvenanceFact(Topic.COMPILER, value + language, f"DWARF: {producer}"))
    yield from found.values()


def _strings(imports: Sequence[CheckedImport]) -> Iterator[ProvenanceFact]:
    """The std::string ABI of its imports. C++ library symbols count only if no others show it, because statically
    linked parts of that library may use the old ABI in any file."""
    spelled = string_abis(b.name for b in imports if b.owner is not Owner.CXX)
    if len(spelled) == 2:
        yield ProvenanceFact(Topic.STRING_ABI, "mixed", f"{spelled['new']} and {spelled['old']}")
        return
    sure = Confidence.HIGH if spelled else Confidence.MEDIUM
    spelled = spelled or string_abis(b.name for b in imports if b.owner is Owner.CXX)
    if "new" in spelled:
        yield ProvenanceFact(Topic.STRING_ABI, "new", spelled["new"], sure)
    elif "old" in spelled:
        yield ProvenanceFact(Topic.STRING_ABI, "old", spelled["old"], sure)


def _cxx_library(facts: SharedObject, names: Iterable[str]) -> Iterator[ProvenanceFact]:
    inline = next((name for name in names if "NSt3__1" in name or name.startswith("_ZSt3__1")), None)
    needed = next((soname for soname in facts.needed if soname.startswith("libc++.so")), None)
    if inline is not None or needed is not None:
        yield ProvenanceFact(Topic.CXX_LIBRARY, "libc++", needed or str(inline))
    needed = next((soname for soname in facts.needed if soname.startswith("libstdc++")), None)
    if needed is not None:
        yield ProvenanceFact(Topic.CXX_LIBRARY, "libstdc++", needed)


def _debug_modes(names: Iterable[str]) -> Iterator[ProvenanceFact]:
    found: dict[str, str] = {}
    for name in names:
        if name.startswith("__"):
            for start, sanitizer in _SANITIZERS.items():
                if name.startswith(start):
                    found.setdefault(sanitizer, name)
        elif "NSt7__debug" in name or "11__gnu_debug" in name:
            found.setdefault("_GLIBCXX_DEBUG", name)
        elif name.startswith("_ZSt21__glibcxx_assert_fail"):
            found.setdefault("_GLIBCXX_ASSERTIONS", name)
    yield from (ProvenanceFact(Topic.DEBUG_MODE, value, name) for value, name in found.items())


def _torch(binary: Binary, names: Collection[str], made: Provenance, origin: FactOrigin) -> Iterator[ProvenanceFact]:
    if made.built_for is not None:
        yield ProvenanceFact(Topic.TORCH, made.built_for, made.built_for_source or "", Confidence.MEDIUM)
    elif made.torch_releases is not None:
        value = made.torch_releases.text(last=", ") or "no release"
        yield ProvenanceFact(Topic.TORCH, value, "the releases that export all its torch imports")
    if binary.exports_name(AOTINDUCTOR):
        yield ProvenanceFact(Topic.AOTINDUCTOR, "a compiled model", f"exports {AOTINDUCTOR}")
        if CALLS_BY_NAME in names:
            yield ProvenanceFact(Topic.AOTINDUCTOR, "calls operators that have no C shim", f"imports {CALLS_BY_NAME}")
    label = re.search(_LABEL, origin.version) if origin.version else None
    if label is not None:
        yield ProvenanceFact(Topic.TORCH_LABEL, label[1], f"version {origin.version} of its distribution")


def _python(
    binary: Binary, imports: Iterable[CheckedImport], made: Provenance, origin: FactOrigin
) -> Iterator[ProvenanceFact]:
    names = [bound.name for bound in imports if bound.owner is Owner.PYTHON]
    if not names:
        return
    ids = pybind11_ids(binary) if _OF_PYBIND11 in names else ()
    for text in dict.fromkeys(raw.decode("ascii", "replace") for raw in ids):
        yield ProvenanceFact(Topic.PYBIND11, text.strip("_").removeprefix("pybind11_internals_"), text)
    if made.python_abi not in (None, "any"):
        yield ProvenanceFact(
            Topic.PYTHON_ABI, str(made.python_abi), f"file name {origin.package_path.rpartition('/')[2]}"
        )
    free = next((name for name in names if name in _FREE_THREADED), None)
    if free is not None:
        yield ProvenanceFact(Topic.PYTHON_ABI, "free-threaded", free)
    since = stable_abi()
    outside = sorted(name for name in names if name not in since)
    if outside:
        value = f"{len(outside)} of {len(names)} CPython names outside of the limited API"
        yield ProvenanceFact(Topic.PYTHON_ABI, value, ", ".join(outside[:3]) + (", ..." if len(outside) > 3 else ""))
        return
    yield ProvenanceFact(Topic.PYTHON_ABI, "limited API", f"all its {len(names)} CPython names", Confidence.MEDIUM)
    if (made.python_abi or "").startswith("cp"):
        return  # the file is for one CPython, whatever it imports
    newest = max(names, key=lambda name: (_parts(since[name]), name))
    yield ProvenanceFact(Topic.PYTHON_FLOOR, since[newest], f"{newest} is in the limited API since then")


def pybind11_ids(binary: Binary) -> Iterator[bytes]:
    """The strings of its read-only data that contain the id of pybind11's internals."""
    return binary.strings_with(PYBIND11, _GAP)


def _cuda(made: Provenance) -> Iterator[ProvenanceFact]:
    if made.cuda is not None:
        yield ProvenanceFact(Topic.CUDA, made.cuda, "the soname of a CUDA library that it needs")
    versions = [image.ptx_version for image in made.gpu_images if image.ptx_version is not None]
    if versions:
        from abiscan.model.cuda_driver import toolkit_of_ptx

        newest = max(versions, key=_parts)
        value = toolkit_of_ptx(newest)
        if value is not None:
            yield ProvenanceFact(Topic.CUDA, value, f"PTX ISA {newest} of its device code", Confidence.MEDIUM)
    for image in made.gpu_images:
        form = {DeviceCode.PTX: "PTX", DeviceCode.LTO_IR: "LTO IR"}.get(image.code, "machine code")
        packed = f", {image.compressed} compressed" if image.compressed else ""
        linked = ", to be linked" if image.relocatable else ""
        images = f"{image.images} image{'s' * (image.images != 1)} of {form}{packed}{linked}"
        yield ProvenanceFact(Topic.GPU, image.architecture, images)


def _floors(facts: SharedObject) -> Iterator[ProvenanceFact]:
    """The newest version of each family, and an import that requires it."""
    newest: dict[str, tuple[tuple[int, ...], str]] = {}
    elsewhere = other_c_library(facts.needed) is not None
    for need in facts.version_needs:
        numbered = need.numbered
        # libgcc_s of some machines has versions named GLIBC_, with any C library.
        if numbered is not None and not need.weak and not (elsewhere and numbered[0] == "GLIBC"):
            family, version = numbered
            newest[family] = max(newest.get(family, ((), "")), (version, need.name))
    for family, (version, name) in newest.items():
        user = min((i.name for i in facts.imports if i.version is not None and i.version.name == name), default=None)
        source = name if user is None else f"{user}@{name}"
        yield ProvenanceFact(_FAMILIES[family], ".".join(map(str, version)), source)
    tag = fitting_platform(facts.version_needs, facts.machine) if newest and not elsewhere else None
    if tag is not None:
        yield ProvenanceFact(Topic.MANYLINUX, tag, "its symbol versions; other rules of the tag are not checked")


def _machine(facts: SharedObject, *, executable_stack: bool) -> Iterator[ProvenanceFact]:
    if executable_stack:
        yield ProvenanceFact(Topic.EXECUTABLE_STACK, "required", "PT_GNU_STACK")
    for tag, value in (("DT_RPATH", facts.rpath), ("DT_RUNPATH", facts.runpath)):
        for directory in dict.fromkeys(value.split(":") if value else ()):
            if not directory.startswith(("/", "$ORIGIN", "${ORIGIN}")):
                # An empty entry is the working directory (glibc's fillin_rpath); an empty path has no entries.
                yield ProvenanceFact(Topic.RUN_PATH, directory or ".", f"{tag}, below the working directory")
            elif directory.startswith("/") and not _is_of_the_system(directory):
                yield ProvenanceFact(Topic.RUN_PATH, directory, tag)
    for soname in facts.needed:
        stem = soname.partition(".so")[0]
        if stem.startswith("lib") and ("-" in stem or "." in stem) and re.fullmatch(_BUNDLED, soname) is not None:
            yield ProvenanceFact(Topic.BUNDLED_RUNTIME, soname, "a needed library that the wheel bundles")


def _is_of_the_system(directory: str) -> bool:
    return any(f"{directory}/".startswith((f"{known}/", f"{known}64/", f"{known}-")) for known in _SYSTEM_DIRECTORIES)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
