"""Index files: reading returns what was written, and damage or a later format gives one clear line."""

from __future__ import annotations

import random
import subprocess
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abiscan.errors import AbiscanError, UnreadableFile, UsageError
from abiscan.releases import Build, ExportKind, ReleaseExport, ReleaseIndex, add, omission, open_index
from abiscan.releases.add import add_build, download
from abiscan.releases.omission import recorded as is_recorded
from abiscan.releases.pip_download import Fetched
from abiscan.releases.table import ReleaseTable
from abiscan.releases.writer import BuildExports, pack, write_index
from tests import torch_here
from tools.build_release_index import read_back

FUNCTION = ReleaseExport(("libtorch_cpu.so",), ExportKind.FUNCTION, None, False)
VTABLE = ReleaseExport(("libc10.so", "libtorch_cpu.so"), ExportKind.OBJECT, 0x70, False)


def build(torch: str, variant: str = "cpu", machine: str = "x86_64") -> Build:
    return Build(
        key=f"{torch}+{variant}-{machine}",
        torch=torch,
        variant=variant,
        machine=machine,
        cuda=None,
        hip=None,
        git_revision=None,
        cxx11_abi=True,
        wheel="w.whl",
        sha256=None,
        python=None,
        libraries=("libc10.so", "libtorch_cpu.so"),
    )


def item(torch: str, exports: dict[str, ReleaseExport], variant: str = "cpu") -> BuildExports:
    return BuildExports(build(torch, variant), exports, {}, {})


exports = st.dictionaries(
    st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=30).map(lambda t: f"_ZN2at{t}"),
    st.builds(
        ReleaseExport,
        libraries=st.lists(st.sampled_from(["libc10.so", "libtorch_cpu.so"]), min_size=1, max_size=2, unique=True).map(
            tuple
        ),
        kind=st.sampled_from(ExportKind),
        size=st.none() | st.integers(0, 2**64 - 1),
        weak=st.booleans(),
    ),
    max_size=30,
)


