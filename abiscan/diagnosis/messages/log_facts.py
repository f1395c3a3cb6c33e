"""Facts in a log about its process: torch, CUDA and Python versions.

Sources are `python -m torch.utils.collect_env`, `pip list`, `pip show`, `conda list`, `torch.__version__` at a prompt,
and versions in sentences. If lines of the most reliable kind in a text contradict each other, none is used."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct, field

from abiscan.diagnosis.catalogue.load_packages import package_of_file, package_of_name, program_of_text
from abiscan.diagnosis.messages.gpu_vendors import AMD, find_capability, find_gpu_vendor, find_rocm
from abiscan.diagnosis.messages.rejected_names import find_rejected_name
from abiscan.diagnosis.messages.source_builds import find_source_build, find_source_release, is_of_conda_forge
from abiscan.model.versions import is_release, is_version
from abiscan.releases.build import has_the_new_string

_VERSION = (
    r"(?a:v?(\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?:\.?(?:a|b|rc|dev|post)\d{1,10})?(?:\+\w{1,40}(?:\.\w{1,20}){0,6})?)"
    r"(?![\w+-]|\.\d))"
)
# Markup of Markdown, JSON and quotations around a name or version.
_MARK = r"[*`'\"]{0,3}"
# A prompt before a value: `Out[2]: `.
_PRINTED = r"(?:Out\[\d{1,4}\]: {0,4})?['\"]?"
# Patterns at the word `torch`, most reliable first; each gives the torch version.
_TORCH_PATTERNS: Final = (
    # collect_env and similar output, issue templates; a prompt; pip show; ds_report.
    (
        re.compile(
            rf"orch[ _][Vv]ersion(?: {{0,2}}\([^()\n]{{1,24}}\))?{_MARK}(?: {{0,8}}[:=\uff1a|]| \.{{2,80}}){_MARK}"
            rf"[ \t]{{0,20}}{_MARK}{_VERSION}"
        ),
        re.compile(rf"orch [Vv]ersion{_MARK}\n{{1,3}}[ \t]{{0,4}}{_MARK}{_VERSION}"),
        re.compile(
            rf"orch\.(?:__version__|version(?:\.__version__)?)\)?['\"]?"
            rf"(?: {{0,8}}[:=]{{1,2}} {{0,8}}|\n+| {{1,8}}# {{0,4}}| {{1,8}}(?=['\"]\d)){_PRINTED}{_VERSION}"
        ),
        # print(torch.__version__, torch.cuda.is_available())
        re.compile(rf"orch\.__version__,[^\n]{{1,120}}\)['\"]?\n{{1,2}}{_VERSION}"),
        re.compile(rf"orch\nVersion: {_VERSION}"),
    ),
    # pip list, conda list; torch==2.1.0 (of pip freeze and of a command); a table; JSON.
    (
        re.compile(rf"orch[ \t]{{2,80}}{_VERSION}"),
        re.compile(rf"orch {{0,2}}={{1,2}} {{0,2}}{_VERSION}"),
        re.compile(rf"orch{_MARK} {{0,40}}\| {{0,40}}{_MARK}{_VERSION}"),
        re.compile(rf"orch['\"]: {{0,2}}['\"]{_VERSION}"),
    ),
    # A sentence.
    (
        re.compile(
            rf"orch{_MARK}(?: nightly)?"
            rf"(?: version| ver\.?| release| {{0,2}}\u7248\u672c)?{_MARK}(?: is| {{0,2}}[\u662f\u4e3a])?"
            rf"(?:[ :=\uff1a]{{0,6}}| - | {{0,2}}\(|\.){_MARK}{_VERSION}(?! ?->)"
        ),
        re.compile(rf"orch-{_VERSION}(?<!\.html)(?<!\.whl)(?=[\s,;'\"`)]|$)"),
    ),
)
# An archive of libtorch: `libtorch-cxx11-abi-shared-with-deps-2.0.1+cpu.zip`, or the older kind without `cxx11-abi-`.
_ARCHIVE = re.compile(
    r"libtorch-(?P<abi>cxx11-abi-)?(?:shared|static)-with-deps-(?P<version>\d[\d.]{2,16}(?:\+\w{1,16})?)\.zip"
)
# "the 1.2.0 version of pytorch"
_VERSION_OF = re.compile(r"(?<![\w.])(\d{1,2}\.\d{1,3}(?:\.\d{1,3})?) version of {1,2}(?:[Pp]y)?$")
# "the version number is the same (e.g. 2.1.0), but a source-built PyTorch", also in Chinese.
_EXAMPLE_BEFORE = re.compile(
    r"(?:[Vv]ersion|\u7248\u672c)[^\n\d().\uff08\uff09]{0,24} {0,1}[(\uff08](?:e\.g\.,? |like |such as |\u5982 ?)"
    r"(\d{1,2}\.\d{1,3}\.\d{1,3})[)\uff09][^\n\d.]{0,40}$"
)
# A program that rejects a torch prints the version that it found.
_HERE = re.compile(rf"(?:orch [^\n]{{1,64}}\(you have |but found version ){_VERSION}")
# The version of a git checkout of torch, anywhere: no other package has `git` before the commit, or `gitUnknown`
# without git (tools/generate_torch_version.py of pytorch).
_CHECKOUT = re.compile(r"(?<![\w.])([12]\.\d{1,2}\.\d{1,2}a0\+git(?:[0-9a-f]{6,40}|[Uu]nknown)?)\b", re.ASCII)
# An image of AMD: `rocm/pytorch:rocm5.7_ubuntu22.04_py3.10_pytorch_2.0.1`.
_IMAGE = re.compile(r"\brocm/pytorch:[\w.-]{1,80}?_pytorch_(?:release[_-])?([12]\.\d{1,2}\.\d{1,2})\b", re.ASCII)
# Tags of other images: `pytorch/pytorch:2.0.1-cuda11.7-cudnn8-devel`, `pytorch-training:2.0.1-gpu-py310-cu118`.
# NVIDIA's have the month: `nvidia/pytorch:23.10-py3`.
_TAG = re.compile(r"\bpytorch(?:-[a-z]{2,16}){0,3}:([12]\.\d{1,2}\.\d{1,2})(?=-(?:py|cuda|cu|gpu|cpu|rocm))", re.ASCII)
# `the version that was used to compile PyTorch (11.8)`, also as people write it: a CUDA release, as is any above 2.
_CUDA_BEHIND = re.compile(r"used to comp\w{2,4} $")
_OF_CUDA = re.compile(r"1\d\.\d")
_NAMES: Final = ("py", "Py", "t", "T")
_CUDA = re.compile(r"CUDA used to build PyTorch: {1,8}(\S{1,40})")
# torch.version.cuda at a prompt; build string of the conda package; a label in words: `1.9.0 (cu111)`.
_CUDA_PATTERNS: Final = (
    re.compile(
        rf"orch\.version\.cuda\)?['\"]?(?: {{0,8}}[:=]{{1,2}} {{0,8}}|\n+| {{1,8}}){_PRINTED}(\d{{1,2}}\.\d)(?![.\d])"
    ),
    re.compile(r"orch[ \t]{1,80}\d[\w.]{1,40}[ \t]{1,40}py3\.\d{1,2}_cuda(\d{1,2}\.\d)(?:\.\d{1,3})?_cudnn"),
    re.compile(r"orch[^\n]{1,40}\d {0,2}[(, ] {0,2}cu(\d{2}\.\d|\d{2,3})(?!\w|\.\d)", re.ASCII),
    re.compile(r"orch[^\n]{1,60}[ (,]cuda_?(\d{3})(?=[_ ,)\n]|$)", re.ASCII),
    # The command that installed torch: a package of conda that chooses the build, or an index.
    re.compile(r"orch[^\n]{1,96}[ '\"](?:pytorch-cuda|cudatoolkit)={1,2}(\d{1,2}\.\d)(?![.\d])", re.ASCII),
    re.compile(r"\bpytorch(?:-[a-z]{2,16}){0,3}:[12]\.[\w.-]{1,48}?-cu(?:da)?(\d{2}\.\d|\d{3})(?!\d)", re.ASCII),
    re.compile(r"install [^\n]{0,48}torch[^\n]{1,160}download\.pytorch\.org/whl/cu(\d{2,3})(?!\w)", re.ASCII),
)
# In prose, or of a toolkit. nvidia-smi prints the newest CUDA that the driver supports.
_CUDA_SAID = re.compile(
    r"(?<![\w.])(?:CUDA|[Cc]uda)(?: [Tt]oolkit)?(?: [Vv]ersion)?(?:[ :=]{1,4}|-)v?(\d{1,2}\.\d)(?!\d)",
    re.ASCII,
)
_OF_DRIVER: Final = "Driver Version"
_CUDA_RELEASE = re.compile(r"\d{1,2}\.\d|[89]\d|\d{3}")
_ROCM = re.compile(r"ROCM used to build PyTorch: {1,8}(\S{1,40})")
# `torch 2.4 rocm 6.1`; the index of a command.
_ROCM_BESIDE = re.compile(
    r"(?:orch[^\n]{1,24}[ (,-]rocm|whl/(?:nightly/)?rocm) {0,2}(\d\.\d)(?![.\d])", re.ASCII | re.IGNORECASE
)
_PYTHON = re.compile(
    r"[Pp]ython(?: [Vv]ersion)?(?: {1,20}|[:=] {0,20})(\d)\.(\d{1,2})(?:\.\d{1,2})?(?![\w+-]|\.\d)", re.ASCII
)
_FOLDER = re.compile(r"[/\\]python(\d)\.(\d{1,2})[/\\]")
# A prompt or `python -c` that printed the ABI of torch; not a compiler flag on a command line.
_CXX11_ABI = re.compile(
    r"(?:(?<!-D)_GLIBCXX_USE_CXX11_ABI|compiled_with_cxx11_abi\(\)|TORCH_CXX11_ABI)[)'\"`*]{0,4}"
    r"(?:[\s:=>\uff1a-]{1,8}| {0,2}(?:returns?|is|was|gives|prints|[\u662f\u4e3a]|\u8fd4\u56de)[ :\uff1a]{0,4})"
    r"(?:Out\[\d{1,4}\]: )?[`'\"*]{0,3}"
    r"(True|False|TRUE|FALSE)\b",
    re.ASCII,
)
# print(torch.__version__, torch.compiled_with_cxx11_abi())
_CXX11_ABI_BESIDE = re.compile(
    r"orch\.__version__, {0,2}torch\.(?:_C\._GLIBCXX_USE_CXX11_ABI|compiled_with_cxx11_abi\(\))\)['\"]?\n{1,2}"
    r"[\w.+]{1,64} (True|False)\b"
)
# torch.__config__.show(): compiler flags of torch.
_BUILT_WITH: Final = "PyTorch built with:"
_FLAG = re.compile(r"-D_GLIBCXX_USE_CXX11_ABI=([01])\b")
_FLAGS = 8_192  # characters
# `torchvision   0.18.1`, `torchvision==0.18.1`, `Name: torchvision` and `Version: 0.18.1`, `torchvision.__version__`.
_COMPANION = re.compile(
    r"(?<![\w./-])(torchvision|torchaudio|Torchvision|TorchVision)"
    r"(?:\nVersion: |(?:\.__version__\)?|[ -][Vv]ersion(?: is)?|\u7248\u672c)?"
    r"(?:[ \t]{1,80}|[ \t]{0,8}(?:[:=\uff1a]{1,2}|is|\u662f|\u4e3a)[ \t]{0,8}|\n)['\"]?)" + _VERSION
)
# Maximum number of places; logs are repetitive.
_MOST = 20_000
# A build or install command names a version that is not installed yet; after a failure it never was.
_NOT_THERE = (
    "Uninstalling ",
    "uninstall ",
    "built for",
    "compiled for",
    "requires ",
    "Collecting ",
    "Expected ",
    "e.g., ",
)
# In a sentence with two versions, the other one failed.
_BEFORE = tuple(f"{word} from " for word in ("upgraded", "upgrade", "upgrading", "updated", "switched", "downgraded"))
_WORKED = tuple(f"{word} {beside} " for word in ("works", "worked", "fine") for beside in ("with", "on", "in"))
# pip prints this about a replaced version.
_REPLACED = ("uninstalled ", "existing installation: ")


# Labels for the torch of a wheel: `+cu122torch2.3cxx11abiFALSE`, `+pt20cu118`, `+torch200cu118`.
_MADE_FOR = re.compile(
    r"(?<![A-Za-z0-9])([A-Za-z][\w.]{0,63}?)[-= ]{1,4}v?\d[\w.]{0,31}\+(?:cu\d{2,3}|cpu|rocm[\d.]{1,6})?[._-]?"
    r"(?:torch|pt)(\d\.\d{1,2}|\d{2,4})(?!\d)"
)


class LogFacts(Struct, frozen=True):
    """Facts in a text about the environment of its error; unknown ones are None.

    Attributes:
        torch: version with local label (`2.1.0a0+git7bcf7da`, `2.5.1+cu121`); `+cpu` is added if the text shows a build
            without CUDA and ROCm.
        python: (major, minor) of the interpreter.
        cxx11_abi: whether torch has the C++11 std::string, if printed or in the label.
        made_for: an extension, and the torch (major.minor) in its version label.
        companions: packages released with torch (`torchvision`) -> version with local label.
        from_source: whether the text says that torch was built from source.
        of_conda_forge: whether the text says that torch is of conda-forge.
        platform: as in wheel tags, if not Linux on x86_64: `win_amd64`, `macosx`, `linux_aarch64`.
        rejected_name: whether the text says that a demangler cannot read the symbol.
        gpu: vendor of the GPU: `nvidia`, `amd`, `dcu`; `cpu` for a build without GPU; empty if unknown.
        rocm: release of ROCm of a GPU of AMD (`5.7`); empty if unknown.
        projects: all of these packages.
        variant: of the only CUDA release that a text names, whatever it is of (`cu118`); empty if unknown.
        is_jetson: whether the machine is a Jetson of NVIDIA.
        program: the kind of program without Python (`rust`, `r`); empty for Python or if unknown.
        sdist: archive of sources of an extension, if a text says that only this is there; empty otherwise.
        capability: compute capability of the only GPU of NVIDIA; empty if unknown.
        project: the package that pip built, else the only one of PyG in the text, else the only one with a shared
            object in it, normalised; empty if unknown.
        project_release: its release, as the text gives it beside its name; empty if unknown.
    """

    torch: str | None = None
    python: tuple[int, int] | None = None
    cxx11_abi: bool | None = None
    companions: Mapping[str, str] = field(default_factory=dict)
    made_for: tuple[str, str] | None = None
    platform: str = ""
    from_source: bool = False
    gpu: str = ""
    project: str = ""
    rejected_name: bool = False
    rocm: str = ""
    capability: str = ""
    sdist: str = ""
    projects: tuple[str, ...] = ()
    variant: str = ""
    of_conda_forge: bool = False
    program: str = ""
    project_release: str = ""
    is_jetson: bool = False


def log_facts(text: str) -> LogFacts:
    """Read the facts of a (cleaned) text in one pass."""
    torch = _torch(text) or find_source_release(text)
    if torch is not None and "+" not in torch:
        torch += _label(text)
    abi = _cxx11_abi(text)
    if abi is None and torch is not None and has_the_new_string(torch):
        abi = True
    source = find_source_build(text) is not None
    gpu, projects = find_gpu_vendor(text), _projects(text)
    rocm = find_rocm(text) if gpu == AMD else ""
    if torch is not None and rocm and "+" not in torch and is_release(torch):
        torch += f"+rocm{rocm}"
    project = _project(text, projects)
    of_machine = (
        _platform(text),
        source,
        gpu,
        project,
        find_rejected_name(text),
        rocm,
        find_capability(text),
        _only_sdist(text),
        projects,
        _variant(text),
        is_of_conda_forge(text),
        _program(text),
        _release_of(project, text),
        _JETSON.search(text) is not None,
    )
    return LogFacts(torch, _python(text), abi, _companions(text), _made_for(text), *of_machine)


# pip's lines about a build, and the folder in which it builds (pip/_internal/wheel_builder.py, req/req_install.py).
_BUILT = re.compile(
    r"(?:Failed building wheel for|Building wheel for|Failed to build|Could not build wheels for) {1,4}"
    r"([A-Za-z][\w.-]{0,63})"
    r"|[/\\]pip-(?:install|req-build)-\w{1,16}[/\\]([A-Za-z][\w.-]{0,63}?)_[0-9a-f]{32}\b",
    re.ASCII,
)

# In prose, these packages alone have no other meaning.
_NAMED = re.compile(
    r"(?<![\w.-])(?:[Pp]y)?[Tt]orch[-_ ]([Ss]catter|[Ss]parse|[Cc]luster|[Ss]pline[-_ ][Cc]onv)(?![\w-]|\.\w)", re.ASCII
)

_FLASHINFER = re.compile(r"(?<![\w-])(?:[Ff]lash[Ii]nfer|FLASHINFER)(?![a-z])", re.ASCII)


# Modules that a text imports or whose frames a traceback has, and what it installs.
_FRAME_OF = re.compile(r"(?:site|dist)-packages[/\\]{1,4}(\w{2,64})[/\\]", re.ASCII)
_USED = re.compile(
    r"(?:^|\n|>>> )[ \t]{0,16}(?:from|import) (\w{2,64})|"
    r"(?:pip3?|mim|conda) install (?:--?[\w-]{1,32}(?:=\S{1,128})? ){0,6}['\"]?(\w[\w-]{1,64})",
    re.ASCII,
)
_COMPANIONS: Final = ("torch", "torchvision", "torchaudio")
# "I have only torch_scatter-2.1.2.tar.gz"
_ONLY_SDIST = re.compile(
    r"(?:\bonly\b|\bjust\b|\u53ea\u6709|\u4ec5\u6709|\u53ea\u4e0b\u8f7d)[^\n.;!?]{0,40}?"
    r"(?<![\w./-])([A-Za-z]\w{1,63}-\d[\w.]{0,24}\.tar\.gz)(?!\w)",
    re.ASCII,
)


def _only_sdist(text: str) -> str:
    found = _ONLY_SDIST.search(text)
    return "" if found is None else found[1]


_SHARED_OBJECT = re.compile(r"(?<![\w./\\-])(\w{1,128})(?:\.[\w-]{1,64}){0,2}\.so(?![\w.])", re.ASCII)


def _projects(text: str) -> tuple[str, ...]:
    found = {match[1] or match[2] for match in itertools.islice(_BUILT.finditer(text), _MOST)}
    if not found:
        found = {f"torch-{match[1]}" for match in itertools.islice(_NAMED.finditer(text), _MOST)}
    if not found:
        stems = {match[1] for match in itertools.islice(_SHARED_OBJECT.finditer(text), _MOST)}
        found = {package.name for stem in stems if (package := package_of_file(stem)) is not None}
    return _normalised(found)


def _project(text: str, projects: tuple[str, ...]) -> str:
    """The only one of the packages, else the only one that the text uses, else one that it names."""
    names = projects or _normalised(_used_packages(text))
    if not names and _FLASHINFER.search(text) is not None:
        return "flashinfer-python"
    return names[0] if len(names) == 1 else ""


def _release_of(project: str, text: str) -> str:
    """The release that a text gives of a package by the name of its distribution or module: `flashinfer-python==0.2.2`,
    `flashinfer v0.2.2`."""
    package = package_of_name(project) if project else None
    if package is None:
        return ""
    names = "|".join(re.escape(name).replace("\\-", "[-_]") for name in (package.name, *package.modules))
    found = re.search(
        rf"(?<![\w.-])(?:{names})(?:[ =:@-]{{1,4}}|\nVersion: )(?:version ?)?v?(\d{{1,3}}(?:\.\d{{1,5}}){{1,3}}"
        r"(?:\.?(?:post|rc|a|b|dev)\d{1,8})?)(?![\w.]\w)",
        text,
        re.ASCII | re.IGNORECASE,
    )
    return "" if found is None else found[1]


def _normalised(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({re.sub(r"[-_. ]+", "-", name).lower() for name in names}))


def _used_packages(text: str) -> tuple[str, ...]:
    """The package of the last frame of a traceback, else those that the text imports or installs; none of torch's."""
    frames = [match[1] for match in itertools.islice(_FRAME_OF.finditer(text), _MOST)]
    used = [match[1] or match[2] for match in itertools.islice(_USED.finditer(text), _MOST)]
    of_frames, others = (
        [found.name for each in names if (found := package_of_name(each)) is not None and found.name not in _COMPANIONS]
        for names in (frames, used)
    )
    return tuple(of_frames[-1:]) or tuple(dict.fromkeys(others))


