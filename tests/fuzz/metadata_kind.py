"""Metadata of packages, mutated: METADATA, WHEEL, index.json, RECORD, direct_url.json, lists of inputs."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from random import Random

from tests.fuzz.mutate import mutate_bytes, mutate_text

_VERSIONS = tuple(f"{major}.{minor}.0" for major in (1, 2) for minor in range(14))
_METADATA = """Metadata-Version: 2.4
Name: demo
Version: 1.0+pt24cu121
Requires-Dist: torch>=2.4,<2.6; python_version < "3.12" and (platform_machine == "x86_64" or extra == "gpu")
Requires-Dist: torch (==2.4.1)
Requires-Dist: torch @ https://example.org/torch-2.5.1%2Bcu124-cp311-cp311-linux_x86_64.whl#sha256=00
Requires-Dist: numpy[all]~=1.26 ; extra == 'x'
Requires-Dist: nvidia-cuda-runtime-cu12==12.4.99
Requires-Python: >=3.9,!=3.9.7
Provides-Extra: gpu
License: one
        two

Text
"""
_WHEEL = (
    "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-manylinux_2_17_x86_64\nTag: cp39-abi3-linux_x86_64\n"
)
_CONDA = json.dumps(
    {"name": "demo", "version": "1.0", "depends": ["python >=3.9", "pytorch >=2.4,<2.5.0a0", "pytorch 2.4.* py3_cuda"]}
)
_RECORD = 'demo/_C.so,sha256=aa,123\n"demo/a,b.so",,\n../../bin/demo,,\ndemo-1.0.dist-info/RECORD,,\n'
_URL = json.dumps({"url": "file:///src/demo", "dir_info": {"editable": True}, "vcs_info": {"vcs": "git"}})
_LIST = "a.so  # comment\n# all\ndist/*.whl\ntorch==2.4.0\nhttps://example.org/x.whl\n"
SEEDS = {
    "METADATA": _METADATA,
    "WHEEL": _WHEEL,
    "index.json": _CONDA,
    "RECORD": _RECORD,
    "direct_url.json": _URL,
    "list": _LIST,
}
_WEIGHTS = (12, 3, 3, 2, 2, 2)
_WORDS = (
    *("(", ")", "[", "]", "{", "}", '"', "'", ";", ",", ":", "@", "#", "\n", "\r", "\n ", "\0", "\x85", "\u2028", "=="),
    *(">=", "~=", "===", "!=", "<", ".*", "!", "+", "-", "a0", "1e9", "99999", " and ", " or ", " not in ", " in "),
    *("extra", "extras", "python_version", "platform_release", "os_name", "torch", "Torch "),
    *("pytorch ", "Requires-Dist: "),
    *("Tag: ", "cp311-cp311-", ".", "manylinux_2_", "\\u0000", "null", "1" * 70, "٣", "<a href=", "<div>", "&#0;"),
)


def metadata_kind(directory: str) -> tuple[Callable[[Random], bytes], Callable[[bytes], None]]:
    """Functions that make and read an input. The first line of an input is the name of its file.

    Args:
        directory: where a package is installed.
    """

    def make(rng: Random) -> bytes:
        name = rng.choices(tuple(SEEDS), weights=_WEIGHTS)[0]
        text = mutate_text(SEEDS[name], rng, _WORDS)
        if name == "METADATA" and rng.random() < 0.01:
            line = rng.choice(
                ("Requires-Dist: torch>=2.4\n", "Requires-Dist: x\n", "A: b\n", " folded\n", "Tag: a-b-c\n")
            )
            text = line * rng.choice((100, 5000, 70_000)) + text
        content = text.encode("utf-8", "surrogatepass")
        return f"{name}\n".encode() + (mutate_bytes(content, rng) if rng.random() < 0.1 else content)

    def run(data: bytes) -> None:
        name, _, content = data.partition(b"\n")
        reader = _READERS.get(name.decode("ascii", "replace"))
        if reader is not None:
            reader(content, directory)

    return make, run


def _read_wheel(member: str) -> Callable[[bytes, str], None]:
    def read(content: bytes, _directory: str) -> None:
        from abiscan.analysis.containers import container_of
        from abiscan.compare.compatibility_changes import compare_requirements
        from abiscan.inputs import Group
        from abiscan.target.declared import declared_by, marker_environments
        from abiscan.target.unread_metadata import unknown_of, unread_requirements
        from abiscan.wheel.metadata import container_facts, find_excess_of_metadata, find_kind
        from abiscan.wheel.tags import differing_tags, read_declared_tags, torch_allowed, torch_requirements

        if find_excess_of_metadata(member, content):
            return
        display = "demo.conda" if member.startswith("info/") else "demo-1.0-cp311-cp311-linux_x86_64.whl"
        facts = container_facts(display, display, find_kind(display, (member,)), {member: content}, (member, "x/_C.so"))
        container = container_of(Group(display, facts))
        list(compare_requirements(container, None))
        list(compare_requirements(container, container))
        [*unread_requirements(facts), *unknown_of(facts)]
        declared = declared_by(facts, "x/_C.so", "x86_64")
        if declared.torch is not None:
            [
                version
                for version in _VERSIONS
                if declared.torch.admits(version) or declared.torch.admits_release(version)
            ]
        required = torch_requirements(facts.requires_dist)
        environments = marker_environments(required, declared.pythons, facts.requires_python or "", "x86_64")
        torch_allowed(required, _VERSIONS, environments)
        read_declared_tags(facts.metadata_tags)
        differing_tags(facts.file_tags, facts.metadata_tags)

    return read


def _read_installed(name: str) -> Callable[[bytes, str], None]:
    def read(content: bytes, directory: str) -> None:
        from abiscan.compare.environment import upgrade_steps
        from abiscan.inputs import Options
        from abiscan.inputs.distributions import distributions
        from abiscan.inputs.packages import expand_environment

        site = os.path.join(directory, "site")
        place = os.path.join(site, "demo-1.0.dist-info")
        os.makedirs(place, exist_ok=True)
        try:
            for each in ("METADATA", "RECORD", "direct_url.json"):
                with open(os.path.join(place, each), "wb") as file:
                    file.write(content if each == name else SEEDS[each].encode())
            upgrade_steps(distributions((site,)))
            list(expand_environment(site, "site", (site,), Options()))
        finally:
            shutil.rmtree(site)

    return read


def _read_list(content: bytes, directory: str) -> None:
    from abiscan.inputs import read_target_list
    from abiscan.inputs.expand import is_fetched

    with open(os.path.join(directory, "list.txt"), "wb") as file:
        file.write(content)
    for target in read_target_list("list.txt", cwd=directory):
        is_fetched(target)


_READERS: dict[str, Callable[[bytes, str], None]] = {
    "METADATA": lambda content, directory: (
        _read_wheel("demo-1.0.dist-info/METADATA")(content, directory),
        _read_installed("METADATA")(content, directory),
    )[0],
    "WHEEL": _read_wheel("demo-1.0.dist-info/WHEEL"),
    "index.json": _read_wheel("info/index.json"),
    "RECORD": _read_installed("RECORD"),
    "direct_url.json": _read_installed("direct_url.json"),
    "list": _read_list,
}