@given(st.lists(exports, min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_what_goes_in_comes_out(
    tmp_path_factory: pytest.TempPathFactory, builds: list[dict[str, ReleaseExport]]
) -> None:
    items = [item(f"2.{minor}.0", names) for minor, names in enumerate(builds)]
    path = tmp_path_factory.mktemp("index") / "i.idx"
    write_index(path, items)
    table = ReleaseTable(path)
    assert read_back(table) == items
    index = ReleaseIndex([table])
    wanted = {name for names in builds for name in names if omission(name) is None}
    found = index.lookup(wanted)
    assert set(found) == wanted
    for name, history in found.items():
        assert history.exports == tuple(names.get(name) for names in builds)
    own = {n for b in builds for n in b if omission(n) is None}
    assert list(index.prefix("_ZN2at")) == sorted(own, key=lambda n: n.encode())


def test_many_blocks(tmp_path: Path) -> None:
    names = [f"_ZN2at{len(str(i)) + 1}f{i}Ev" for i in range(5000)]
    older, newer = dict.fromkeys(names[::2], FUNCTION), dict.fromkeys(names, FUNCTION)
    write_index(tmp_path / "i.idx", [item("2.0.0", older), item("2.1.0", newer)])
    index = ReleaseIndex([ReleaseTable(tmp_path / "i.idx")])
    found = index.lookup([*names, "_ZN2at1gEv", "_ZN2at", "_ZN3c101gEv", "_Z1aN2at6TensorE", ""])
    assert list(found) == names
    assert found[names[1]].exported_in == (("2.1.0", "2.1.0"),)
    assert found[names[2]].exported_in == (("2.0.0", "2.1.0"),)
    assert list(index.prefix("_ZN2at5f12")) == [n for n in sorted(names) if n.startswith("_ZN2at5f12")]
    assert len(index.prefix("_ZN2at", limit=700)) == 700
    assert not index.prefix("_ZN9")


def test_the_same_builds_give_the_same_bytes() -> None:
    items = [item("2.0.0", {"_ZN2at1fEv": FUNCTION, "_ZTVN2at1AE": VTABLE}), item("2.1.0", {"_ZTVN2at1AE": VTABLE})]
    shuffled = [BuildExports(i.build, dict(reversed(i.exports.items())), i.vtables, i.omitted) for i in items]
    assert pack(items) == pack(shuffled)


def test_ranges_with_a_gap_and_variants_of_one_version(tmp_path: Path) -> None:
    has, lacks = {"_ZN2at1fEv": FUNCTION}, {"_ZN2at1gEv": FUNCTION}
    write_index(tmp_path / "a.idx", [item("2.0.0", has), item("2.1.0", lacks), item("2.2.0", has), item("2.10.0", has)])
    write_index(tmp_path / "b.idx", [item("2.2.0", lacks, "cu126")])
    write_index(tmp_path / "c.idx", [item("2.9.0a0", has, "nv25.01")])
    index = ReleaseIndex([ReleaseTable(tmp_path / f"{name}.idx", user=name != "a") for name in "abc"])
    keys = [each.key for each in index.builds("x86_64")]
    assert keys == [
        "2.0.0+cpu-x86_64",
        "2.1.0+cpu-x86_64",
        "2.2.0+cpu-x86_64",
        "2.2.0+cu126-x86_64",
        "2.9.0a0+nv25.01-x86_64",
        "2.10.0+cpu-x86_64",
    ]
    history = index.history("_ZN2at1fEv")
    assert history is not None
    # 2.2.0 counts, because one of its two builds has the name; `exports` shows that the other build lacks it.
    assert history.exported_in == (("2.0.0", "2.0.0"), ("2.2.0", "2.10.0"))
    assert history.mask == 0b110101
    assert index.resolve("2.2.0").variant == "cpu"
    assert index.resolve("2.2.0+cu126").user
    assert index.newest().torch == "2.10.0"


def test_a_build_of_the_users_own_replaces_the_shipped_one_of_that_key(tmp_path: Path) -> None:
    write_index(tmp_path / "a.idx", [item("2.0.0", {"_ZN2at1fEv": FUNCTION})])
    write_index(tmp_path / "b.idx", [item("2.0.0", {"_ZN2at1gEv": FUNCTION})])
    index = ReleaseIndex([ReleaseTable(tmp_path / "a.idx"), ReleaseTable(tmp_path / "b.idx", user=True)])
    assert len(index.builds()) == 1
    assert index.history("_ZN2at1fEv") is None
    assert index.history("_ZN2at1gEv") is not None


# --- damage -------------------------------------------------------------------------------------------------------


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    names = {f"_ZN2at3f{i:03}Ev": FUNCTION for i in range(600)} | {"_ZTVN2at1AE": VTABLE}
    vtables = {"_ZTVN2at1AE": (0, "_ZTIN2at1AE", None, "_ZN2at1A1fEv", -16)}
    path = tmp_path / "sound.idx"
    write_index(path, [BuildExports(build("2.0.0"), names, vtables, {"c-library": 3})])
    return path


def test_a_sound_file(sound: Path) -> None:
    table = ReleaseTable(sound)
    assert table.verify() == 601
    assert table.vtable("_ZTVN2at1AE") == ((0, "_ZTIN2at1AE", None, "_ZN2at1A1fEv", -16),)
    assert table.vtable("_ZTVN2at1BE") is None
    assert table.statistics["omitted"] == {"2.0.0+cpu-x86_64": {"c-library": 3}}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: b"", "empty"),
        (lambda data: b"PK\x03\x04" + data[4:], "not a release index"),
        (lambda data: data[:20], "truncated"),
        (lambda data: data[:-1], "length"),
        (lambda data: data[:8] + b"\x02" + data[9:], "later format .2; this abiscan reads 1.: upgrade abiscan"),
        (lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:], "checksum"),
    ],
)
def test_damage_found_on_opening(sound: Path, change: object, says: str) -> None:
    sound.write_bytes(change(sound.read_bytes()))  # type: ignore[operator]
    with pytest.raises(UnreadableFile, match=says) as caught:
        ReleaseTable(sound)
    assert str(caught.value).startswith(f"{sound}: ")
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="cannot be opened"):
        ReleaseTable(tmp_path / "none.idx")
    with pytest.raises(UnreadableFile, match=r"cannot be (mapped|opened)"):
        ReleaseTable(tmp_path)


def test_no_flipped_byte_goes_unnoticed(sound: Path) -> None:
    """Every byte after the preamble has a checksum: the header's CRC-32 or a block's Adler-32."""
    data = sound.read_bytes()
    random.seed(4)
    for at in random.sample(range(32, len(data)), 300):
        sound.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        with pytest.raises(UnreadableFile):
            ReleaseTable(sound).verify()


# --- adding a build -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def torch_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed torch with two of its libraries: all of them would take seconds."""
    root = tmp_path_factory.mktemp("torch")
    installed = torch_here.directory()
    (root / "lib").mkdir()
    (root / "version.py").symlink_to(installed / "version.py")
    for name in ("libc10.so", "libtorch_python.so"):
        (root / "lib" / name).symlink_to(installed / "lib" / name)
    return root


