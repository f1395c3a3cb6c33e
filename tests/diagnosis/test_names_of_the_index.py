"""Causes and fixes of every 6,000th name of the release index. Oracles: the exports of each build,
and the CPythons of the wheels of torch (`tests/releases/test_pythons.py`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from abiscan.analysis.explanation import explain_text
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from abiscan.mangling import parse
from abiscan.model.cause import Confidence
from abiscan.model.dependency_specifiers import admits
from abiscan.model.python_version import PythonVersion
from abiscan.model.versions import order
from abiscan.releases.build import has_the_new_string
from abiscan.releases.index import open_index
from abiscan.releases.pythons import installable

_INDEX = open_index(earlier=True)
_VERSIONS = tuple(dict.fromkeys(build.torch for build in _INDEX.builds("x86_64")))
_STEP = 6_000
_FILES = {
    "/e/lib/python3.9/site-packages/m/_C.so": PythonVersion(3, 9),
    "/e/lib/python3.12/site-packages/m/_C.cpython-312-x86_64-linux-gnu.so": PythonVersion(3, 12),
}


def _names() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names and the releases that export them."""
    names = (name for table in _INDEX.tables_of("x86_64") for name, _record in table.names() if name[:2] == "_Z")
    for name in list(names)[::_STEP]:
        history = _INDEX.history(name)
        if history is not None and 0 < len(releases := {b.torch for b in history.exporting_builds}) < len(_VERSIONS):
            yield name, tuple(each for each in _VERSIONS if each in releases)


@pytest.mark.one_python
@pytest.mark.parametrize(("name", "exporting"), list(_names()))
def test_named_releases_export_the_name(name: str, exporting: tuple[str, ...]) -> None:
    lacking = [each for each in _VERSIONS if each not in exporting]
    for (path, python), torch in zip(_FILES.items(), (None, lacking[len(lacking) // 2]), strict=True):
        options = ScanOptions(torch, None, LoaderSettings("/"))
        (subject,) = explain_text(f"ImportError: {path}: undefined symbol: {name}", options).subjects
        assert subject.exported_in is not None
        assert [each for each in _VERSIONS if subject.exported_in.contains(each)] == list(exporting)
        for cause in subject.causes:
            if cause.cause != "cxx11-abi-mismatch":
                for version, index in _proposed(cause.fix, installable(_VERSIONS, python)):
                    assert version in exporting, cause.fix
                    assert not has_the_new_string(f"{version}+{index}"), cause.fix
        if torch is not None and subject.causes:
            here = order(torch) or ()
            orders = [order(each) or () for each in exporting]
            assert subject.causes[0].cause != "built-for-newer-torch" or max(orders) > here
            assert subject.causes[0].cause != "built-for-older-torch" or min(orders) < here


@pytest.mark.one_python
def test_cut_names_have_causes_of_the_whole_name() -> None:
    """Oracle: the causes of the whole name, which the text does not show. A cut that is a name itself is that name."""
    names = [name for name, _exporting in _names()]
    options, asked = ScanOptions(None, None, LoaderSettings("/")), 0
    for number, name in enumerate(names):
        cut = name[: len(name) * (30 + number * 7 % 41) // 100]
        known = parse(cut)
        if known is not None and known.parameters is not None:
            continue
        whole, found = (
            explain_text(f"ImportError: m.so: undefined symbol: {each}", options).subjects for each in (name, cut)
        )
        first = found[0].causes[0] if found and found[0].causes else None
        if first is not None and first.confidence != Confidence.LOW:
            asked += 1
            assert first.cause in {each.cause for each in whole[0].causes if each.confidence != Confidence.LOW}, cut
    assert asked > 20


def _proposed(fix: str, known: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The release that pip takes for each command with a torch, and the label of its index."""
    for line in fix.split("\n"):
        found = re.search(r'pip install "?torch((?:[<>=]=?[\d.]+,?)+)', line)
        if found is not None:
            taken = [each for each in known if admits(found[1].rstrip(","), (each,))]
            assert taken, line
            yield taken[-1], line.partition("/whl/")[2]
