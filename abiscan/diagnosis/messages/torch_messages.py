"""Messages of torch and of extensions about releases that differ."""

from __future__ import annotations

import re
from collections.abc import Iterator

from abiscan.diagnosis.messages.mention import Complaint, Mention
from abiscan.diagnosis.messages.message_text import Hit


def no_toolkit(hit: Hit) -> Iterator[Mention]:
    """torch.utils.cpp_extension: `OSError: CUDA_HOME environment variable is not set.`"""
    yield Mention(Complaint.NO_TOOLKIT, hit.word, hit.at)


def no_nvcc(hit: Hit) -> Iterator[Mention]:
    """`No such file or directory: '/usr/local/cuda/bin/nvcc'`; sh: `/usr/local/cuda/bin/nvcc: not found`; setuptools:
    `error: command '/usr/local/cuda/bin/nvcc' failed: No such file or directory`"""
    if "No such file or directory" in hit.before[-160:] or hit.rest.startswith(
        ("not found", "No such file", "command", " failed: No such file")
    ):
        yield Mention(Complaint.NO_TOOLKIT, "nvcc", hit.at)


def no_package(hit: Hit) -> Iterator[Mention]:
    """CMake: `Could not find a package configuration file provided by "Torch" with any of the following names:`"""
    if hit.rest.lstrip(" \n").startswith(('"Torch"', '"Caffe2"')) or '"Torch"' in hit.following(1)[:64]:
        yield Mention(Complaint.NO_HEADER, "TorchConfig.cmake", hit.at)


_PTX = re.compile(r" (\d\.\d); current version is '(\d\.\d)'")


def newer_ptx(hit: Hit) -> Iterator[Mention]:
    """ptxas: `fatal : Unsupported .version 8.4; current version is '8.2'`"""
    found = _PTX.match(hit.rest)
    if found is not None:
        yield Mention(Complaint.NO_TOOLKIT, f"PTX {found[1]}", hit.at, releases=(found[1], found[2]))


_PARAMETER = re.compile(r"Parameter (\w{1,128}) $")


def newer_schema(hit: Hit) -> Iterator[Mention]:
    """torch.library: `ValueError: infer_schema(func): Parameter block_size has unsupported type list[int].`"""
    found = _PARAMETER.search(hit.before[-160:])
    if found is not None and "infer_schema" in hit.before[-200:]:
        yield Mention(Complaint.NO_PYTHON_ATTRIBUTE, "torch.library.infer_schema of list[...]", hit.at)


# --- releases that differ -------------------------------------------------------------------------------------------

_CUDA = re.compile(
    r"(?:', |^, )'(\d{1,2}\.\d{1,2})'|compiled with Cuda (\d{1,2}\.\d{1,2})|"
    r"CUDA [Vv]ersion[ =]{0,4}(\d{1,2}\.\d{1,2})|\((\d{1,2}\.\d{1,2})\)|compiled with (\d{1,2}\.\d{1,2})"
)
_PACKAGE = re.compile(r"PyTorch and (\w{1,128}) were compiled")


def cuda_of_extension(hit: Hit) -> Iterator[Mention]:
    """`Detected that PyTorch and torch_scatter were compiled with different CUDA versions. PyTorch has CUDA version
    11.8 and ...`, or without the numbers."""
    yield _cuda_releases(hit, Complaint.CUDA_OF_EXTENSION)


def cuda_of_toolkit(hit: Hit) -> Iterator[Mention]:
    """`The detected CUDA version (12.1) mismatches the version that was used to compile PyTorch (11.8).`; DeepSpeed:
    `Installed CUDA version 12.1 does not match the version torch was compiled with 11.8`"""
    yield _cuda_releases(hit, Complaint.CUDA_OF_TOOLKIT)


