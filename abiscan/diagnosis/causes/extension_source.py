"""extension-source-not-built: a symbol of the file's own project that nothing exports, because an object was not
linked."""

from __future__ import annotations

import re
from typing import Final

from abiscan.diagnosis.catalogue.load_packages import package_of_file, packages_by_namespace
from abiscan.diagnosis.causes.library_versions import is_installed_in_link
from abiscan.diagnosis.causes.system_libraries import is_symbol_version
from abiscan.diagnosis.fixes import extension_fixes, package_commands
from abiscan.diagnosis.fixes.file_package import distribution_of_file
from abiscan.diagnosis.fixes.package_commands import find_package
from abiscan.diagnosis.fixes.safe_names import normalised, safe
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.mangling import CxxName, NameKind
from abiscan.model.cause import CauseId
from abiscan.model.imports import Owner, Status
from abiscan.model.module_name import module_name
from abiscan.ownership import torch_names
from abiscan.ownership.names import STANDARD_SCOPES, is_python_name
from abiscan.ownership.standard_libraries import is_glibc_name
from abiscan.ownership.vendors import is_header_only, vendor_of_library

_WORD = r"[a-z]+|\d+"
# Words in file names that do not identify a project.
_COMMON = frozenset(
    (
        *("c", "lib", "so", "cpython", "cuda", "cpu", "gpu", "ext", "torch", "linux", "gnu", "ops", "abi", "x", "py"),
        *("core", "module", "python"),
    )
)
# torch.utils.ffi, which torch 1.0 removed, named its builds `_ext/NAME/_NAME.so`.
_OF_FFI = r"(?:^|/)_ext/(?:[\w-]+/)*_\w+\.so$"
_CPU_FILE = r"(?:^|[_.-])cpu(?:[_.-]|$)"
_LINKED_BINARY = "__cudaRegisterLinkedBinary"


_OF_MKL: Final = "libmkl_"


def causes(missing: MissingName) -> Candidates:
    """For names without another owner."""
    if missing.reference.library is not None or missing.reference.version is not None:
        return
    if missing.name.startswith(_LINKED_BINARY):
        yield from row_causes("device-link-missing", missing, symbol=missing.name)
        return
    if missing.is_torch_name or is_python_name(missing.name) or is_symbol_version(missing.name):
        return
    library = missing.reference.provider if missing.reference.status is Status.UNREACHABLE else None
    if library is not None:
        copies = library in (needed.rpartition("/")[2] for needed in missing.file.needed)
        stem = safe(library.split(".")[0].removeprefix("lib"), "NAME")
        yield from row_causes(
            "symbol-of-library-out-of-scope",
            missing,
            commands={"stem": stem, "path": safe(missing.file.path, "FILE")},
            library=library,
            copies=copies,
        )
        return
    if missing.cxx is None:
        is_own = missing.vendor is None and not is_installed_in_link(missing)
        if is_own and _is_linked_program(missing) and not is_glibc_name(missing.name):
            yield from _linked_program(missing)
        elif is_own and missing.name_kind in (NameKind.C, NameKind.MACHO):
            yield from _c_name(missing)
        return
    if _is_of_sycl(missing.cxx) and not missing.reference.link_time:
        yield from row_causes(
            "symbol-of-sycl-runtime", missing, symbol=missing.shown, file=missing.file.file_name or "the file"
        )
        return
    if missing.namespace in STANDARD_SCOPES:
        return
    if missing.file.is_torch_itself:
        if missing.reference.link_time and missing.file.facts is None:
            yield from row_causes(
                "torch-library-lacks-part",
                missing,
                commands={"path": safe(missing.file.path, "FILE")},
                symbol=missing.shown,
                file=missing.file.file_name,
                of_protobuf=re.match(r"google::protobuf|onnx_?\w*::|caffe2::\w*Proto", missing.shown) is not None,
            )
        return
    vendor = vendor_of_library(missing.file.file_name) if missing.file.facts is None else None
    if vendor is not None and vendor.cuda:
        return  # of `vendor_libraries`
    if vendor is not None and vendor.owner is Owner.HIP:
        file, path = missing.file.file_name, missing.file.path
        yield from row_causes("library-of-rocm-lacks-part", missing, symbol=missing.shown, file=file, path=path)
        return
    if vendor is not None or (missing.file.facts is None and missing.file.base_name.startswith(_OF_MKL)):
        file, path, of_sycl = missing.file.file_name, missing.file.path, missing.namespace == "sycl"
        yield from row_causes(
            "library-of-vendor-lacks-part", missing, symbol=missing.shown, file=file, path=path, of_sycl=of_sycl
        )
        return
    yield from _linked_program(missing) if _is_linked_program(missing) else _cxx_name(missing)


def _is_linked_program(missing: MissingName) -> bool:
    """Whether a loader reported it for the path of a program: a link of one ends only if each symbol is found."""
    reference, file = missing.reference, missing.file
    is_program = file.is_program and "/" in file.path and not reference.by_python
    return is_program and file.facts is None and not reference.link_time


