"""Errors of loading that name no missing symbol: static-tls-exhausted, unusable-file; a module without its init
function, or without its file; a wheel that is for something else."""

from __future__ import annotations

from abiscan.diagnosis import fixes
from abiscan.diagnosis.messages.dyld_messages import QUARANTINED
from abiscan.diagnosis.messages.loader_messages import ILLEGAL_INSTRUCTION, OF_GLIBC
from abiscan.diagnosis.messages.mention import Mention
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model.cause import CauseId
from abiscan.wheel.metadata import split_wheel_name
from abiscan.wheel.tags import cpython_of_tag


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


# glibc's words (elf/dl-load.c, elf/dl-map-segments.h) -> why, and what to do; {file} is its path.
_UNUSABLE = {
    "invalid ELF header": (
        0.85,
        "What is in the file is no ELF file: a file of another system, a page that was downloaded in its place, or a "
        "pointer of Git LFS.",
        "file {file}  # what it is; then install its package again, for this system",
    ),
    "wrong ELF class": (
        0.9,
        "The file is for the other word size (32 or 64 bits) than the process.",
        "file {file}  # then install the build for this processor",
    ),
    "file too short": (
        0.9,
        "The file ends before its ELF header does: an installation or a download was cut off, or the disk was full.",
        "df -h; pip install --no-cache-dir --force-reinstall the package that ships it",
    ),
    "cannot enable executable stack": (
        0.92,
        "The file asks for an executable stack; glibc 2.41 and later, and some kernels, refuse it to what is loaded "
        "later.",
        "patchelf --clear-execstack {file}  # where nothing in it needs one\n"
        "or GLIBC_TUNABLES=glibc.rtld.execstack=2 python ...  # glibc 2.41 and later\n"
        "or a newer release of the package",
    ),
    "ELF load command past end of file": (
        0.9,
        "The file is shorter than its own headers say: an installation or a download was cut off, or "
        "the disk was full.",
        "df -h; pip install --no-cache-dir --force-reinstall the package that ships it",
    ),
    "ELF load command": (
        0.8,
        "The file's segments do not lie as this system's page size asks for: it was made for another "
        "page size, or by a "
        "tool that rewrote it.",
        "getconf PAGESIZE; readelf -lW {file}  # Align of LOAD must be a multiple of it; then another build of it",
    ),
    "only ET_DYN and ET_EXEC can be loaded": (
        0.9,
        "The file is an object file or a core dump, and no shared object: it was not linked with -shared.",
        "readelf -h {file}  # Type must be DYN; then link it again with -shared",
    ),
    "cannot dynamically load": (
        0.9,
        "The file is a program, and no shared object: it was linked without -shared.",
        "readelf -h {file}; then link it again with -shared -fPIC",
    ),
    "CPU ISA level is lower than required": (
        0.92,
        "The file, or a library of it, is built for a newer level of the processor (x86-64-v2, -v3, -v4) than this one "
        "has.",
        "/lib64/ld-linux-x86-64.so.2 --help | grep -A4 'hwcaps'  # which levels are supported here; "
        "then a build for it",
    ),
    "cannot read file data": (
        0.85,
        "What is there under its name could not be read: it is a directory, or the disk has an error.",
        "ls -ld {file}; dmesg | tail",
    ),
    "object file has no loadable segments": (
        0.85,
        "The file holds nothing to load, as one that has debugging information alone, or is damaged.",
        "readelf -lW {file}; then install its package again",
    ),
    "ELF file OS ABI invalid": (
        0.85,
        "The file is marked as one for another system, or for GNU extensions that this loader does not know.",
        "readelf -h {file}; then install the build for this system",
    ),
    "cannot restore segment prot after reloc": (
        0.8,
        "The system refuses to make its pages executable again, as SELinux does where a file was not "
        "compiled with -fPIC.",
        "getenforce; chcon -t textrel_shlib_t {file}  # or build it with -fPIC",
    ),
    "Permission denied": (
        0.85,
        "The file is there, and the user of this process may not read it, or not enter a folder above it.",
        "namei -l {file}; id",
    ),
    "recompile with -fPIC": (
        0.9,
        "What goes into a shared object may lie at any address; the file was compiled for a program, at a fixed one.",
        "Compile it with -fPIC (CMake: set(CMAKE_POSITION_INDEPENDENT_CODE ON), nvcc: -Xcompiler -fPIC), or link the "
        "shared library in its place.",
    ),
    QUARANTINED: (
        0.85,
        "macOS marks what a browser downloaded, and opens of it what Apple has notarized alone.",
        "xattr -d com.apple.quarantine {file}  # where it is from whom you trust; pip's downloads have no such mark",
    ),
    "not a mach-o file": (
        0.85,
        "What is in the file is not made for macOS: a file of another system, or one that is damaged.",
        "file {file}  # what it is; then install its package again, for this system",
    ),
    "slice is not valid mach-o file": (
        0.85,
        "What is in the file is not made for macOS: a file of another system, or one that is damaged.",
        "file {file}  # what it is; then install its package again, for this system",
    ),
    "not valid for use in process": (
        0.88,
        "macOS refuses its code signature beside that of the process.",
        "codesign -dv {file}; codesign --force --sign - {file}  # signs it for this machine alone",
    ),
    "failed to map segment from shared object": (
        0.7,
        "The system refused to map the file: its file system is mounted noexec, or the memory that the process may "
        "have (ulimit -v, the container's limit) is used up.",
        "findmnt -T {file}; ulimit -v",
    ),
}


