"""Operators that an AOTInductor model calls by name, from the `.json` file beside it.

Operators without a C shim are called through a proxy (`aoti_torch_proxy_executor_call_function`), by their index in
that file: `{"nodes": [{"node": {"target": "ns::name.overload", ...}}, ...]}` (torch/csrc/inductor/aoti_torch/
oss_proxy_executor.cpp, which looks for `x.json` beside `x.so`). The file is only read as data.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from abiscan.binary import Binary
from abiscan.binary.stored_binary import StoredBinary
from abiscan.binary.stored_values import StoredCalls
from abiscan.errors import UnreadableFile
from abiscan.filesystem import FileSystem
from abiscan.inputs import Artifact
from abiscan.model.operators import CalledOperator
from abiscan.releases.exports import TargetExports

_SUFFIX = ".json"
_TARGET = r"(\w+)::(\w+)(?:\.(\w+))?"
_MOST = 10_000
# The overload without a name.
_DEFAULT = "default"
_UNKNOWN = "the operators that it calls by name are unknown: "
# at::_ops::NAME::call, exported by libtorch_cpu for each operator in torch's native_functions.yaml.
_ENTRY_POINT = "_ZN2at4_ops{length}{name}4callE"


class _Node(Struct):
    target: str


class _Call(Struct):
    node: _Node


class _Calls(Struct):
    nodes: list[_Call] = []


def called_operators(
    artifact: Artifact, binary: Binary, exports: TargetExports | None, files: FileSystem
) -> tuple[tuple[CalledOperator, ...], str | None]:
    """The operators, sorted, and why the list is missing or incomplete.

    Args:
        artifact: a file that calls some (`provenance_facts.CALLS_BY_NAME`).
        exports: exports of the target torch; None for none.
        files: the file system of the file.
    """
    calls = binary.calls if isinstance(binary, StoredBinary) else read_calls(artifact, files)
    if calls is None:
        return (), f"{_UNKNOWN}it is not among its stored facts: scan the file itself"
    found = (_called(*each, exports) for each in calls.names)
    return tuple(sorted(found, key=lambda each: (each.name, each.overload))), calls.unknown


def read_calls(artifact: Artifact, files: FileSystem) -> StoredCalls:
    """The operators in the file beside a model, independent of torch."""
    try:
        raw = artifact.beside(_SUFFIX, files)
    except UnreadableFile as error:
        return StoredCalls((), f"{_UNKNOWN}the {_SUFFIX} file beside it cannot be read: {error.reason}")
    if raw is None:
        return StoredCalls((), f"{_UNKNOWN}no {_SUFFIX} file of its name is beside it")
    try:
        calls = msgspec.json.decode(raw, type=_Calls).nodes
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return StoredCalls((), f"{_UNKNOWN}the {_SUFFIX} file beside it is not in the format that torch writes")
    matches = [re.fullmatch(_TARGET, call.node.target) for call in calls[:_MOST]]
    found = {(match[1], match[2], match[3] or "") for match in matches if match is not None}
    rest = len(calls) - sum(match is not None for match in matches)
    more = f"{_UNKNOWN}{rest} of {len(calls)} in the {_SUFFIX} file beside it cannot be listed" if rest else None
    return StoredCalls(tuple(sorted(found)), more)


def _called(namespace: str, name: str, overload: str, exports: TargetExports | None) -> CalledOperator:
    overload = "" if overload == _DEFAULT else overload
    in_torch = None
    if namespace == "aten" and exports is not None:
        identifier = f"{name}_{overload}" if overload else name
        start = _ENTRY_POINT.format(length=len(identifier), name=identifier)
        in_torch = bool(exports.with_prefix(start))
    return CalledOperator(f"{namespace}::{name}", overload, in_torch)
