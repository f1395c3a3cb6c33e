"""Records of installed packages in a directory of packages: their names and files.

Recording installed projects: https://packaging.python.org/en/latest/specifications/recording-installed-packages/
"""

from __future__ import annotations


def name_of_record(entry: str) -> str:
    """`demo` of `demo-1.0.dist-info` and of `demo-1.0.egg-info`, which Debian's packages have; empty for other entries
    of a site directory, among them `demo.egg-info` of a source tree."""
    if entry.endswith(".egg-info"):
        name, separator, _version = entry.removesuffix(".egg-info").partition("-")
        return name if separator else ""
    return entry.removesuffix(".dist-info").rpartition("-")[0] if entry.endswith(".dist-info") else ""


def metadata_file(dist_info: str) -> str:
    """The file with the core metadata in a record of an installed package."""
    return "PKG-INFO" if dist_info.endswith(".egg-info") else "METADATA"
