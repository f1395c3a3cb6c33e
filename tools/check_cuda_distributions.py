"""Check that the package index has a release for each requirement in `ownership/vendors.toml`.

    python tools/check_cuda_distributions.py --index URL

Exit status 1 if one has none. Reads PEP 691 responses.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.error
import urllib.request
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from abiscan.ownership.vendors import cuda_distributions


def is_satisfied(index: str, requirement: Requirement) -> bool:
    """Whether a wheel on the index satisfies a requirement."""
    request = urllib.request.Request(
        f"{index.rstrip('/')}/{requirement.name}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            files = json.load(answer)["files"]
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return False
        raise
    for file in files:
        try:
            if requirement.specifier.contains(parse_wheel_filename(file["filename"])[1]):
                return True
        except InvalidWheelFilename:
            continue
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--index", required=True, help="simple API of a package index")
    index = parser.parse_args().index
    without = [text for text in sorted(cuda_distributions()) if not is_satisfied(index, Requirement(text))]
    for text in without:
        print(f"{text}: no release on the index")
    return 1 if without else 0


if __name__ == "__main__":
    raise SystemExit(main())