# A Python frame or a Windows path; output of collect_env and issue templates.
_PLATFORMS: Final = (
    (
        "win_amd64",
        re.compile(
            r"(?:File \"|[ '\"(])[A-Za-z]:\\{1,2}\w|OS: {0,4}(?:Microsoft )?Windows|\bWinError \d"
            r"|\b[Ww]in(?:dows)? ?(?:7|8|10|11|Server)\b|\bDLL load failed\b|\bPowerShell\b|(?:^|\n)(?:PS )?[A-Z]:\\\w"
            r"|(?<![Ll]inux and )(?<!/)\b[Ww]indows\b(?![^\n]{0,24}\b[Ll]inux\b|/)"
        ),
    ),
    (
        "macosx",
        re.compile(
            r"OS: {0,4}(?:macOS|Mac ?OS)|-darwin\.so|\.dylib\b|macosx_\d|(?<![\w:])/Users/\w|\bon darwin\b"
            r"|\b[Mm]ac ?(?:OS|Book|mini|[MI]\d)|\bApple [Ss]ilicon\b|\b(?:on|under) (?:a )?[Mm]ac\b|\u82f9\u679c"
        ),
    ),
    (
        "linux_aarch64",
        re.compile(
            r"aarch64-linux-gnu|linux_aarch64|Linux-[\w.-]{1,80}aarch64|\bJetson\b|(?:\bon|,) ?aarch64\b"
            r"|OS: [^\n]{1,80}\(aarch64\)"
        ),
    ),
)


