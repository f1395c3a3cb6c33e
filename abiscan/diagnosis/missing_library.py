"""Causes for a library that the loader did not find: of torch, Python, CUDA and others."""

from __future__ import annotations

import re

import msgspec

from abiscan.diagnosis import cuda_on_macos, fixes, package_commands
from abiscan.diagnosis.catalogue.load_packages import package_of_file
from abiscan.diagnosis.hip_sources import lacks_cuda
from abiscan.diagnosis.messages.gpu_vendors import DCU
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.missing_torch_library import (
    causes_for_torch,
    is_of_program,
    not_in_folder,
    own_library,
)
from abiscan.diagnosis.ranking import Candidate, Candidates
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
        evidence = cuda_on_macos.evidence_for(name)
        yield Candidate(CauseId.CUDA_BUILD_REQUIRED, cuda_on_macos.SCORE, evidence, cuda_on_macos.FIX)
    elif missing.log.gpu and not at_link_time and not by_torch and lacks_cuda(name, missing):
        yield _on_hip(name, missing)
    elif name.endswith(".lib"):
        yield from _import_library(name, missing)
    elif searched is not None and at_link_time and is_torch_library(name):
        yield not_in_folder(name, searched)
    elif is_torch_library(name) and missing.file.is_torch_itself and not at_link_time and missing.file.facts is None:
        yield own_library(name, missing)
    elif is_torch_library(name):
        yield from causes_for_torch(name, missing, at_link_time, names_program and is_of_program(missing.file))
    elif name.startswith("ld-linux") and missing.file.facts is None:
        of_glibc = (
            f"{name} was not found: it is the loader of glibc, for the processor in its name. This system has "
            f"another C library or processor."
        )
        fix = "Use a system or container image with glibc (Debian instead of Alpine), or build the file on this system."
        yield Candidate(CauseId.UNUSABLE_FILE, 0.9, (of_glibc,), fix)
    elif (python := re.match(_PYTHON, name)) is not None:
        yield from _python(name, f"{python[1]}.{python[2]}", missing)
    elif (torch := re.search(_FOR_TORCH, name)) is not None:
        yield from _named_for_torch(name, torch[1], missing)
    else:
        from abiscan.diagnosis.unfound_vendor_library import explain_library  # with system packages and messages

        yield from explain_library(name, missing, by_torch=by_torch)


_LIBPATH = (
    "Add torch\\lib to the link line: /LIBPATH: and the folder that this prints, or use torch.utils.cpp_extension:\n"
    "python -c \"import torch, os; print(os.path.join(os.path.dirname(torch.__file__), 'lib'))\""
)
_CUDA_BUILD_AT_LINK_TIME = (
    'python -c "import torch; print(torch.__version__, torch.version.cuda)"\n'
    "(None is a CPU build, which has no such library: pip install --force-reinstall torch --index-url "
    "https://download.pytorch.org/whl/cu126, or the index of another CUDA)"
)
_PYTHON_IMPORT = r"python(\d)(\d{1,2})(?:_d)?\.lib"


def _import_library(name: str, missing: MissingName) -> Candidates:
    """link.exe needs an import library: `torch_python.lib`, `python310.lib`."""
    python = re.fullmatch(_PYTHON_IMPORT, name)
    as_library = f"lib{name.removesuffix('.lib')}.so"
    if python is not None:
        evidence = (
            f"link.exe did not find {name}, the import library of CPython {python[1]}.{python[2]} (folder libs "
            f"beside python.exe).",
        )
        fix = "Add /LIBPATH: with that folder. Use the folder of the base installation: a venv has no libs."
        yield Candidate(CauseId.LIBRARY_MISSING, 0.75, evidence, fix)
        yield Candidate(
            CauseId.PYTHON_ABI_MISMATCH,
            0.55,
            (*evidence, "The build may be configured for another Python."),
            fix,
        )
    elif is_torch_library(as_library):
        for candidate in causes_for_torch(as_library, missing, True, False):
            said = tuple(each.replace(as_library, name) for each in candidate.evidence)
            fix = _LIBPATH if candidate.cause is CauseId.LIBRARY_MISSING else candidate.fix
            if fix == _LIBPATH and accelerator_of(as_library) is not None:
                fix = f"{_CUDA_BUILD_AT_LINK_TIME}\n{fix}"
            yield msgspec.structs.replace(candidate, evidence=said, fix=fix)
    else:
        vendor = vendor_of_library(as_library)
        lacking = [f"link.exe did not find {name} in the folders of /LIBPATH: and LIB."]
        fix = f"Add the folder that contains {fixes.safe(name, 'it')}: /LIBPATH:FOLDER"
        if vendor is not None:
            lacking.append(f"It is part of {vendor.product}.")
        if vendor is not None and vendor.cuda:
            fix = "set CUDA_HOME=C:\\...\\CUDA\\vX.Y  # path of the toolkit\nor: /LIBPATH:%CUDA_HOME%\\lib\\x64"
        yield Candidate(CauseId.LIBRARY_MISSING, 0.85, tuple(lacking), fix)