def _linked_program(missing: MissingName) -> Candidates:
    yield from row_causes(
        "program-finds-other-library",
        missing,
        commands={"path": safe(missing.file.path, "FILE")},
        symbol=missing.shown,
        file=missing.file.file_name,
    )


def _is_of_sycl(cxx: CxxName) -> bool:
    """Whether the name is in the namespace of the SYCL runtime, which the standard reserves; before 2022 `cl::sycl`."""
    return cxx.scope[:2] in (("sycl", "_V1"), ("cl", "sycl"))


def _cxx_name(missing: MissingName) -> Candidates:
    cxx = missing.cxx
    assert cxx is not None
    own, score, reason = _of_own_project(missing, cxx)
    if own and _is_library_of_package(missing):
        score = min(score, 0.62)
        package = distribution_of_file(missing.file.path) or normalised(missing.file.path.split("/")[-3])
        yield from row_causes(
            "library-of-package-lacks-symbol",
            missing,
            commands={"package": safe(package or "", "PACKAGE"), "path": safe(missing.file.path, "FILE")},
            symbol=missing.shown,
            file=missing.file.file_name,
        )
    unknown = f"{missing.shown} is not a symbol of torch, Python, CUDA or the C++ library."
    yield Candidate(CauseId.EXTENSION_SOURCE_NOT_BUILT, score, (unknown, reason), _fix(missing, cxx.base))
    if not own:
        yield from _of_other_package(missing)
        if missing.reference.status is Status.MISSING:
            text = f"None of the libraries that the file needs exports {missing.shown} ({_scope(missing)})."
        else:
            text = f"{missing.shown} is in {_scope(missing)}; its library was not found or has another version."
        yield Candidate(
            CauseId.LIBRARY_NOT_LINKED,
            0.58,
            (text,),
            f"Link the library of {safe(missing.namespace or '', 'NAME')}, in the version of its headers.",
        )


def _of_own_project(missing: MissingName, cxx: CxxName) -> tuple[bool, float, str]:
    """Whether the symbol is of the file's own project, the score of a source that was not built, and a sentence."""
    is_own = missing.reference.owner is Owner.SELF
    if missing.namespace is None:
        return True, 0.88 if is_own else 0.78, "It has no namespace, like many functions that extensions define."
    if is_header_only(missing.namespace):
        header_only = f"The library of namespace {missing.namespace} is header-only"
        return True, 0.88 if is_own else 0.78, f"{header_only}: the file should define the symbol itself."
    if is_own:
        return True, 0.88, "The file exports other symbols of the same namespace."
    words, scope = _words("_".join(cxx.scope).lower()), "::".join(cxx.scope)
    if words & _words(missing.file.base_name):
        return True, 0.86, f"Its namespace {scope} shares a word with the file's name, {missing.file.base_name}."
    if words & _words_of_package(missing):
        return True, 0.86, f"Its namespace {scope} shares a word with the package of {missing.file.file_name}."
    return False, 0.55, f"It is unknown whether {_scope(missing)} is part of the extension or of another library."


def _is_library_of_package(missing: MissingName) -> bool:
    """Whether a text names a shared library, no module, in the folder `lib` or `libs` of an installed package."""
    path = missing.file.path
    installed = missing.file.facts is None and not missing.reference.link_time
    return installed and re.search(r"(?:[a-z]{4}-packages/(?:.*/)?|^)\w+/libs?/lib[\w+-]+\.so$", path) is not None


def _of_other_package(missing: MissingName) -> Candidates:
    """The namespace is that of another package, which links no extension for it: its library is loaded before."""
    namespace = missing.namespace or ""
    package = packages_by_namespace().get(namespace)
    if missing.reference.status is Status.MISSING:
        return
    if torch_names.is_device_plugin(namespace) and (package is None or not missing.file.path):
        module = namespace if namespace.startswith("torch_") else package.modules[0] if package else ""
        yield from row_causes("symbol-of-plugin", missing, symbol=missing.shown, scope=namespace, module=module)
    if package is None or not package.modules or not missing.file.path:
        return
    yield from row_causes(
        "symbol-of-other-package",
        missing,
        commands={"install": "\n".join(package_commands.install(package, missing))},
        symbol=missing.shown,
        package=package.name,
        module=package.modules[0],
    )


def _words_of_package(missing: MissingName) -> set[str]:
    """Words in the folders of the file and in the catalogue entry of its package."""
    path = missing.file.path
    known = package_of_file(path) if path else None
    names = () if known is None else (known.name, *known.modules, *known.namespaces)
    return _words("_".join((*re.split(r"[/\\]", path)[-3:-1], *names)).lower())


def _scope(missing: MissingName) -> str:
    """The outermost scope in a sentence. If it is the only one, a mangled name does not show whether it is a class or
    namespace."""
    only = missing.cxx is not None and len(missing.cxx.scope) == 1
    return f"{'namespace or class' if only else 'namespace'} {missing.namespace}"


