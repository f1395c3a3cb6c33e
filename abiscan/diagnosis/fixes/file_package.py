"""The package that installed a file, by its path in a message, and the commands that install it again."""

from __future__ import annotations

import posixpath
import re
import shlex

from abiscan.diagnosis.catalogue.load_packages import package_of_name
from abiscan.diagnosis.fixes import system_packages
from abiscan.diagnosis.fixes.safe_names import normalised

_SITE = re.compile(r"/(?:site|dist)-packages/(?P<folder>[^/]+)/")
# A library beside the bin/ and conda-meta/ of an environment.
_OF_CONDA = re.compile(
    r"(?P<environment>/(?:.*/)?(?:[^/]*(?:conda|mamba|miniforge)[^/]*|envs/[^/]+|env))/lib/(?P<name>[^/]+)"
)
_PIP = "pip install --force-reinstall --no-cache-dir"


def import_of_file(path: str) -> str | None:
    """The import name of the package with the file: its folder in a site-packages; None if the path does not show
    it."""
    found = _SITE.search(_normal(path))
    return None if found is None else found["folder"].removesuffix(".libs")


def distribution_of_file(path: str) -> str | None:
    """The name of the package on a package index that has the file; None if the path does not show it.

    NVIDIA's packages count as torch, whose reinstallation includes them.
    """
    folder = import_of_file(path)
    if folder in ("torch", "nvidia"):
        return "torch"
    known = package_of_name(folder or "")
    if known is not None or not folder:
        return None if known is None else known.name
    # Most failing files are not below site-packages.
    from abiscan.diagnosis.text.text_facts import first_shown

    return first_shown("distribution", folder) or normalised(folder)


def reinstall_file(path: str) -> str | None:
    """The commands that install the package with the file again, one a line; None if the path does not show it."""
    package = distribution_of_file(path)
    if package is not None:
        what = "torch  # and NVIDIA's packages" if package == "torch" else f"--no-deps {package}"
        return f"{_PIP} {what}"
    found = _OF_CONDA.fullmatch(_normal(path))
    if found is None:
        return None
    row = system_packages.library_of_file(found["name"])
    known = "" if row is None else row.conda.split(" ")[0]
    meta = f"{shlex.quote(found['environment'])}/conda-meta/*.json"
    return (
        f"conda install --force-reinstall {known or 'PACKAGE'}  # the conda package with the file: grep -l "
        f"{shlex.quote(found['name'])} {meta}"
    )


def _normal(path: str) -> str:
    return posixpath.normpath(path.replace("\\", "/"))
