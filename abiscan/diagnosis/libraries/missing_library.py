"""Causes for a library that the loader did not find: of torch, Python, CUDA and others."""

from __future__ import annotations

import re

import msgspec

from abiscan.diagnosis.catalogue.load_packages import package_of_file
from abiscan.diagnosis.fixes import extension_fixes, wheel_choice
from abiscan.diagnosis.fixes.hip_sources import lacks_cuda
from abiscan.diagnosis.libraries import cuda_on_macos
from abiscan.diagnosis.libraries.missing_torch_library import causes_for_torch, is_of_program, is_of_server
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidates
from abiscan.diagnosis.reference import ReferringFile
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.diagnosis.text.gpu_vendors import DCU
from abiscan.model.cause import CauseId
from abiscan.ownership.torch_names import accelerator_of, is_torch_library
from abiscan.ownership.vendors import vendor_of_library

# `libgraphbolt_pytorch_2.4.1.so`, `libx_torch27.so`: packages with one library per torch open the one for the installed
# torch.
_FOR_TORCH = r"(?:py)?torch[-_]?v?(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)"
_PYTHON = r"libpython(\d)\.(\d+)m?\.(?:so|dylib)"


def causes(
    name: str,
    missing: MissingName,
    *,
    at_link_time: bool = False,
    names_program: bool = False,
    by_torch: bool = False,
    searched: str | None = None,
) -> Candidates:
    """Causes for a missing library, by its file name.

    Args:
        searched: folder of torch libraries in which a linker searched it.
        by_torch: torch itself was imported, not an extension.
        names_program: the file that needs it is known from the loader, which puts the program's name first.
    """
    if cuda_on_macos.needs_library(name, missing):
        yield from row_causes("cuda-on-macos", missing, needed=name)
    elif missing.log.gpu and not at_link_time and not by_torch and lacks_cuda(name, missing):
        yield from _on_hip(name, missing)
    elif name.endswith(".lib"):
        yield from _import_library(name, missing)
    elif searched is not None and at_link_time and is_torch_library(name):
        of_python = name.startswith("libtorch_python")
        yield from row_causes("library-not-in-folder", missing, library=name, folder=searched, of_python=of_python)
    elif is_torch_library(name) and _is_of_other_torch_file(name, missing.file) and not at_link_time:
        yield from row_causes("own-library-of-torch-missing", missing, library=name)
    elif is_torch_library(name):
        is_program = is_of_program(missing.file) or missing.file.file_name == name
        of_program = (names_program and is_program) or is_of_server(missing)
        yield from causes_for_torch(name, missing, at_link_time, of_program)
    elif missing.file.base_name in _OF_GCC and missing.file.facts is None:
        of_system = "yes" if missing.file.path.startswith("/usr/lib") else ""
        program = missing.file.base_name
        yield from row_causes(
            "library-of-compiler-missing", missing, library=name, program=program, of_system=of_system
        )
    elif name.startswith("ld-linux") and missing.file.facts is None:
        yield from row_causes("loader-of-glibc-missing", missing, library=name)
    elif (python := re.match(_PYTHON, name)) is not None:
        yield from _python(name, f"{python[1]}.{python[2]}", missing)
    elif (torch := re.search(_FOR_TORCH, name)) is not None:
        yield from _named_for_torch(name, torch[1], missing)
    else:
        from abiscan.diagnosis.libraries.unfound_vendor_library import (
            explain_library,  # with system packages and messages
        )

        yield from explain_library(name, missing, by_torch=by_torch)


# Programs that gcc and g++ start.
_OF_GCC = frozenset(("cc1", "cc1plus", "cc1obj", "f951", "lto1", "collect2", "as", "ld"))

_LIBPATH = (
    "Add torch\\lib to the link line: /LIBPATH: and the folder that this prints, or use torch.utils.cpp_extension:\n"
    "python -c \"import torch, os; print(os.path.join(os.path.dirname(torch.__file__), 'lib'))\""
)
_CUDA_BUILD_AT_LINK_TIME = (
    'python -c "import torch; print(torch.__version__, torch.version.cuda)"\n'
    "(None is a CPU build, which has no such library: pip install --force-reinstall torch --index-url "
    "https://download.pytorch.org/whl/cu126, or the index of another CUDA)"
)
_PYTHON_IMPORT = r"python(\d)(\d{1,2})t?(?:_d)?\.lib"


def _is_of_other_torch_file(name: str, file: ReferringFile) -> bool:
    """Whether another library of torch needs it: people write `X: error while loading shared libraries: X: ...`."""
    return file.is_torch_itself and file.facts is None and file.file_name != name


def _import_library(name: str, missing: MissingName) -> Candidates:
    """link.exe needs an import library: `torch_python.lib`, `python310.lib`."""
    python = re.fullmatch(_PYTHON_IMPORT, name)
    as_library = f"lib{name.removesuffix('.lib')}.so"
    if python is not None:
        version = f"{python[1]}.{python[2]}"
        yield from row_causes("import-library-of-python-missing", missing, library=name, version=version)
    elif is_torch_library(as_library):
        for candidate in causes_for_torch(as_library, missing, True, False):
            said = tuple(each.replace(as_library, name) for each in candidate.evidence)
            fix = _LIBPATH if candidate.cause is CauseId.LIBRARY_MISSING else candidate.fix_text
            if fix == _LIBPATH and accelerator_of(as_library) is not None:
                fix = f"{_CUDA_BUILD_AT_LINK_TIME}\n{fix}"
            yield msgspec.structs.replace(candidate, evidence=said, fix=fix)
    else:
        vendor = vendor_of_library(as_library)
        product, of_cuda = ("", False) if vendor is None else (vendor.product, vendor.cuda)
        yield from row_causes("import-library-missing", missing, library=name, product=product, of_cuda=of_cuda)


def _on_hip(name: str, missing: MissingName) -> Candidates:
    """A library of CUDA, on a machine that has none."""
    vendor, product = ("Hygon", "DTK") if missing.log.gpu == DCU else ("AMD", "ROCm")
    project = missing.log.project or None
    build = extension_fixes.rebuild(missing, project=project)
    build = f"\n{build}" if "\n" in build else f" {build}"
    companion = product == "ROCm" and project in (None, "torchvision", "torchaudio")
    yield from row_causes(
        "cuda-library-on-hip",
        missing,
        commands={"build": build},
        library=name,
        vendor=vendor,
        product=product,
        of_companion=companion,
    )


def _named_for_torch(name: str, version: str, missing: MissingName) -> Candidates:
    """A library of an extension for one torch, with its version in the name."""
    package = package_of_file(name)
    known = "\n".join(() if package is None else wheel_choice.for_release(package, version, missing))
    commands = {"known": known}
    yield from row_causes("library-for-one-torch-missing", missing, commands=commands, library=name, version=version)


def _python(name: str, version: str, missing: MissingName) -> Candidates:
    here = missing.environment.python
    relation = "" if here is None else "same" if str(here) == version else "other"
    yield from row_causes("libpython-missing", missing, library=name, version=version, relation=relation)