def _on_hip(name: str, missing: MissingName) -> Candidate:
    """A library of CUDA, on a machine that has none."""
    vendor, product = ("Hygon", "DTK") if missing.log.gpu == DCU else ("AMD", "ROCm")
    evidence = (
        f"The loader did not find {name}, a library of CUDA or of torch's builds for CUDA.",
        f"According to the text, the GPU is {vendor}'s: torch for it is built for {product} and does not contain "
        f"{name}. The file was built for CUDA.",
    )
    project = missing.log.project or None
    way = fixes.rebuild(missing, project=project)
    space = "\n" if "\n" in way else " "
    fix = f"With torch for {product} installed, build it:{space}{way}"
    if product == "ROCm" and project in (None, "torchvision", "torchaudio"):
        fix += (
            "\nor, where it belongs to torchvision or torchaudio: pip install --force-reinstall torch torchvision "
            "torchaudio --index-url https://download.pytorch.org/whl/rocmX.Y  # X.Y: that of torch.version.hip"
        )
    return Candidate(CauseId.ROCM_NAMING, 0.93, evidence, fix)


def _named_for_torch(name: str, version: str, missing: MissingName) -> Candidates:
    """A library of an extension for one torch, with its version in the name."""
    evidence = (
        f"The extension has no library for torch {version}, the installed torch: {name} was not found.",
        "The extension contains one library per torch release and loads the one for the installed torch.",
    )
    package = package_of_file(name)
    known = () if package is None else package_commands.for_release(package, version, missing)
    fix = "\n".join(known) or (
        f"Install the release of the extension for torch {version}, or a torch release for which the extension has a "
        f"library."
    )
    yield Candidate(CauseId.LIBRARY_MISSING, 0.82, evidence, fix)
    older = "Usually that torch is newer than the release of the extension."
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.7, (*evidence, older), fix)


def _python(name: str, version: str, missing: MissingName) -> Candidates:
    environment = missing.environment
    evidence = [f"{name} was not found: it is the shared library of CPython {version}."]
    score = 0.75
    otherwise = 0.78
    if environment is not None and environment.python is not None:
        here = str(environment.python)
        if here == version:
            score = 0.4
            evidence.append(
                f"This interpreter is also CPython {here}, but may be linked statically and have no libpython."
            )
        else:
            score, otherwise = 0.92, 0.6
            evidence.append(f"This interpreter is CPython {here}.")
    fix = (
        f"Use CPython {version}, or install the build of the extension for this interpreter.\nTo build the wheel "
        f"yourself: do not link libpython (-lpython{version})."
    )
    yield Candidate(CauseId.PYTHON_ABI_MISMATCH, score, tuple(evidence), fix)
    yield Candidate(
        CauseId.LIBRARY_MISSING,
        otherwise,
        (
            *evidence,
            "If that CPython is installed (conda, pyenv), its lib folder is not in the search path of the loader.",
        ),
        f"Install it (Debian: apt install libpython{version}; conda: conda install python={version}), or "
        f"add its directory to LD_LIBRARY_PATH.",
    )
