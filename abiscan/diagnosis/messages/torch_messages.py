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
