"""Windows did not load a library: what its two messages can mean for torch and its extensions."""

from __future__ import annotations

from abiscan.diagnosis import fixes
from abiscan.diagnosis.causes.built_for import by_label
from abiscan.diagnosis.messages.mention import Mention
from abiscan.diagnosis.messages.windows_messages import (
    INITIALIZATION_FAILED,
    NO_MEMORY,
    PROCEDURE_NOT_FOUND,
    REASON_CUT_OFF,
)
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model.cause import CauseId
from abiscan.ownership import torch_names

_WHICH = "dumpbin /dependents {file}  # what it needs; the program Dependencies shows what of it is not found"


def dll(mention: Mention, missing: MissingName) -> Candidates:
    """A DLL, or one that it needs, was not found (126), or has not the function that is asked of it (127)."""
    yield from by_label(missing)
    in_torch = "/torch/lib/" in (mention.library or "").replace("\\", "/").lower()
    of_torch = mention.by_torch or in_torch or torch_names.is_torch_library(mention.text)
    named = mention.text != "a DLL"
    if mention.version == NO_MEMORY:
        refused = (
            f"Windows refused to map {mention.text if named else 'a DLL'}: what may be committed of "
            "memory and paging file "
            "is used up. Nothing is wrong with the file.",
        )
        fix = (
            "Enlarge the paging file (System, Advanced, Performance, Virtual memory), or close other "
            "programs; every worker "
            "process of a DataLoader maps torch's DLLs again: num_workers=0."
        )
        yield Candidate(CauseId.UNUSABLE_FILE, 0.9, refused, fix)
    elif mention.version == INITIALIZATION_FAILED:
        yield from _not_initialized(mention.text if named else "a DLL", of_torch)
    elif mention.version == REASON_CUT_OFF:
        yield from _for_some_reason(mention.text)
    elif mention.version == PROCEDURE_NOT_FOUND:
        yield from _no_procedure(mention.text if named else "The file", of_torch)
    else:
        yield from _no_module(mention.text if named else None, of_torch)


def _no_module(name: str | None, of_torch: bool) -> Candidates:
    shown = name or "a DLL"
    evidence = [f"Windows did not find {shown}, or one that it needs: its message does not say which."]
    file = fixes.word(name or "", "FILE") if of_torch or (name or "").endswith(".dll") else "FILE.pyd"
    runtime = "Install the Visual C++ runtime of Microsoft (vc_redist.x64.exe)."
    fix = f"{runtime}\n{_WHICH.format(file=file)}"
    if not of_torch:
        yield Candidate(CauseId.LIBRARY_MISSING, 0.7, tuple(evidence), fix)
        yield Candidate(
            CauseId.IMPORT_TORCH_FIRST,
            0.55,
            (*evidence, "On Windows `import torch` puts torch's folder among those that are searched."),
            "import torch  # before the extension",
        )
        yield Candidate(
            CauseId.CUDA_LIBRARY_MISMATCH,
            0.5,
            (*evidence, "An extension for another CUDA asks for cudart and cuBLAS by that CUDA's number."),
            "Install the build of the extension for the CUDA of this torch: python -c 'import torch; "
            "print(torch.version.cuda)'",
        )
        return
    if name is None:
        evidence.append("It was torch itself that was imported: the DLL is torch's, or one that torch needs.")
    else:
        evidence.append(f"{shown} lies in torch's own folder, so that it is most likely one that it needs.")
    if shown.lower() == "fbgemm.dll":
        evidence.append("fbgemm.dll of torch 2.3 and 2.4 needs libomp140.x86_64.dll (pytorch/pytorch issue 129568).")
        fix = f"Install another release of torch, or Microsoft's C++ build tools, which bring that DLL.\n{fix}"
    elif shown.lower().startswith("cudnn"):
        evidence.append("cuDNN 8 needs zlibwapi.dll, which it does not bring along.")
    yield Candidate(CauseId.LIBRARY_MISSING, 0.85, tuple(evidence), fix)


def _not_initialized(name: str, of_torch: bool) -> Candidates:
    evidence = (f"{name} and what it needs were found; the code that one of them runs when it is loaded failed.",)
    yield Candidate(
        CauseId.LIBRARY_MISSING,
        0.65,
        (*evidence, "An old Visual C++ runtime is the usual reason: what is compiled with a newer one fails so."),
        "Install the newest Visual C++ runtime of Microsoft (vc_redist.x64.exe), and start again.",
    )
    if name.lower().endswith(".dll") and not of_torch:
        return  # of another program
    yield Candidate(
        CauseId.IMPORT_TORCH_FIRST,
        0.6,
        (*evidence, "A library that was loaded before may have brought an older runtime (msvcp140.dll) of its own."),
        "import torch  # before PyQt, pandas, cv2 and the like",
    )
    yield Candidate(
        CauseId.CUDA_LIBRARY_MISMATCH, 0.5, (*evidence, "Or a DLL of CUDA does not fit the driver."), "nvidia-smi"
    )


def _for_some_reason(name: str) -> Candidates:
    loaded = f"Windows did not load {name}; what it gave as the reason is not in the text, and would decide."
    module = "`The specified module could not be found`: a DLL that it needs is not on the machine or not on its path."
    procedure = "`The specified procedure could not be found`: a DLL that it needs is of another release."
    file = fixes.word(name, "FILE") if name.lower().endswith(".dll") else "FILE.pyd"
    rebuild = (
        "Install the build of the extension for this torch and its CUDA: python -c 'import torch; "
        "print(torch.__version__, torch.version.cuda)'"
    )
    yield Candidate(CauseId.LIBRARY_MISSING, 0.5, (loaded, module), _WHICH.format(file=file))
    cuda = f"{module} Of an extension for another CUDA release that is cudart or cuBLAS, whose names have its number."
    yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, 0.45, (loaded, cuda), rebuild)
    yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.42, (loaded, procedure), rebuild)
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.41, (loaded, procedure), rebuild)


def _no_procedure(name: str, of_torch: bool) -> Candidates:
    evidence = (
        f"{name} was found; a DLL that it needs has not a function that it imports. Windows does not say which.",
    )
    if of_torch:
        fix = (
            "pip uninstall -y torch  # until none is left, then install one\n"
            "where c10.dll  # another copy in PATH, of conda or of a program, may be found first"
        )
        text = "It is of torch's own folder: libraries of two torches, or of two runtimes, are mixed."
        yield Candidate(CauseId.DISTRIBUTION_VARIANT, 0.7, (*evidence, text), fix)
        return
    fix = (
        "Install the build of the extension that was made for the torch that is there (python -c 'import torch; "
        "print(torch.__version__)'), or build it from source against it: pip install --no-build-isolation "
        "--no-cache-dir --force-reinstall --no-deps ."
    )
    text = "An extension imports functions of torch that other releases do not have."
    yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.68, (*evidence, text), fix)
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.66, (*evidence, text), fix)
    yield Candidate(
        CauseId.DISTRIBUTION_VARIANT,
        0.5,
        (*evidence, "Or it was built for the other variant (CPU, another CUDA)."),
        fix,
    )