def _c_name(missing: MissingName) -> Candidates:
    if missing.name.startswith(("_Z", "__Z")):
        return  # a C++ name that cannot be parsed
    file = missing.file
    built_elsewhere = file.is_torch_itself or (file.facts is None and vendor_of_library(file.file_name) is not None)
    if file.facts is None and not missing.reference.bare and is_glibc_name(missing.name):
        yield from row_causes(
            "glibc-lacks-symbol", missing, symbol=missing.name, path=file.path, built_elsewhere=built_elsewhere
        )
        return
    if built_elsewhere:
        yield from row_causes(
            "library-lacks-symbol-of-other-library",
            missing,
            symbol=missing.name,
            file=file.file_name,
            path=file.path,
            torch_library=file.is_torch_itself,
            macos=missing.macho or missing.reference.macos,
        )
        return
    yield from row_causes(
        "c-symbol-of-no-library",
        missing,
        commands={"add_source": _fix(missing, missing.name)},
        symbol=missing.name,
        bare=missing.reference.bare,
        of_ffi=re.search(_OF_FFI, file.path) is not None,
        cpu_file=file.base_name if re.search(_CPU_FILE, file.base_name) else "",
        system_file=file.file_name if _is_of_system(file.path) else "",
        path=file.path,
        module=_is_python_module(missing),
    )


def _is_of_system(path: str) -> bool:
    """Whether a library is in a system directory, outside of Python's packages."""
    return (
        path.startswith(("/usr/lib", "/usr/local/", "/lib", "/opt/"))
        and "-packages/" not in path
        and re.fullmatch(r"lib[\w+-]+\.so(?:\.\d+)+", path.rsplit("/", 1)[-1]) is not None
    )


def _is_python_module(missing: MissingName) -> bool:
    """Whether the file may be a Python module: plugins of other programs usually miss a function of a library."""
    if missing.file.facts is not None or not missing.file.path:
        return True
    path = missing.file.path.replace("\\", "/").lower()
    if any(word in path for word in ("-packages/", ".egg", "torch", "python")):
        return True
    base = missing.file.base_name
    importable = module_name(base) is not None or base.startswith("lib") or base.endswith((".pyd", ".dylib"))
    return importable and not path.startswith(("/usr/", "/lib"))


def _fix(missing: MissingName, base: str) -> str:
    sources = _add_source(missing, base)
    name, known = extension_fixes.package(missing), find_package(missing)
    if missing.file.facts is not None or missing.reference.link_time or (name is None and known is None):
        return sources
    if known is not None:
        again = "\n".join(extension_fixes.reinstall(missing))
        return f"{again}\nIf that does not help, another release of {known.name}. In its source: {sources}"
    # What others build without an error is complete: submodules, or a clean tree, are missing here.
    clone = f"git clone --recursive REPOSITORY && cd REPOSITORY  # of {name}: a clean tree with all submodules\n"
    return f"{clone}{extension_fixes.rebuild(missing)}\nIf that does not help: {sources}"


# Functions that extensions define in a .cu file: `nms_cuda`, `BallQueryKernelLauncher`.
_OF_KERNEL = r"(?i:_(?:cuda|gpu)(?:_|$)|cuda_?(?:forward|backward|kernel)|kernel_?launch)"


_OF_GPU = r"(?i:(?<![a-z])sm_?(\d{2,3}))(?!\d)"


def _add_source(missing: MissingName, base: str) -> str:
    text = (
        f"Add the source file that defines it to sources= in setup.py (or to the CMake target): grep -rn "
        f"{safe(base, 'NAME')} ."
    )
    if re.search(_OF_KERNEL, base) is not None:
        text += (
            "\nIf it is a .cu file that is listed: the build found no CUDA, or another one than torch's. "
            "nvcc --version; python -c 'import torch; print(torch.version.cuda, torch.cuda.is_available())'  "
            "# one release, and True; then: rm -rf build *.egg-info; export FORCE_CUDA=1; "
            f"{extension_fixes.rebuild(missing)}"
        )
    gpu = re.search(_OF_GPU, base)
    if gpu is not None and missing.cxx is not None:
        capability = f"{gpu[1][:-1]}.{gpu[1][-1]}"
        # A file for one GPU is left out by the list of GPUs or by an older nvcc, whatever setup.py lists.
        return (
            f"{gpu[0]} in its name: it is code for GPUs of compute capability {capability}, which the build left out, "
            f"and a file of another build calls it. nvcc --version  # must support that GPU\n"
            f'In a clean tree: rm -rf build *.egg-info; export TORCH_CUDA_ARCH_LIST="X.Y;{capability}"  # X.Y: that of '
            f"your GPU\n{extension_fixes.rebuild(missing)}\nIf that does not help: {text}"
        )
    if missing.namespace is not None or missing.cxx is not None:
        text += (
            "\nIf it is defined under #if or for some architectures (TORCH_CUDA_ARCH_LIST), build for that "
            "architecture or guard the call."
        )
    return text


def _words(text: str) -> set[str]:
    return {word for word in re.findall(_WORD, text) if len(word) > 2 and word not in _COMMON}
