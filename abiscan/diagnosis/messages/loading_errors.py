"""Errors of loading that name no missing symbol: static-tls-exhausted; a module without its init function."""

from __future__ import annotations

from abiscan.diagnosis import fixes
from abiscan.diagnosis.messages.mention import Mention
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model.cause import CauseId


def static_tls(mention: Mention) -> Candidates:
    """`cannot allocate memory in static TLS block`

    A library compiled with the initial-exec TLS model needs room in the block that glibc lays out when the process
    starts, with a little in reserve for what is loaded later (https://www.gnu.org/software/libc/manual, tunable
    glibc.rtld.optional_static_tls, glibc 2.32 and later; "ELF Handling For Thread-Local Storage", section 4.3).
    """
    path = mention.library
    name = fixes.word(mention.text, "the library") if path is not None else "the library"
    evidence = [
        f"{mention.text} has thread-local variables that must lie in the static TLS block, and the libraries that were "
        "loaded before have used up its reserve."
        if path is not None
        else "A library's thread-local variables must lie in the static TLS block, whose reserve is used up.",
        "Which libraries come first decides: nothing is wrong with the file, nor with the torch that it was built for.",
    ]
    preload = fixes.word(path, "/path/to/" + name) if path is not None and path.startswith("/") else f"/path/to/{name}"
    fix = (
        "Import it first: the module that fails (or torch) before cv2, sklearn, TensorFlow and the like.\n"
        f"or load the library with the process: LD_PRELOAD={preload} python ...\n"
        "or, with glibc 2.32 and later: GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384 python ..."
    )
    yield Candidate(CauseId.STATIC_TLS_EXHAUSTED, 0.93, tuple(evidence), fix)


def module_init(mention: Mention, missing: MissingName) -> Candidates:
    """`dynamic module does not define module export function (PyInit_x)`

    CPython calls `PyInit_` and the last part of the module's name; Python 2 `init` and it
    (https://docs.python.org/3/extending/extending.html).
    """
    two = mention.text.startswith("init")
    module = mention.text.removeprefix("PyInit_") if not two else mention.text.removeprefix("init")
    evidence = [f"The file was found and loaded, and has no function {mention.text}, which Python calls first."]
    name = fixes.word(module, "NAME")
    fix = (
        f"The name in PYBIND11_MODULE({name}, m) (or TORCH_EXTENSION_NAME) must be that of the file, {name}.*.so, and "
        "of the Extension in setup.py: rename one of them and build again from a clean tree.\n"
        f"A library that has TORCH_LIBRARY alone is no module: torch.ops.load_library(FILE) in place of import {name}."
    )
    yield Candidate(
        CauseId.EXTENSION_SOURCE_NOT_BUILT,
        0.7,
        (
            *evidence,
            "Either its sources define the module under another name, or as none, or it is left from another build.",
        ),
        fix,
    )
    yield Candidate(
        CauseId.PYTHON_ABI_MISMATCH,
        0.6,
        (
            *evidence,
            f"A module of Python {'3' if two else '2'} has {'PyInit_' if two else 'init'}{module} in its place: the "
            "build may have run under another interpreter.",
        ),
        f"Build it with the pip of the interpreter that imports it, from a clean tree: {fixes.rebuild(missing)}",
    )