def _cuda_releases(hit: Hit, complaint: Complaint) -> Mention:
    found = _CUDA.findall(hit.line + hit.following(2))
    releases = tuple("".join(groups) for groups in found[:2])
    package = _PACKAGE.search(hit.line)
    return Mention(
        complaint,
        f"CUDA {' / '.join(releases)}" if releases else "different CUDA versions",
        hit.at,
        needed_by=package[1] if package is not None else None,
        releases=releases,
    )


_CUDNN = re.compile(r"\((\d{1,2}), (\d{1,3}), (\d{1,3})\)")


def cudnn_releases(hit: Hit) -> Iterator[Mention]:
    """torch: `cuDNN version incompatibility: PyTorch was compiled  against (8, 5, 0) but found runtime version
    (8, 3, 2)`"""
    numbers = tuple(".".join(groups) for groups in _CUDNN.findall(hit.rest[:400])[:2])
    if len(numbers) == 2:
        yield Mention(Complaint.CUDNN_RELEASES, f"cuDNN {numbers[0]} / {numbers[1]}", hit.at, releases=numbers)


def cudnn_parts(hit: Hit) -> Iterator[Mention]:
    """`cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH`"""
    if "CUDNN_STATUS_" in hit.before[-32:]:
        yield Mention(Complaint.CUDNN_RELEASES, "CUDNN_STATUS_VERSION_MISMATCH", hit.at)


_BUILT_FOR = re.compile(
    r"PyTorch\s{1,4}(\d[\w.+-]{0,47})(?:\s{1,4}with CUDA (\w{1,8}))?\s{1,4}\(you have (\d[\w.+-]{0,47})\)"
)
_EXTENSION = re.compile(r"(\w{1,64}) was built (?:for|with|against)")
_COMPILED_WITH = re.compile(r"(\w[\w.-]{0,63}) (?:was|were) (?:built|compiled) (?:for|with|against) (?:PyTorch|torch)")
_VERSION = re.compile(r"(?:PyTorch|[Tt]orch)[ =v]{0,4}(?:version )?(\d{1,2}\.\d{1,2}[\w.+]{0,24})")


def built_for_torch(hit: Hit) -> Iterator[Mention]:
    """xFormers: `xFormers was built for:`, then `PyTorch 2.0.1+cu118 with CUDA 1108 (you have 2.1.0+cu121)`"""
    around = hit.line + hit.following(3)
    found = _BUILT_FOR.search(around)
    if found is None:
        return
    extension = _EXTENSION.search(hit.line) or _EXTENSION.search(hit.preceding(2))
    yield Mention(
        Complaint.TORCH_OF_EXTENSION,
        f"torch {found[1]} / {found[3]}",
        hit.at,
        needed_by=extension[1] if extension is not None else None,
        releases=(found[1].rstrip("."), found[3].rstrip(".")),
    )


_INCOMPATIBLE = re.compile(r"incompatible torch version (\d[\w.+-]{0,47}) for (\w{1,64}) version (\d[\w.+-]{0,47})")


def incompatible_torch(hit: Hit) -> Iterator[Mention]:
    """torchao: `Skipping import of cpp extensions due to incompatible torch version 2.7.1+cu128 for torchao version
    0.15.0`"""
    found = _INCOMPATIBLE.match(hit.word + hit.rest[:200])
    if found is not None:
        text = f"{found[2]} {found[3]} / torch {found[1]}"
        yield Mention(Complaint.TORCH_OF_EXTENSION, text, hit.at, needed_by=found[2], releases=(found[1],))


def expected_torch(hit: Hit) -> Iterator[Mention]:
    """torch-scatter up to 2.0: `Expected PyTorch version 1.4 but found version 1.5.`; Horovod: `Framework pytorch
    installed with version 1.9.0 but found version 1.10.0.`"""
    versions = re.findall(r"(\d{1,2}\.\d{1,2}[\w.+]{0,24})", hit.rest[:256])
    if len(versions) >= 2:
        wanted, found = (version.rstrip(".") for version in versions[:2])
        yield Mention(Complaint.TORCH_OF_EXTENSION, f"torch {wanted} / {found}", hit.at, releases=(wanted, found))