def _platform(text: str) -> str:
    return next((platform for platform, pattern in _PLATFORMS if pattern.search(text) is not None), "")


def _made_for(text: str) -> tuple[str, str] | None:
    """The only extension whose label names a torch; None if there are several with different ones."""
    found = {}
    for match in itertools.islice(_MADE_FOR.finditer(text), _MOST):
        version = match[2]
        if "." not in version:
            # `pt20`, `torch200`, `torch2100`: major, minor, and with three digits or more a zero for the patch release.
            version = f"{version[0]}.{version[1:-1] if len(version) > 2 else version[1:]}"
        found[match[1].replace("_", "-").lower()] = version
    return next(iter(found.items())) if len(set(found.values())) == 1 else None


def _label(text: str) -> str:
    """`+cpu`, `+cu111`, `+rocm5.2`: the variant of torch according to the text; empty if unknown."""
    cuda, rocm = _CUDA.search(text), _ROCM.search(text)
    without = ("None", "N/A", "No")
    if cuda is not None and cuda[1] in without and (rocm is None or rocm[1] in without):
        return "+cpu"
    if rocm is not None and rocm[1][0].isdigit():
        return f"+rocm{'.'.join(rocm[1].split('.')[:2])}"
    of_rocm = {match[1] for match in itertools.islice(_ROCM_BESIDE.finditer(text), _MOST)}
    if len(of_rocm) == 1:
        return f"+rocm{of_rocm.pop()}"
    said = {match[1] for pattern in _CUDA_PATTERNS for match in itertools.islice(pattern.finditer(text), _MOST)}
    said |= {cuda[1]} if cuda is not None else set()
    if not said and is_of_conda_forge(text):
        said = {match[1] for match in itertools.islice(_CUDA_SAID.finditer(text), _MOST)}
    found = {release.replace(".", "") for release in said if _CUDA_RELEASE.fullmatch(release)}
    return f"+cu{found.pop()}" if len(found) == 1 else ""


