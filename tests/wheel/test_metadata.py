"""Declarations of containers, from literal metadata. Oracles: `email` (metadata) and packaging (wheel names)."""

from __future__ import annotations

import email
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.metadata import parse_email
from packaging.utils import parse_wheel_filename

from abiscan.wheel.container_facts import ContainerKind
from abiscan.wheel.metadata import container_facts, find_kind, headers, install_path
from abiscan.wheel.wheel_name import split_wheel_name
from tests.corpus.fetch import corpus_dir
from tests.processor_time import at_most
from tests.tables import data_text, table_rows

METADATA = data_text(__file__, "METADATA.txt")


def test_headers_are_those_that_email_reads() -> None:
    message = email.message_from_string(METADATA)
    ours = headers(METADATA.encode())
    assert set(ours) == {key.lower() for key, _ in message.items()}
    for key in ours:
        assert [" ".join(v.split()) for v in ours[key]] == [" ".join(v.split()) for v in message.get_all(key, [])]


FIELDS = ("metadata-version", "name", "version", "requires-python", "requires-dist", "tag", "root-is-purelib")


def read_by_packaging(raw: bytes) -> dict[str, list[str]]:
    """FIELDS from `packaging.metadata`; fields of WHEEL, which core metadata does not have, are unchanged."""
    known, others = parse_email(raw)
    found: dict[str, object] = {**{name.replace("_", "-"): value for name, value in known.items()}, **others}
    values = {name: [found[name]] if isinstance(found[name], str) else found[name] for name in FIELDS if name in found}
    return {name: [str(each).strip() for each in value] for name, value in values.items() if isinstance(value, list)}


def test_fields_are_those_that_packaging_reads() -> None:
    ours = headers(METADATA.encode())
    assert {name: ours[name] for name in FIELDS if name in ours} == read_by_packaging(METADATA.encode())


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Name", "Requires-Dist", "requires-PYTHON", "Tag", "Version", "License", "X-Other"]),
            st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S"]), min_size=1, max_size=20),
        ),
        max_size=8,
    ),
    st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=30),
)
def test_fields_are_those_that_packaging_reads_of_any_metadata(fields: list[tuple[str, str]], body: str) -> None:
    raw = "".join(f"{name}: {value}\n" for name, value in fields).encode() + b"\n" + body.encode()
    ours = headers(raw)
    assert {name: ours[name] for name in FIELDS if name in ours} == read_by_packaging(raw)


@pytest.mark.slow
def test_many_fields_take_no_longer_than_their_number() -> None:
    """16 MiB, the maximum that is read. packaging.metadata takes minutes for a tenth of it."""
    raw = b"".join(b"X-%d: 1\n" % number for number in range(1_400_000))
    assert len(raw) > 15 << 20
    with at_most(30):
        assert len(headers(raw)) == 1_400_000


@pytest.mark.corpus
def test_fields_of_real_wheels_are_those_that_packaging_reads() -> None:
    compared = 0
    for path in sorted(corpus_dir().glob("*.whl")):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith((".dist-info/METADATA", ".dist-info/WHEEL")):
                    raw = archive.read(name)
                    ours = headers(raw)
                    assert {key: ours[key] for key in FIELDS if key in ours} == read_by_packaging(raw), (path, name)
                    compared += 1
    assert compared > 100


@pytest.mark.parametrize(
    "raw", [b"", b"\n", b"no colon\n", b" leading\nName: x", b"\xff\xfe: \xff\n", b":\n", b"Name:\n x"]
)
def test_headers_that_are_formed_wrongly(raw: bytes) -> None:
    headers(raw)


@pytest.mark.parametrize(
    "name",
    [
        "torchvision-0.28.0-cp311-cp311-manylinux_2_28_x86_64.whl",
        "torchao-0.13.0-1-cp39-abi3-manylinux_2_24_x86_64.manylinux_2_28_x86_64.whl",
        "soundfile-0.14.0-py2.py3-none-any.whl",
    ],
)
def test_wheel_names(name: str) -> None:
    ours = split_wheel_name(name)
    theirs = parse_wheel_filename(name)
    assert ours is not None
    assert ours[:2] == (theirs[0], str(theirs[1]))
    assert set(ours[2]) == {str(tag) for tag in theirs[3]}


@pytest.mark.parametrize("name", ["x.whl", "x-1-py3-none.whl", "x.zip", "a-b-c-d-e-f-g.whl"])
def test_no_wheel_names(name: str) -> None:
    assert split_wheel_name(name) is None


@table_rows
def test_places_of_installation(kind: ContainerKind, name: str, expected: str | None) -> None:
    assert install_path(kind, name) == expected


@pytest.mark.parametrize("index", [b"", b"[]", b"{", b"[" * 100_000, b'{"depends": 3}', b'{"name": null}'])
def test_a_conda_index_that_is_formed_wrongly(index: bytes) -> None:
    assert container_facts("x", "x.conda", ContainerKind.CONDA, {"info/index.json": index}, []).requires_dist == ()


def test_kinds() -> None:
    assert find_kind("x.whl", []) is ContainerKind.WHEEL
    assert find_kind("x", ["x-1.dist-info/WHEEL"]) is ContainerKind.WHEEL
    assert find_kind("x.tar.bz2", ["info/index.json"]) is ContainerKind.CONDA
    assert find_kind("x-1.tar.gz", ["x-1/PKG-INFO"]) is ContainerKind.SDIST
    assert find_kind("x-1.tar.gz", ["x-1/deep/PKG-INFO"]) is ContainerKind.ARCHIVE


def test_a_folded_license_with_blank_lines_does_not_end_the_headers() -> None:
    """As in bitsandbytes 0.45.5. Oracle: `email`."""
    raw = b"Name: x\nLicense: MIT\n        \n        Copyright\nRequires-Dist: torch<3,>=2.0\n\nRequires-Dist: other\n"
    assert headers(raw)["requires-dist"] == email.message_from_bytes(raw).get_all("Requires-Dist") == ["torch<3,>=2.0"]
