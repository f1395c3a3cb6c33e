"""The manylinux floor of every wheel of the corpus, compared with auditwheel's policy: `pip install auditwheel &&
python -m tests.corpus.fetch && pytest -m auditwheel`.

The policy is applied to `readelf -V` of the wheel's members. `auditwheel show` adds requirements of libraries that it
finds on the machine, and versions of bundled libraries: its result can be newer."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from abiscan.elf import open_elf
from abiscan.errors import UnreadableFile
from abiscan.model.facts import VersionNeed
from abiscan.wheel.tags import fitting_platform
from tests.corpus.fetch import corpus_dir

pytestmark = pytest.mark.auditwheel

_FILE, _NAME = re.compile(r"File: (\S+)"), re.compile(r"Name: (\S+) +Flags: (\S+)")


def asked_for(path: Path) -> dict[str, set[str]]:
    """Library -> the versions that a file needs from it, by readelf."""
    text = subprocess.run(
        ["readelf", "-VW", path], capture_output=True, encoding="utf-8", errors="replace", check=False
    ).stdout
    found: dict[str, set[str]] = {}
    library = ""
    for line in text.partition("Version needs section")[2].splitlines():
        if match := _FILE.search(line):
            library = match[1]
        if (match := _NAME.search(line)) and match[2] != "WEAK":
            found.setdefault(library, set()).add(match[1])
    return found


def test_floors_of_the_corpus() -> None:
    from auditwheel.architecture import Architecture
    from auditwheel.libc import Libc
    from auditwheel.policy import WheelPolicies

    policies = WheelPolicies(libc=Libc.GLIBC, arch=Architecture.x86_64)
    differing, compared = {}, 0
    for folder in sorted((corpus_dir() / "unpacked").iterdir()):
        members = [path for path in folder.rglob("*.so*") if path.is_file()]
        own = {path.name for path in members}
        needs: set[VersionNeed] = set()
        asked: dict[str, set[str]] = {}
        for path in members:
            try:
                elf = open_elf(path)
                facts = elf.facts()
            except UnreadableFile:
                continue
            if facts.machine != "x86_64":
                continue
            needs.update(facts.version_needs)
            for library, versions in asked_for(path).items():
                if library not in own:
                    asked.setdefault(library, set()).update(versions)
        if asked:
            compared += 1
            policy = policies.versioned_symbols_policy(asked).name
            if fitting_platform(needs, "x86_64", own) != policy:
                differing[folder.name] = (fitting_platform(needs, "x86_64", own), policy)
    assert compared
    assert differing == {}
