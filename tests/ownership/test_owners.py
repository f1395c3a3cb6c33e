"""Owners of literal names. Expected values are from the public headers that declare them."""

from __future__ import annotations

import string
from pathlib import Path

import msgspec

from abiscan.data import data_file
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.reference import Reference
from abiscan.elf import open_elf
from abiscan.model.facts import VersionNeed
from abiscan.model.imports import Owner
from abiscan.ownership import torch_names
from abiscan.ownership.names import OwnScopes, outer_scope, owner_of, owner_of_library
from abiscan.ownership.vendor_row import IndexedVendors
from abiscan.ownership.vendors import vendor_of, vendor_of_library
from abiscan.releases import open_index
from tests.tables import table_rows


@table_rows
def test_outer_scope(mangled: str, scope: str | None) -> None:
    assert outer_scope(mangled) == scope


@table_rows
def test_owner(name: str, version: tuple[str, str] | None, provider: str | None, owner: Owner) -> None:
    reference = None if version is None else VersionNeed(*version, False)
    assert owner_of(name, reference, provider) is owner


def test_explain_gives_the_owner_that_binding_gives(fixtures_dir: Path) -> None:
    """For every import without an answer in the file's own names."""
    for fixture in ("good-extension.so", "extension-source-not-built.so", "cuda-build-required.so"):
        for symbol in open_elf(str(fixtures_dir / fixture)).imports:
            need = symbol.version
            library, version = (None, None) if need is None else (need.library, need.name)
            missing = MissingName(Reference(symbol.name, library, version), Knowledge())
            assert missing.owner is owner_of(symbol.name, need)


@table_rows
def test_owner_of_a_library(library: str, owner: Owner) -> None:
    assert owner_of_library(library) is owner


def test_torchs_libraries_are_those_that_its_builds_ship() -> None:
    """The index lists the libraries of each build; names of others' libraries there do not begin like torch's."""
    shipped = {library for build in open_index().builds() for library in build.libraries}
    begin_so = {
        name for name in shipped if name.startswith(("libtorch", "libc10", "libshm", "libcaffe2", "libnvfuser"))
    }
    assert len(begin_so) > 10
    assert all(torch_names.is_torch_library(name) for name in begin_so)
    assert {name for name in begin_so if not torch_names.is_of_torch_folder(name)} == {"libtorchbind_test.so"}
    others = {name for name in shipped if name.startswith(("libgomp", "libcu", "libnvT", "libopenblas", "libarm"))}
    assert others
    assert not any(torch_names.is_torch_library(name) or torch_names.is_of_torch_folder(name) for name in others)


def test_torchs_c_names_are_those_that_its_builds_export() -> None:
    """All C names in the index except cpuinfo's, which libc10 exports, and options with the names of glog and
    others."""
    index = open_index()
    names = [
        name
        for letter in string.ascii_letters + "_"
        for name in index.prefix(letter, limit=200_000)
        if outer_scope(name) is None
    ]
    assert len(names) > 2_000
    assert [n for n in names if not n.startswith(("cpuinfo_", "FLAGS_")) and owner_of(n) is not Owner.TORCH] == []


def test_the_module_of_torch() -> None:
    assert torch_names.is_torch_module("/e/site-packages/torch/_C.cpython-311-x86_64-linux-gnu.so")
    assert torch_names.is_torch_module("torch\\_C.pyd")
    assert torch_names.is_torch_module("torch/_thnn/_THNN.cpython-36m-x86_64-linux-gnu.so")
    assert torch_names.is_torch_module("/e/site-packages/torch/_thnn/_THCUNN.so")
    assert not torch_names.is_torch_module("/e/site-packages/torch/_thnn/utils.so")
    assert not torch_names.is_torch_module("/e/my_torch/_C.so")
    assert not torch_names.is_torch_module("/e/site-packages/torchvision/_C.so")
    assert not torch_names.is_torch_module("/e/site-packages/torch/_C_flatbuffer.so")


@table_rows
def test_vendor_of(name: str, library: str | None) -> None:
    vendor = vendor_of(name)
    assert (vendor.library if vendor is not None else None) == library


def test_every_row_can_be_found() -> None:
    for vendor in msgspec.json.decode(Path(data_file("vendors.json")).read_bytes(), type=IndexedVendors).vendors:
        for name in (*vendor.starts, *(f"{prefix}X" for prefix in vendor.capital), *vendor.names):
            assert vendor_of(name) == vendor
        found = vendor_of_library(f"lib{vendor.library}.so.1")
        assert found is not None
        assert found.library == vendor.library


def test_a_name_of_the_files_own_namespace(fixtures_dir: Path) -> None:
    elf = open_elf(str(fixtures_dir / "extension-source-not-built.so"))
    scopes = OwnScopes(elf.names_with_prefix)
    owners = [
        owner_of(i.name, i.version, None, scopes) for i in elf.imports if outer_scope(i.name) not in ("std", None)
    ]
    assert Owner.SELF in owners
    assert scopes("mylib_nowhere") is False
