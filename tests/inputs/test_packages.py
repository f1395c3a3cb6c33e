"""Installed packages, in a site-packages directory as written by installers."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.errors import UsageError
from abiscan.inputs import expand
from abiscan.inputs.distributions import distributions
from abiscan.wheel.container_facts import ContainerKind
from tests.inputs.kit import GOOD, METADATA, SMALL, WHEEL, all_of


@pytest.fixture
def site(tmp_path: Path) -> Path:
    root = tmp_path / "env" / "lib" / "python3.11" / "site-packages"
    files = {
        "demo/__init__.py": b"",
        "demo/_C.so": GOOD,
        "demo/notes.txt": b"x",
        "demo.libs/libhelp.so.1": SMALL,
        "Demo_Ext-1.0.dist-info/METADATA": METADATA,
        "Demo_Ext-1.0.dist-info/WHEEL": WHEEL,
        "pure/__init__.py": b"",
        "pure-2.0.dist-info/METADATA": b"Name: pure\n",
        "pure-2.0.dist-info/RECORD": b"pure/__init__.py,,\npure-2.0.dist-info/METADATA,,\n",
        "loose/mod.so": SMALL,
        "single.cpython-311-x86_64-linux-gnu.so": SMALL,
        "broken-1.dist-info/RECORD": b"broken/_C.so,,\nbroken/text.so,,\n/etc/passwd,,\n",
        "broken/text.so": b"text",
        "edit-1.dist-info/RECORD": b"__editable___edit_1_finder.py,,\nedit-1.dist-info/RECORD,,\n",
    }
    files["Demo_Ext-1.0.dist-info/RECORD"] = "".join(
        f'"{name}",sha256=x,1\n' for name in (*list(files)[:6], "../../../bin/demo")
    ).encode()
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


@pytest.mark.parametrize("name", ["demo-ext", "Demo.Ext", "DEMO_EXT", "demo"])
def test_by_distribution_or_import_name(tmp_path: Path, site: Path, name: str) -> None:
    found, errors, notes = all_of(name, cwd=tmp_path, site=[str(tmp_path / "none"), str(site)])
    assert not errors
    assert not notes
    assert [a.install_path for a in found] == ["demo.libs/libhelp.so.1", "demo/_C.so"]
    assert found[1].path == "env/lib/python3.11/site-packages/demo/_C.so"
    assert found[1].disk_path == str(site / "demo" / "_C.so")
    facts = found[0].group.facts
    assert (facts.kind, facts.name, facts.requires_dist) == (ContainerKind.INSTALLED, "demo", ("torch==2.4.0",))
    assert facts.metadata_tags == ("cp311-cp311-linux_x86_64",)
    assert found[0].group.named("libhelp.so.1") == (found[0],)


@pytest.mark.parametrize("name", ["debian-ext", "deb", ""])
def test_a_record_of_debian(tmp_path: Path, name: str) -> None:
    """Debian's python3-torchvision 0.14.1: `torchvision-0.14.1a0.egg-info`, with PKG-INFO, without RECORD."""
    site = tmp_path / "lib" / "python3" / "dist-packages"
    files = {
        "deb/_C.so": GOOD,
        "debian_ext-0.14.1a0.egg-info/PKG-INFO": METADATA,
        "debian_ext-0.14.1a0.egg-info/top_level.txt": b"deb\n",
    }
    for place, content in files.items():
        path = site / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    found, errors, notes = all_of(name or str(site), cwd=tmp_path, site=[str(site)])
    assert (errors, notes) == ([], [])
    assert [a.install_path for a in found] == ["deb/_C.so"]
    if name != "deb":  # no RECORD lists the files of an import
        assert found[0].group.facts.requires_dist == ("torch==2.4.0",)
    (distribution,) = distributions([str(site)])
    assert distribution.shared_objects == (str(site / "deb" / "_C.so"),)


def test_a_record_of_distutils(tmp_path: Path) -> None:
    """install_egg_info of distutils writes the metadata to the file `NAME-VERSION-pyX.Y.egg-info`, without modules."""
    site = tmp_path / "lib" / "python3" / "dist-packages"
    (site / "old").mkdir(parents=True)
    (site / "old" / "_C.so").write_bytes(GOOD)
    (site / "old-3.0-py3.11.egg-info").write_bytes(METADATA)
    found, errors, notes = all_of("old", cwd=tmp_path, site=[str(site)])
    assert ([a.install_path for a in found], errors, notes) == (["old/_C.so"], [], [])


@pytest.mark.parametrize("record", ["gone-1.0.egg-info", "gone-1.0.dist-info"])
def test_a_record_without_files_is_no_pure_package(tmp_path: Path, record: str) -> None:
    """A broken link in place of the record. `pip show -f`: Cannot locate RECORD or installed-files.txt."""
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (site / record).symlink_to("/nowhere")
    found, errors, notes = all_of("gone", cwd=tmp_path, site=[str(site)])
    assert (found, notes) == ([], [])
    assert [e.message for e in errors] == ["its files are unknown: no RECORD, and no module of its name"]
    # Debian removes RECORD: typing_extensions is a module without a list of modules.
    (site / "gone.py").touch()
    assert [type(each) for each in all_of("gone", cwd=tmp_path, site=[str(site)])[1]] == []


def test_what_no_installer_recorded(tmp_path: Path, site: Path) -> None:
    (loose,), _, _ = all_of("loose", cwd=tmp_path, site=[str(site)])
    assert loose.install_path == "loose/mod.so"
    (single,), _, _ = all_of("single", cwd=tmp_path, site=[str(site)])
    assert single.install_path == "single.cpython-311-x86_64-linux-gnu.so"


def test_a_pure_package_is_noted(tmp_path: Path, site: Path) -> None:
    found, errors, (note,) = all_of("pure", cwd=tmp_path, site=[str(site)])
    assert not found
    assert not errors
    assert "pure Python" in note.message


def test_what_the_record_lists_and_is_not_there(tmp_path: Path, site: Path) -> None:
    _, errors, _ = all_of("broken", cwd=tmp_path, site=[str(site)])
    assert [e.message for e in errors] == ["missing, but listed in the RECORD of broken", "not an ELF file: it is text"]


def test_an_editable_install_names_its_source(tmp_path: Path, site: Path) -> None:
    _, (error,), _ = all_of("edit", cwd=tmp_path, site=[str(site)])
    assert "editable" in error.message


def test_a_file_of_that_name_comes_first(tmp_path: Path, site: Path) -> None:
    (tmp_path / "demo").write_bytes(SMALL)
    (found,), _, _ = all_of("demo", cwd=tmp_path, site=[str(site)])
    assert found.path == "demo"


def test_a_near_name_is_suggested(tmp_path: Path, site: Path) -> None:
    with pytest.raises(
        UsageError, match=r"no package or module of that name is installed in .*; did you mean Demo_Ext\?"
    ):
        next(expand(["Demo_Exd"], cwd=str(tmp_path), environment_paths=[str(site)]))