# Names of NVIDIA's boards and of its distribution; the kernel: `5.10.104-tegra`.
_JETSON = re.compile(r"\b(?:[Jj]et(?:son|pack|Pack)|L4T|l4t|tegra)\b")


def _program(text: str) -> str:
    found = program_of_text(text)
    return "" if found is None else found.id


def _variant(text: str) -> str:
    """The variant of the only CUDA release that a text names; empty if it names several, or none."""
    said = {
        match[1].replace(".", "")
        for match in itertools.islice(_CUDA_SAID.finditer(text), _MOST)
        if _OF_DRIVER not in text[max(0, match.start() - 64) : match.start()]
    }
    return f"cu{said.pop()}" if len(said) == 1 else ""


def _torch(text: str) -> str | None:
    here = {match[1] for match in itertools.islice(_HERE.finditer(text), _MOST)}
    if len(here) == 1:
        return here.pop()
    for pattern in (_CHECKOUT, _IMAGE, _TAG):
        here = {match[1] for match in itertools.islice(pattern.finditer(text), _MOST)}
        if len(here) == 1:
            return here.pop()
    said: tuple[dict[str, None], ...] = tuple({} for _ in _TORCH_PATTERNS)
    at = text.find("orch")
    for _ in range(_MOST):
        if at < 0:
            break
        if _is_torch_itself(text, at):
            for rank, patterns in enumerate(_TORCH_PATTERNS):
                found = next((match for pattern in patterns if (match := pattern.match(text, at)) is not None), None)
                if found is not None and is_version(found[1]) and not _OF_CUDA.match(found[1]):
                    said[rank][found[1]] = None
                    break
            else:
                before = _VERSION_OF.search(text[max(0, at - 32) : at - 1])
                before = before or _EXAMPLE_BEFORE.search(text[max(0, at - 96) : at - 1])
                if before is not None:
                    said[-1][before[1]] = None
        at = text.find("orch", at + 4)
    for versions in said:
        if versions:
            return _one_of(list(versions))
    here = {match["version"] for match in itertools.islice(_ARCHIVE.finditer(text), _MOST)}
    return _one_of([version for version in here if is_version(version)] or [""]) or None


