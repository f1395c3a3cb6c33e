"""Finds the version, variant and string ABI of torch in a log, and the versions of the packages released with it.

If lines of the most reliable kind in a text contradict each other, none is used."""

from __future__ import annotations

import re
from typing import Final

from abiscan.diagnosis.messages.packaged_torch import packager_of
from abiscan.diagnosis.messages.proposed_release import is_proposed
from abiscan.diagnosis.messages.values_in_text import MOST_PLACES, matches, only_value, values
from abiscan.model.versions import is_version

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
        re.compile(
            rf"orch\.__version__\)?{_MARK} {{0,2}}(?:is|says|prints|shows|gives|reports|\u5c31?\u662f|\u4e3a|"
            rf"\u663e\u793a)?[:\uff1a]? {{0,2}}{_MARK}{_VERSION}"
        ),
        # "after torch was upgraded to 2.6.0", in Chinese; without "after" it is an advice.
        re.compile(
            r"orch ?(?:\u4ece ?v?\d[\w.+]{1,16} ?)?(?:\u5347\u7ea7|\u66f4\u65b0|\u5347|\u6362|\u964d\u7ea7|\u964d)"
            rf"(?:\u5230|\u6210|\u4e3a|\u81f3) ?{_VERSION}(?=(?: ?\u7248\u672c)? ?(?:\u4e4b|\u4ee5)?\u540e)"
        ),
        # "after downgrading torch from 2.6 to 2.5.1"
        re.compile(rf"orch from v?\d{{1,2}}\.[\w.+]{{1,40}} to {_VERSION}"),
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
_HERE = re.compile(rf"(?:orch (?:(?!Python)[^\n]){{1,64}}?\(you have |but found version ){_VERSION}")
# "upgraded torch to 2.6.0", "after upgrading torch to 2.6.0"; "upgrade torch to 2.6.0" is an advice.
_MOVED = re.compile(
    r"\b(?:upgrad|updat|downgrad|bump|mov|switch)(?:ed|ing) (?:my |the |our )?(?:[Pp]y)?$", re.IGNORECASE
)
_MOVED_TO = re.compile(rf"orch to {_VERSION}")
# The version of a git checkout of torch, anywhere: no other package has `git` before the commit, or `gitUnknown`
# without git (tools/generate_torch_version.py of pytorch).
_CHECKOUT = re.compile(r"(?<![\w.])([12]\.\d{1,2}\.\d{1,2}a0\+git(?:[0-9a-f]{6,40}|[Uu]nknown)?)\b", re.ASCII)
# An image of AMD: `rocm/pytorch:rocm5.7_ubuntu22.04_py3.10_pytorch_2.0.1`.
_IMAGE = re.compile(r"\brocm/pytorch:[\w.-]{1,80}?_pytorch_(?:release[_-])?([12]\.\d{1,2}\.\d{1,2})\b", re.ASCII)
# Packages of distributions and of conda-forge: `python-pytorch-cuda 2.5.1-3`, `python3-torch 2.6.0+dfsg-7`,
# `pytorch-gpu 2.5.1`; a module of EasyBuild: `PyTorch/2.1.2-foss-2023a`.
_PACKAGED = re.compile(
    r"\b(?:python-pytorch(?:-(?:opt|cuda|rocm)){0,2}|python3-(?:py)?torch(?:-cuda)?|sci-\w{2,4}/pytorch|pytorch-[cg]pu)"
    r"[- =]{1,4}([12]\.\d{1,2}\.\d{1,2})(?![\d.])|\bPyTorch/([12]\.\d{1,2}\.\d{1,2})-foss-",
    re.ASCII,
)
# Tags of other images: `pytorch/pytorch:2.0.1-cuda11.7-cudnn8-devel`, `pytorch-training:2.0.1-gpu-py310-cu118`.
# NVIDIA's have the month: `nvidia/pytorch:23.10-py3`.
_TAG = re.compile(r"\bpytorch(?:-[a-z]{2,16}){0,3}:([12]\.\d{1,2}\.\d{1,2})(?=-(?:py|cuda|cu|gpu|cpu|rocm))", re.ASCII)
# `the version that was used to compile PyTorch (11.8)`, also as people write it: a CUDA release, as is any above 2.
_CUDA_BEHIND = re.compile(r"used to comp\w{2,4} $")
_OF_CUDA = re.compile(r"1\d\.\d")
_CUDA = re.compile(r"CUDA used to build PyTorch: {1,8}(\d{1,2}\.\d(?=\.\d)|\S{1,40})")
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
    r"(?<![\w.])(?:CUDA|[Cc]uda)(?: [Tt]oolkit)?(?: [Vv]ersion)?(?:[ :=]{1,4}|-)v?([7-9]\.\d|1\d\.\d)(?!\d)",
    re.ASCII,
)
# `spconv-cu113`
_CUDA_OF_PACKAGE = re.compile(r"(?<![\w-])(?!nvidia-)[a-z]\w{1,32}-cu(1\d\d)(?!\d)", re.ASCII)
_OF_DRIVER: Final = "Driver Version"
_CUDA_RELEASE = re.compile(r"\d{1,2}\.\d|[89]\d|\d{3}")
_ROCM = re.compile(r"ROCM used to build PyTorch: {1,8}(\S{1,40})")
# `torch 2.4 rocm 6.1`; the index of a command.
_ROCM_BESIDE = re.compile(
    r"(?:orch[^\n]{1,24}[ (,-]rocm|whl/(?:nightly/)?rocm) {0,2}(\d\.\d)(?![.\d])", re.ASCII | re.IGNORECASE
)
# `torch 2.5.1 cpu`, `torch 2.5.1 (CPU)`
_CPU_BESIDE = re.compile(
    r"orch(?: {1,4}|[=: ]{1,3}v?)\d\.\d{1,2}(?:\.\d{1,2})? ?\(?(?:cpu|CPU)(?![\w:]| (?:memory|usage|time))", re.ASCII
)
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
    "fixed in ",
    "fixed by ",
)
# In a sentence with two versions, the other one failed.
_BEFORE = tuple(f"{word} from " for word in ("upgraded", "upgrade", "upgrading", "updated", "switched", "downgraded"))
# "It works in pytorch 2.6 (CUDA build), but errors in pytorch 2.7": the torch that fails, wherever it stands.
_FAILS = re.compile(
    r"\b(?:errors?|fails?|failed|crash(?:es|ed)?|breaks?|broken|not work\w{0,3}) (?:with|on|in) (?:[Pp]y)?[Tt]orch "
    rf"{_VERSION}"
)
_WORKED = tuple(
    f"{word} {beside} " for word in ("works", "worked", "fine", "loads", "loaded") for beside in ("with", "on", "in")
)
# pip prints this about a replaced version.
_REPLACED = ("uninstalled ", "existing installation: ")


