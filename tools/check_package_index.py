"""Check that the package index has what tables of this repository name.

    python tools/check_package_index.py --index URL

For each requirement in `ownership/vendors.toml` it must have a wheel, and for each package of the catalogue with
`sdist = true` the source of the newest release. Exit status 1 if one is missing. Reads PEP 691 responses.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from abiscan.ownership.vendors import cuda_distributions
from tools import package_data


def versions(index: str, project: str) -> tuple[set[Version], set[Version]]:
    """The versions of a project with a wheel, and those with a source distribution."""
    request = urllib.request.Request(
        f"{index.rstrip('/')}/{project}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            names = [file["filename"] for file in json.load(answer)["files"]]
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        names = []
    wheels, sources = set(), set()
    for name in names:
        try:
            if name.endswith(".whl"):
                wheels.add(parse_wheel_filename(name)[1])
            else:
                sources.add(parse_sdist_filename(name)[1])
        except (InvalidSdistFilename, InvalidWheelFilename):
            continue
    return wheels, sources


def problems(index: str) -> Iterator[str]:
    """A sentence for each that is missing."""
    for requirement in map(Requirement, sorted(cuda_distributions())):
        if not any(map(requirement.specifier.contains, versions(index, requirement.name)[0])):
            yield f"{requirement}: no release on the index"
    for package in package_data.catalogue().package:
        wheels, sources = versions(index, package.name) if package.sdist else (set(), set())
        stable = [version for version in wheels | sources if not version.is_prerelease]
        if package.sdist and (not stable or max(stable) not in sources):
            yield f"{package.name}: its newest release has no source distribution"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--index", required=True, help="simple API of a package index")
    found = list(problems(parser.parse_args().index))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