def _is_torch_itself(text: str, at: int) -> bool:
    """Whether `orch` is the end of the word torch or PyTorch, and no command that removes it precedes."""
    start = at - 1
    if start < 0 or text[start] not in "tT":
        return False
    if text[max(0, start - 2) : start].lower() == "py":
        start -= 2
    if text[max(0, start - 3) : start] == "lib":
        start -= 3
    before = text[max(0, start - 24) : start]
    if _CUDA_BEHIND.search(before) is not None:
        return False  # `the version that was used to compile PyTorch (11.8)`: a CUDA version
    if before.endswith(("envs/", "envs\\")):
        return True
    if before and (before[-1].isascii() and (before[-1].isalnum() or before[-1] in "_-./+")):
        return False
    if before.endswith(_WORKED) and not any(word in before for word in ("longer ", "not ", "n't ", "never ")):
        return False
    return not before.endswith(_NOT_THERE + _REPLACED + _BEFORE)


def _one_of(versions: list[str]) -> str | None:
    """The version that all agree on. Shorter forms agree with one that has a label or a third number."""
    longest = max(versions, key=len)
    return longest if all(longest.startswith(version) for version in versions) else None


def _python(text: str) -> tuple[int, int] | None:
    for pattern in (_PYTHON, _FOLDER):
        found = {(int(match[1]), int(match[2])) for match in itertools.islice(pattern.finditer(text), _MOST)}
        if len(found) == 1:
            return found.pop()
    return None