def not_loadable(mention: Mention) -> Candidates:
    """`invalid ELF header` and its kin: the file was found, and is refused as a whole."""
    name, path = mention.text, fixes.word(mention.library or "", "FILE")
    if mention.macos:
        have, need = (*mention.releases, "?", "?")[:2]
        what = "of another system or processor than what is linked" if mention.by_linker else "for another processor"
        who, does = ("link editor", "ignores") if mention.by_linker else ("loader", "refused")
        evidence = [
            f"The {who} found {name} and {does} it: it is {what}{'' if mention.by_linker else ' than the process'}."
        ]
        if len(mention.releases) == 2:
            process = "what is linked is for" if mention.by_linker else "the process is"
            evidence.append(f"The message says it itself: it is for {have}, {process} {need}.")
        if mention.by_linker:
            evidence.append("Names of it are then missing from the link, as if the file were not there.")
        fix = "python -c 'import platform; print(platform.machine())'; then install its build for that processor"
        yield Candidate(CauseId.UNUSABLE_FILE, 0.95, tuple(evidence), fix)
        return
    said = mention.version or ""
    if said == ILLEGAL_INSTRUCTION:
        where = f"The processor met an instruction that it does not know, in {name}."
        built = (
            "What was compiled with -march=native, or for a newer processor, ends so on older ones, and in emulators."
        )
        way = "lscpu | grep -i flags  # is AVX2 there? In a virtual machine: pass the host's processor through\n"
        way += "then a build for this processor: from source here, or an older wheel"
        yield Candidate(CauseId.UNUSABLE_FILE, 0.7, (where, built), way)
        return
    if said == OF_GLIBC:
        of_glibc = (
            f"{name} asks for {mention.context}, a name of glibc, which musl, the C library here, does not have.",
            "The file was built for glibc, as wheels with manylinux in their name are; Alpine takes musllinux.",
        )
        way = (
            "Run it on a system with glibc (an image of Debian instead of Alpine), or build it from source on this one."
        )
        yield Candidate(CauseId.UNUSABLE_FILE, 0.92, of_glibc, way)
        return
    score, why, fix = _UNUSABLE[said]
    who = "link editor" if mention.by_linker else "loader"
    refused = (f"The {who} found {name} and refused it: {mention.version}.", why)
    yield Candidate(CauseId.UNUSABLE_FILE, score, refused, fix.format(file=path))


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