def find_torch(text: str) -> str | None:
    for pattern in (_HERE, _FAILS, _CHECKOUT, _PACKAGED, _IMAGE, _TAG):
        if only := only_value(values(pattern, text)):
            return only
    said: tuple[dict[str, None], ...] = tuple({} for _ in _TORCH_PATTERNS)
    at = text.find("orch")
    for _ in range(MOST_PLACES):
        if at < 0:
            break
        if _is_torch_itself(text, at):
            for rank, patterns in enumerate(_TORCH_PATTERNS):
                found = next((match for pattern in patterns if (match := pattern.match(text, at)) is not None), None)
                if found is not None and is_proposed(text, _start_of_name(text, at), found.end(1)):
                    break
                if found is not None and is_version(found[1]) and not _OF_CUDA.match(found[1]):
                    said[rank][found[1]] = None
                    break
            else:
                before = _VERSION_OF.search(text[max(0, at - 32) : at - 1])
                before = before or _moved_to(text, at)
                before = before or _EXAMPLE_BEFORE.search(text[max(0, at - 96) : at - 1])
                if before is not None:
                    said[-1][before[1]] = None
        at = text.find("orch", at + 4)
    for versions in said:
        if versions:
            return _one_of(list(versions))
    return _one_of([version for version in values(_ARCHIVE, text) if is_version(version)] or [""]) or None


