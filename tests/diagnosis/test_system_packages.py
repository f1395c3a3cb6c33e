"""Libraries of the system by their files: what installs them is a command.

Oracles: Debian 12's package index for the names behind `apt-get install` (`apt-cache show`), and the list of files in
Debian's packages for the file that each has.
"""

from __future__ import annotations

import re

import pytest

from abiscan.diagnosis.catalogue.load_packages import load_packages
from abiscan.diagnosis.catalogue.package_row import SystemLibrary
from abiscan.diagnosis.fixes.system_packages import install_file, install_headers, library_of_file, library_of_header
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.model.cause import CauseId
from tests.diagnosis.explained import explain
from tests.tables import table_rows
from tools import package_data

ROWS = package_data.catalogue().library


@table_rows
def test_the_first_line_installs_the_file(file: str, command: str) -> None:
    assert install_file(file)[0].startswith(command)


def test_a_file_that_is_in_no_row_is_looked_up_in_the_index_of_the_distribution() -> None:
    (line,) = install_file("libfrobnicate.so.3")
    assert "apt-file search libfrobnicate.so.3" in line


def test_the_generated_file_has_the_rows() -> None:
    assert load_packages().library == ROWS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_row_is_found_by_its_names_and_has_a_fix(row: SystemLibrary) -> None:
    assert row.names or row.headers
    for name in row.names:
        file = (name if ".so" in name or name.endswith((".dll", ".dylib")) else f"{name}.so.1").replace("*", "x")
        found = library_of_file(file)
        assert found is not None
        assert install_file(file), file
    for header in row.headers:
        assert library_of_header(f"{header}a.h" if header.endswith("/") else header) is not None
        assert install_headers(row), header


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_no_fix_installs_the_package_with_the_file(row: SystemLibrary, nothing: Knowledge) -> None:
    for name in row.names:
        file = (name if ".so" in name or name.endswith((".dll", ".dylib")) else f"{name}.so.1").replace("*", "x")
        (subject,) = explain(f"ImportError: {file}: cannot open shared object file: No such file or directory", nothing)
        assert subject.causes[0].cause is CauseId.LIBRARY_MISSING
        # No index has the SDK of a processor, whose folder or script is part of its installation.
        installs = r"(?:source|export \w+=)" if not (row.apt or row.dnf or row.conda or row.pip) else r"\S+ install "
        assert re.match(re.escape(row.first) or installs, subject.causes[0].fix), subject.causes[0].fix


def test_a_header_of_a_submodule_is_fetched_with_it(nothing: Knowledge) -> None:
    # .gitmodules of diff-gaussian-rasterization: third_party/glm. Ubuntu 22.04 has GLM 0.9.9.8, without gtx/pca.hpp.
    (subject,) = explain("a.cu:3:10: fatal error: glm/gtx/pca.hpp: No such file or directory", nothing)
    first, second, *_ = subject.causes[0].fix.splitlines()
    assert first.startswith("git submodule update --init --recursive")
    assert second.startswith("or: apt-get install -y libglm-dev ")


@pytest.mark.parametrize("platform", ["win_amd64", "macosx"])
def test_only_linux_has_packages_of_its_distributions(platform: str) -> None:
    row = library_of_header("glm/glm.hpp")
    assert row is not None
    assert not [line for line in install_headers(row, platform) if "apt-get" in line or "dnf" in line]
