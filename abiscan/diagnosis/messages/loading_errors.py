"""Errors of loading that name no missing symbol: a module without its init function, or without its file; a wheel for
another Python or platform."""

from __future__ import annotations

from abiscan.diagnosis import fixes
from abiscan.diagnosis.messages.mention import Mention
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model.cause import CauseId
from abiscan.wheel.metadata import split_wheel_name
from abiscan.wheel.tags import cpython_of_tag


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
    # A file with a tag in its name is of the Python that loads it; builds for Python 2 had none. What
    # torch.utils.cpp_extension builds, by its name, has one.
    tagged = any(tag in mention.context for tag in (".cpython-3", ".abi3.")) or module.startswith("_")
    tagged = tagged or module.endswith(("_cuda", "_cpp", "_ext"))
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
        0.6 if two or tagged else 0.72,
        (
            *evidence,
            f"A module of Python {'3' if two else '2'} has {'PyInit_' if two else 'init'}{module} in its place: the "
            "build may have run under another interpreter.",
        ),
        f"Build it with the pip of the interpreter that imports it, from a clean tree: {fixes.rebuild(missing)}",
    )


# --- a module or a wheel that is for something else -----------------------------------------------------------------


def no_module(mention: Mention, missing: MissingName) -> Candidates:
    """`ModuleNotFoundError: No module named 'mmcv._ext'`: a compiled module, by its name."""
    name = mention.text
    if name == "torch":
        evidence = (
            "pip builds in an environment of its own, in which there is no torch: the project does not name it among "
            "what its build requires, and imports it in setup.py.",
        )
        way = "pip install torch\npip install --no-build-isolation NAME  # builds with the torch that is installed"
        yield Candidate(CauseId.LIBRARY_MISSING, 0.85, evidence, way)
        return
    package = fixes.word(name.partition(".")[0], "PACKAGE")
    if mention.library is not None:
        function = name.rpartition(".")[2]
        loaded = (
            f"{mention.library} was loaded, and has no {function}: it is another build than the Python code beside it.",
        )
        again = (
            f"python -c 'import torch, {fixes.word(mention.library, 'MODULE')} as m; print(m.__file__, dir(m))'\n"
            f"then build it again from a clean tree (rm -rf build *.so): {fixes.rebuild(missing, project=package)}"
        )
        yield Candidate(
            CauseId.EXTENSION_SOURCE_NOT_BUILT,
            0.66,
            (*loaded, "The source that defines it was not built, or the file is left from an earlier build."),
            again,
        )
        text = "What is for CUDA is left out where the build found no nvcc, or no CUDA build of torch."
        yield Candidate(CauseId.CUDA_BUILD_REQUIRED, 0.6, (*loaded, text), again)
        return
    if "torch_extensions/" in mention.context:
        built = (
            f"{mention.context} is what torch.utils.cpp_extension.load would have built: an earlier build failed, or "
            "was cut off.",
        )
        fix = (
            'rm -r "${TORCH_EXTENSIONS_DIR:-$HOME/.cache/torch_extensions}"  # then run it again\n'
            "The first error of the build is the one to mend."
        )
        yield Candidate(CauseId.EXTENSION_SOURCE_NOT_BUILT, 0.8, built, fix)
        yield Candidate(CauseId.LIBRARY_MISSING, 0.6, built, fix)
        return
    if "ds_opt_" in mention.context:
        unbuilt = (
            "DeepSpeed's operator for Adam on the CPU was not built; lines above, or those of its first run, say why.",
        )
        other = "Often the toolkit that is found is not of torch's CUDA release."
        fix = (
            "ds_report  # which operators can be built here\n"
            "DS_BUILD_CPU_ADAM=1 pip install --no-build-isolation --force-reinstall --no-deps deepspeed"
        )
        yield Candidate(CauseId.LIBRARY_MISSING, 0.7, unbuilt, fix)
        yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, 0.6, (*unbuilt, other), fix)
        return
    if "load_library" in mention.context:
        none = (f"{package} looked for the library of its operators beside its Python code, and found none.",)
        away = "Run from a source tree, or copied, it has no library: setup.py makes it, into what is installed."
        fix = f"pip uninstall -y {package}; {fixes.rebuild(missing, project=package)}"
        yield Candidate(CauseId.LIBRARY_MISSING, 0.85, (*none, away), fix)
        return
    if mention.context:
        said = (f"The message says it itself: {package} was installed without the extension that {name} needs.",)
        fix = (
            "Build it where torch (with nvcc, where it is for CUDA) is installed, and read its log: "
            f"{fixes.rebuild(missing, project=package)}"
        )
        yield Candidate(CauseId.LIBRARY_MISSING, 0.8, said, fix)
        text = "A build that found no nvcc, or no CUDA build of torch, leaves it out."
        yield Candidate(CauseId.CUDA_BUILD_REQUIRED, 0.6, (*said, text), fix)
        return
    if mention.version is not None:
        here = None if missing.environment is None else missing.environment.python
        same = here is not None and f"{here.major}.{here.minor}" == mention.version
        shown = f"The text shows its file for CPython {mention.version}, which another CPython does not look at."
        known = () if here is None else (f"The interpreter is CPython {here}.",)
        tagged = f"python -V  # must be {mention.version}; or {fixes.rebuild(missing, project=package)}"
        first = f"Python found no module {name}."
        yield Candidate(CauseId.PYTHON_ABI_MISMATCH, 0.5 if same else 0.9, (first, shown, *known), tagged)
        away = "Where the interpreter is that one, the file's folder is not among those of sys.path."
        yield Candidate(CauseId.LIBRARY_MISSING, 0.6, (first, away), "python -c 'import sys; print(sys.path)'")
        return
    evidence = (f"Python found no module {name}; by its name it is a compiled one.",)
    yield Candidate(
        CauseId.LIBRARY_MISSING,
        0.7,
        (
            *evidence,
            "It was never built (the package was installed without its extension, or is imported from its sources), "
            "or lies where this Python does not look.",
        ),
        f"find . $(python -c 'import site; print(*site.getsitepackages())') -name '{_last(name)}*.so'\n"
        f"{fixes.rebuild(missing, project=package)}\n"
        "and start Python outside of the source tree",
    )
    yield Candidate(
        CauseId.PYTHON_ABI_MISMATCH,
        0.55,
        (
            *evidence,
            "A module that is built for another CPython, as the tag in its file's name says, is not looked at.",
        ),
        f"find . $(python -c 'import site; print(*site.getsitepackages())') -name '{_last(name)}*.so'; python -V",
    )


