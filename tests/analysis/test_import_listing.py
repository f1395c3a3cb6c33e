"""Listings of the imports of a Windows file, in the forms of four programs. Expected releases are those of the DLLs of
torch's wheels (llvm-readobj --coff-exports): `toScalarType() const` is exported from 2.8.0 on."""

from __future__ import annotations

import pytest

from abiscan.analysis.explanation import explain_text
from abiscan.analysis.import_listing import imports_in
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings

NAMES = ("??1SymInt@c10@@QEAA@XZ", "?toScalarType@TypeMeta@caffe2@@QEBA?AW4ScalarType@c10@@XZ")
IMPORTS = [*(("c10.dll", name) for name in NAMES), ("kernel32.dll", "GetProcAddress")]

DUMPBIN = f"""Dump of file _C.pyd

File Type: DLL

  Section contains the following imports:

    c10.dll
             1800A2048 Import Address Table
             1800D6A28 Import Name Table
                     0 time date stamp
                     0 Index of first forwarder reference

                         1C4 {NAMES[0]}
                          10 {NAMES[1]}

    KERNEL32.dll
             1800A2048 Import Address Table

                         2B8 GetProcAddress

  Summary

        1000 .data
"""
DEPENDENCIES = f"""[-] Import listing for file : _C.pyd
Import from module c10.dll :
\t Function {NAMES[0]}
\t Function {NAMES[1]}
Import from module KERNEL32.dll :
\t Function GetProcAddress
"""
OBJDUMP = f"""The Import Tables (interpreted .rdata section contents)
\tDLL Name: c10.dll
\tvma:  Hint/Ord Member-Name Bound-To
\ta6382\t  882  {NAMES[0]}
\ta633a\t 1796  {NAMES[1]}

\tDLL Name: KERNEL32.dll
\tvma:  Hint/Ord Member-Name Bound-To
\ta6382\t  882  GetProcAddress
"""
READOBJ = f"""File: _C.pyd
Import {{
  Name: c10.dll
  ImportLookupTableRVA: 0x2034
  ImportAddressTableRVA: 0x2058
  Symbol: {NAMES[0]} (34)
  Symbol: {NAMES[1]} (35)
}}
Import {{
  Name: KERNEL32.dll
  ImportAddressTableRVA: 0x2058
  Symbol: GetProcAddress (2)
}}
"""


@pytest.mark.parametrize("text", [DUMPBIN, DEPENDENCIES, OBJDUMP, READOBJ], ids=["dumpbin", "deps", "objdump", "llvm"])
def test_the_releases_that_export_all_that_is_listed(text: str) -> None:
    assert imports_in(text) == IMPORTS
    (subject,) = explain_text(text, ScanOptions(None, None, LoaderSettings("/"))).subjects
    assert "It lists 2 symbols of torch, for Windows." in subject.notes
    assert "Its torch symbols all resolve on torch 2.8.0-2.15.0." in subject.notes


def test_another_text_lists_nothing() -> None:
    assert imports_in("ImportError: DLL load failed while importing _C\n    c10.dll\n  1C4 ?f@@YAXXZ\n") == []


def test_a_long_line_costs_no_more_than_its_length() -> None:
    assert imports_in("DLL Name: c10.dll\n" + " a" * 100_000 + "\n" + "\t" * 100_000 + "x\n") == []


def test_a_listing_alone_reports_nothing_missing() -> None:
    text = (
        "[-] Import listing for file : C:\\e\\x.pyd\nImport from module c10.dll :\n\t Function "
        f"{NAMES[1]}\n\t Function ?tls_local_dispatch_key_set@impl@c10@@YA?AULocalDispatchKeySet@12@XZ (Delay Import)\n"
        "\t Ordinal_3 \n[-] Import listing done\n"
    )
    (subject,) = explain_text(text, ScanOptions("2.7.1", None, LoaderSettings("/"))).subjects
    assert subject.causes == ()