def _is_torch_itself(text: str, at: int) -> bool:
    """Whether `orch` is the end of the word torch or PyTorch, and no command that removes it precedes."""
    start = _start_of_name(text, at)
    if at < 1 or text[at - 1] not in "tT":
        return False
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


def _moved_to(text: str, at: int) -> re.Match[str] | None:
    found = _MOVED_TO.match(text, at)
    is_moved = found is not None and _MOVED.search(text[max(0, at - 32) : at - 1]) is not None
    return found if is_moved and found and not is_proposed(text, _start_of_name(text, at), found.end(1)) else None


def _start_of_name(text: str, at: int) -> int:
    """The offset of torch, PyTorch or libtorch, of which `orch` at an offset is the end."""
    start = at - 1
    if text[max(0, start - 2) : start].lower() == "py":
        start -= 2
    return start - 3 if text[max(0, start - 3) : start] == "lib" else start


def _one_of(versions: list[str]) -> str | None:
    """The version that all agree on. Shorter forms agree with one that has a label or a third number."""
    longest = max(versions, key=len)
    return longest if all(longest.startswith(version) for version in versions) else None


def find_label(text: str) -> str:
    """`+cpu`, `+cu111`, `+rocm5.2`: the variant of torch according to the text; empty if unknown."""
    cuda, rocm = _CUDA.search(text), _ROCM.search(text)
    without = ("None", "N/A", "No")
    if cuda is not None and cuda[1] in without and (rocm is None or rocm[1] in without):
        return "+cpu"
    if rocm is not None and rocm[1][0].isdigit():
        return f"+rocm{'.'.join(rocm[1].split('.')[:2])}"
    if _CPU_BESIDE.search(text) is not None:
        return "+cpu"
    if of_rocm := only_value(values(_ROCM_BESIDE, text)):
        return f"+rocm{of_rocm}"
    said = [release for pattern in _CUDA_PATTERNS for release in values(pattern, text)]
    said += [cuda[1]] if cuda is not None else []
    if not said and packager_of(text):
        said = values(_CUDA_SAID, text)
    found = only_value(release.replace(".", "") for release in said if _CUDA_RELEASE.fullmatch(release))
    return found and f"+cu{found}"


def find_variant(text: str) -> str:
    """The variant of the only CUDA release that a text names; empty if it names several, or none."""
    said = [
        match[1].replace(".", "")
        for match in matches(_CUDA_SAID, text)
        if _OF_DRIVER not in text[max(0, match.start() - 64) : match.start()]
    ]
    found = only_value(said or values(_CUDA_OF_PACKAGE, text))
    return found and f"cu{found}"


def find_cxx11_abi(text: str) -> bool | None:
    asked = (*values(_CXX11_ABI, text), *values(_CXX11_ABI_BESIDE, text))
    found = {value.lower() == "true" for value in asked}
    if not found:
        at = text.find(_BUILT_WITH)
        flag = _FLAG.search(text, at, at + _FLAGS) if at >= 0 else None
        found = set() if flag is None else {flag[1] == "1"}
    if not found:
        found = {match["abi"] is not None for match in matches(_ARCHIVE, text)}
    if not found and packager_of(text):
        return True
    return found.pop() if len(found) == 1 else None


def find_companions(text: str) -> dict[str, str]:
    """Versions from `pip list` and similar output; a package with contradictory lines is omitted."""
    said: dict[str, dict[str, None]] = {}
    for match in matches(_COMPANION, text):
        before = text[max(0, match.start() - 24) : match.start()]
        if is_version(match[2]) and not before.endswith(_NOT_THERE):
            said.setdefault(match[1].lower(), {})[match[2]] = None
    one = {package: _one_of(list(versions)) for package, versions in said.items()}
    return {package: version for package, version in one.items() if version is not None}