def _last(name: str) -> str:
    return fixes.word(name.rpartition(".")[2], "NAME")


def wheel_tags(mention: Mention, missing: MissingName) -> Candidates:
    """pip: `x-1.0-cp310-cp310-linux_x86_64.whl is not a supported wheel on this platform.` (Platform compatibility
    tags, https://packaging.python.org/specifications/platform-compatibility-tags)."""
    parts = split_wheel_name(mention.text)
    if parts is None:
        return
    tags = parts[2]
    evidence = [f"The wheel is for {', '.join(tags[:4])}; none of these is what this Python and system take."]
    here = None if missing.environment is None else missing.environment.python
    wanted = [version for tag in tags if (version := cpython_of_tag(tag.partition("-")[0])) is not None]
    score = 0.72
    if here is not None and wanted and "abi3" not in mention.text:
        differs = (here.major, here.minor) not in wanted
        score = 0.93 if differs else 0.4
        evidence.append(f"{'' if differs else 'Against it: '}CPython {here.major}.{here.minor} is there.")
    fix = "python -V; python -m pip debug --verbose | grep -A3 'Compatible tags'  # what is taken here"
    yield Candidate(
        CauseId.PYTHON_ABI_MISMATCH,
        score,
        tuple(evidence),
        f"{fix}\nThen take the wheel whose cpXY is that of python -V.",
    )
    yield Candidate(
        CauseId.UNUSABLE_FILE,
        0.6,
        (evidence[0], "Where the CPython agrees, the wheel is for another system, processor, or a newer glibc."),
        f"{fix}\nuname -sm; ldd --version  # and the last part of the wheel's name",
    )