def nm(path: Path) -> dict[str, tuple[str, int]]:
    done = subprocess.run(
        ["nm", "-D", "--defined-only", "-S", "--format=posix", path], capture_output=True, text=True, check=True
    )
    rows = (line.split() for line in done.stdout.splitlines())
    return {name: (kind, int(size[0], 16) if size else 0) for name, kind, _value, *size in rows}


@pytest.mark.torch
def test_an_added_directory_holds_exactly_what_nm_lists(torch_directory: Path, tmp_path: Path) -> None:
    added = add_build(torch_directory, tmp_path / "user")
    assert (added.torch, added.machine, added.sha256) == ("2.13.0", "x86_64", None)
    assert added.cxx11_abi is True
    index = open_index(tmp_path / "user")
    assert index.resolve(added.key).user
    listed: dict[str, list[tuple[str, str, int]]] = {}
    for name in ("libc10.so", "libtorch_python.so"):
        for symbol, (kind, size) in nm(torch_directory / "lib" / name).items():
            listed.setdefault(symbol, []).append((name, kind, size))
    recorded = read_back(index.tables[1])[0].exports
    assert set(recorded) == {name for name in listed if is_recorded(name)}
    for symbol, export in recorded.items():
        assert set(export.libraries) == {library for library, _kind, _size in listed[symbol]}
        kinds = {kind for _library, kind, _size in listed[symbol]}
        # nm: V, W and u are weak and unique; T, D, B, R, ... are global.
        assert export.weak == kinds.issubset({"V", "W", "u", "v", "w"})
        if export.size is not None:
            assert export.size in {size for _library, _kind, size in listed[symbol]}


@pytest.mark.torch
def test_an_added_wheel_equals_the_directory(torch_directory: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "torch-2.13.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(torch_directory / "version.py", "torch/version.py")
        for path in sorted((torch_directory / "lib").iterdir()):
            archive.write(path, f"torch/lib/{path.name}")
        archive.writestr("torch/lib/libgomp.so.1", b"not read")
    added = add_build(wheel, tmp_path / "wheel")
    assert added.python == "cp311"
    assert added.sha256 is not None
    assert added.libraries == ("libc10.so", "libgomp.so.1", "libtorch_python.so")
    add_build(torch_directory, tmp_path / "directory")
    one, other = (read_back(open_index(tmp_path / kind).tables[1])[0] for kind in ("wheel", "directory"))
    assert (one.exports, one.vtables) == (other.exports, other.vtables)


def test_a_path_without_torch_is_reported(tmp_path: Path) -> None:
    with pytest.raises(AbiscanError, match="no such file"):
        add_build(tmp_path / "none.whl", tmp_path)
    text = tmp_path / "text.whl"
    text.write_text("hello")
    with pytest.raises(UnreadableFile, match="neither a wheel"):
        add_build(text, tmp_path)
    with zipfile.ZipFile(tmp_path / "empty.whl", "w") as archive:
        archive.writestr("numpy/version.py", "__version__ = '1'")
    with pytest.raises(UnreadableFile, match=r"no torch in it: libc10\.so, c10\.dll or libc10\.dylib is missing"):
        add_build(tmp_path / "empty.whl", tmp_path)
    with zipfile.ZipFile(tmp_path / "bad.whl", "w") as archive:
        archive.writestr("torch/lib/libc10.so", b"no library")
    with pytest.raises(UnreadableFile, match=r"bad\.whl!torch/lib/libc10\.so"):
        add_build(tmp_path / "bad.whl", tmp_path)
    assert not list(tmp_path.glob("*.idx"))


@pytest.mark.parametrize(("version", "machine"), [("--help", "x86_64"), ("2.6.0 ; x", "x86_64"), ("2.6.0", "riscv64")])
def test_a_version_that_cannot_be_one_is_never_given_to_pip(tmp_path: Path, version: str, machine: str) -> None:
    with pytest.raises(UsageError):
        download(version, machine, tmp_path)


def test_a_release_that_is_not_there_is_refused_with_those_for_any_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch's wheels for CPython 3.7 end with 1.13.1, and those for 3.11 begin with 1.13.0 (package index)."""
    offered = {"37": "1.0.0, 1.13.1", "311": "1.13.0, 1.13.1, 2.9.1, 2.10.0"}

    def nothing(_requirement: str, _into: Path, *, python: str, **_given: object) -> Fetched:
        return Fetched(None, "No matching distribution found for torch==9.9", offered.get(python, ""))

    monkeypatch.setattr(add, "pip_download", nothing)
    with pytest.raises(UsageError, match=r"it has 1\.0\.0, 1\.13\.0, 1\.13\.1, 2\.9\.1, 2\.10\.0$"):
        download("9.9", "x86_64", tmp_path)
