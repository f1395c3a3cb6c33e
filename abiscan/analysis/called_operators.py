"""Which operators a model of AOTInductor calls by name, by the `.json` that lies beside it.

Operators without a C shim are called through a proxy (`aoti_torch_proxy_executor_call_function`), by their number in
that file: `{"nodes": [{"node": {"target": "ns::name.overload", ...}}, ...]}` (torch/csrc/inductor/aoti_torch/
oss_proxy_executor.cpp, which looks for `x.json` beside `x.so`). The file is data, and is read as nothing else.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from abiscan.binary import Binary
from abiscan.binary.stored import StoredBinary
from abiscan.errors import UnreadableFile
from abiscan.filesystem import FileSystem
from abiscan.model.operators import CalledOperator
from abiscan.releases.exports import TargetExports
from abiscan.targets import Artifact

_SUFFIX = ".json"
_TARGET = r"(\w+)::(\w+)(?:\.(\w+))?"
_MOST = 10_000
# The overload that has no name of its own.
_DEFAULT = "default"
# at::_ops::NAME::call, an export of libtorch_cpu for each operator that torch's native_functions.yaml has.
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
    """The operators, sorted, and why they are not known, or not all of them.

    Args:
        artifact: a file that calls some (`provenance_facts.CALLS_BY_NAME`).
        exports: of the torch that it is judged against, None for none; files: where the file is.
    """
    if isinstance(binary, StoredBinary):
        return (), None  # its facts are stored without them
    unknown = "which operators it calls by name is not known: "
    try:
        raw = artifact.beside(_SUFFIX, files)
    except UnreadableFile as error:
        return (), f"{unknown}the {_SUFFIX} file beside it cannot be read: {error.reason}"
    if raw is None:
        return (), f"{unknown}no {_SUFFIX} file of its name lies beside it"
    try:
        calls = msgspec.json.decode(raw, type=_Calls).nodes
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return (), f"{unknown}the {_SUFFIX} file beside it does not list them as torch writes it"
    matches = [re.fullmatch(_TARGET, call.node.target) for call in calls[:_MOST]]
    found = {(match[1], match[2], match[3] or "") for match in matches if match is not None}
    told = tuple(sorted((_called(*each, exports) for each in found), key=lambda each: (each.name, each.overload)))
    rest = len(calls) - sum(match is not None for match in matches)
    return (
        told,
        f"{unknown}{rest} of {len(calls)} in the {_SUFFIX} file beside it are not told by name" if rest else None,
    )


def _called(namespace: str, name: str, overload: str, exports: TargetExports | None) -> CalledOperator:
    overload = "" if overload == _DEFAULT else overload
    in_torch = None
    if namespace == "aten" and exports is not None:
        identifier = f"{name}_{overload}" if overload else name
        start = _ENTRY_POINT.format(length=len(identifier), name=identifier)
        in_torch = bool(exports.with_prefix(start))
    return CalledOperator(f"{namespace}::{name}", overload, in_torch)
