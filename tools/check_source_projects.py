"""Check that the package index still has the source of the newest release of packages in the catalogue.

    python tools/check_source_projects.py [--index URL]

Checks packages with `sdist = true`. Exit status 1 if one has none. Reads PEP 691 responses.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.request
from pathlib import Path

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools import package_data


def has_source(index: str, project: str) -> bool:
    """Whether the newest stable release of a project has a source distribution."""
    request = urllib.request.Request(
        f"{index.rstrip('/')}/{project}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        files = json.load(answer)["files"]
    sources, every = set(), set()
    for file in files:
        try:
            if file["filename"].endswith(".whl"):
                every.add(parse_wheel_filename(file["filename"])[1])
            else:
                version = parse_sdist_filename(file["filename"])[1]
                sources.add(version)
                every.add(version)
        except (InvalidSdistFilename, InvalidWheelFilename):
            continue
    stable = [version for version in every if not version.is_prerelease]
    return bool(stable) and max(stable) in sources


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--index", required=True, help="simple API of a package index")
    index = parser.parse_args().index
    listed = [package.name for package in package_data.catalogue().package if package.sdist]
    without = [project for project in listed if not has_source(index, project)]
    for project in without:
        print(f"{project}: its newest release has no source distribution")
    return 1 if without else 0


if __name__ == "__main__":
    raise SystemExit(main())