def _cxx11_abi(text: str) -> bool | None:
    asked = itertools.chain(_CXX11_ABI.finditer(text), _CXX11_ABI_BESIDE.finditer(text))
    found = {match[1].lower() == "true" for match in itertools.islice(asked, _MOST)}
    if not found:
        at = text.find(_BUILT_WITH)
        flag = _FLAG.search(text, at, at + _FLAGS) if at >= 0 else None
        found = set() if flag is None else {flag[1] == "1"}
    if not found:
        found = {match["abi"] is not None for match in itertools.islice(_ARCHIVE.finditer(text), _MOST)}
    if not found and is_of_conda_forge(text):
        return True
    return found.pop() if len(found) == 1 else None


def _companions(text: str) -> dict[str, str]:
    """Versions from `pip list` and similar output; a package with contradictory lines is omitted."""
    said: dict[str, dict[str, None]] = {}
    for match in itertools.islice(_COMPANION.finditer(text), _MOST):
        before = text[max(0, match.start() - 24) : match.start()]
        if is_version(match[2]) and not before.endswith(_NOT_THERE):
            said.setdefault(match[1].lower(), {})[match[2]] = None
    one = {package: _one_of(list(versions)) for package, versions in said.items()}
    return {package: version for package, version in one.items() if version is not None}


# --- paths ----------------------------------------------------------------------------------------------------------

_PATH = re.compile(r"(?<![\w.~$\\/])(/(?!/)[^\s:'\"`(),;|<>\u2018\u2019\u201c\u201d]{4,1024})")
_PATHS = 64


def paths_in(text: str) -> tuple[str, ...]:
    """Absolute paths of files in a text, without duplicates, up to a limit."""
    found: dict[str, None] = {}
    for match in itertools.islice(_PATH.finditer(text), _MOST):
        path = match[1]
        if any(part in path for part in (".so", ".py", "/site-packages", "/dist-packages", ".dylib")):
            found[path] = None
            if len(found) == _PATHS:
                break
    return tuple(found)
