"""An AOTInductor model, alone and in a package, against torch's own headers, index and loader."""

from __future__ import annotations

import json
import os
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from abiscan.errors import UnreadableFile
from abiscan.inputs.artifact import Limits
from abiscan.inputs.tar_archive import TarArchive
from abiscan.inputs.tree import FileBytes
from tests import torch_here
from tests.forking_process import Run
from tests.programs import run_abiscan

MODEL = Path(__file__).parents[1] / "fixtures" / "aotinductor" / "model.so"


def scanned(path: Path, *options: str) -> dict[str, Any]:
    (artifact,) = json.loads(run_abiscan("-f", "json", "-q", *options, path).stdout)["artifacts"]
    return dict(artifact)


def told(artifact: dict[str, Any]) -> list[str]:
    return [fact["value"] for fact in artifact["provenance"]["facts"] if fact["topic"] == "aotinductor"]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The members that torch 2.13.0 writes, stored, with its names."""
    out = tmp_path / "model.pt2"
    folder = "model/data/aotinductor/model/c56zq5yl.wrapper"
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("model/archive_format", "pt2")
        archive.writestr("model/byteorder", "little")
        archive.writestr(f"{folder}_metadata.json", json.dumps({"AOTI_DEVICE_KEY": "cpu"}))
        archive.write(MODEL, f"{folder}.so")
    return out


def test_a_model_and_the_operators_that_it_calls_by_name(package: Path) -> None:
    for path in (MODEL, package):
        artifact = scanned(path, "--torch", "2.13.0")
        assert artifact["verdict"] == "loads"
        assert told(artifact) == ["a compiled model", "calls operators that have no C shim"]


def written(path: Path, raw: str) -> Path:
    """The package of `package`, with the file that torch 2.13.0 writes beside the library of a model."""
    out = path.with_name("with-calls.pt2")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(out, "w") as archive:
        for name in source.namelist():
            archive.writestr(name, source.read(name))
            if name.endswith(".so"):
                archive.writestr(name.removesuffix(".so") + ".json", raw)
    return out


# Shortened from the output of torch 2.13.0 for a model that calls these.
CALLS = """{"nodes": [
 {"name": "buf0", "node": {"target": "mylib::twice", "inputs": [{"name": "x", "arg": {"as_tensor": {"name": "a"}}}],
  "metadata": {"torch_library_custom_op": "1"}, "is_hop_single_tensor_return": null, "name": null}},
 {"name": "buf2", "node": {"target": "other::scale.by", "inputs": [], "outputs": [], "metadata": {}}},
 {"name": "buf4", "node": {"target": "aten::_linalg_svd", "inputs": [], "outputs": [], "metadata": {}}},
 {"name": "buf5", "node": {"target": "aten::add.Tensor", "inputs": [], "outputs": [], "metadata": {}}},
 {"name": "buf6", "node": {"target": "aten::no_such", "inputs": [], "outputs": [], "metadata": {}}}]}"""


def called(artifact: dict[str, Any]) -> dict[str, bool | None]:
    return {f"{o['name']}.{o['overload']}".rstrip("."): o["in_torch"] for o in artifact["called_operators"]}


def test_the_operators_that_it_calls_are_named(package: Path) -> None:
    """`torch.ops.aten` of 2.13.0 has _linalg_svd and add.Tensor."""
    artifact = scanned(written(package, CALLS), "--torch", "2.13.0")
    assert artifact["verdict"] == "loads"
    assert called(artifact) == {
        "mylib::twice": None,
        "other::scale.by": None,
        "aten::_linalg_svd": True,
        "aten::add.Tensor": True,
        "aten::no_such": False,
    }
    assert not [note for note in artifact["notes"] if "not known" in note]


@pytest.mark.torch
def test_statements_about_the_installed_torch_are_true(package: Path, run_with_torch: Run) -> None:
    script = (
        "import json, sys, torch\n"
        "def found(name, overload=''):\n"
        "    try: return bool(torch._C._get_schema(name, overload))\n"
        "    except RuntimeError: return False\n"
        "print(json.dumps({name: found(*name.split('.')) for name in sys.argv[1:]}))\n"
    )
    stated = called(scanned(written(package, CALLS), "--torch", "installed"))
    known = {name: found for name, found in stated.items() if found is not None}
    assert known == json.loads(run_with_torch(script, *known).stdout)


def test_a_file_of_the_run_may_register_them(package: Path, fixtures_dir: Path) -> None:
    """The fixture is stripped: it shows the schema of `scale`, but not its namespace."""
    model = written(package, CALLS.replace("mylib::twice", "fixture::scale"))
    names = [str(model), str(fixtures_dir / "good-extension.so")]
    notes = json.loads(run_abiscan("-f", "json", "-q", "--torch", "2.13.0", *names).stdout)["notes"]
    told = [note for note in notes if " by name, " in note]
    assert [note.partition(" calls ")[2].partition(" by name, which ")[0::2] for note in sorted(told)] == [
        ("aten::no_such", "torch 2.13.0 does not have: it cannot be loaded with that torch"),
        ("fixture::scale", f"{os.path.relpath(names[1])} may register: the namespace is not in the file"),
        ("other::scale.by", "no scanned file registers: register it before the model is loaded"),
    ]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", "is not in the format that torch writes"),
        ("[1]", "is not in the format that torch writes"),
        ('{"nodes": [{"node": 1}]}', "is not in the format that torch writes"),
        ('{"nodes": ' + "[" * 100_000, "is not in the format that torch writes"),
        ('{"nodes": [{"node": {"target": "x"}}, {"node": {"target": "a::b"}}]}', "1 of 2 in the .json file"),
        ('{"nodes": [{"node": {"target": "a::b\\u001b[31m"}}]}', "1 of 1 in the .json file"),
        ("x" * (17 << 20), "cannot be read"),
    ],
    ids=["empty", "list", "number", "deep", "no-name", "escape", "large"],
)
def test_unreadable_files_are_reported(package: Path, raw: str, reason: str) -> None:
    artifact = scanned(written(package, raw), "--torch", "2.13.0")
    assert [
        note
        for note in artifact["notes"]
        if "the operators that it calls by name are unknown" in note and reason in note
    ]


def test_beside_a_file_on_the_disk(tmp_path: Path) -> None:
    library = tmp_path / "model.wrapper.so"
    library.write_bytes(MODEL.read_bytes())
    assert any(
        "no .json file of its name is beside it" in note for note in scanned(library, "--torch", "2.13.0")["notes"]
    )
    (tmp_path / "model.wrapper.json").write_text(CALLS)
    assert "mylib::twice" in called(scanned(library, "--torch", "2.13.0"))


@pytest.mark.parametrize("mode", ["w", "w:gz"])
@pytest.mark.parametrize("first", [".so", ".json"])
def test_beside_a_file_in_a_stream(tmp_path: Path, mode: Any, first: str) -> None:
    out = tmp_path / "models.tar.gz"
    with tarfile.open(out, mode) as archive:
        for suffix in sorted((".so", ".json"), key=lambda each: each != first):
            source = tmp_path / f"x{suffix}"
            source.write_bytes(MODEL.read_bytes() if suffix == ".so" else CALLS.encode())
            archive.add(source, f"models/a{suffix}")
        archive.add(tmp_path / "x.json", "models/of-another.json")
    assert called(scanned(out, "--torch", "2.13.0"))["aten::no_such"] is False


def test_neighbours_of_files_in_a_stream_are_bounded(tmp_path: Path) -> None:
    out = tmp_path / "models.tar"
    with tarfile.open(out, "w") as archive:
        for name in ("a.so", "a.json", "b.so", "b.json"):
            source = tmp_path / "member"
            source.write_bytes(CALLS.encode())
            archive.add(source, name)
    tar = TarArchive(FileBytes(str(out), "models.tar", None), None, "models.tar", Limits(kept=len(CALLS) + 1))
    tar.neighbours = {"a.json": 1, "b.json": 3}
    assert tar.neighbour("a.json", 1 << 20) == CALLS.encode()
    assert tar.neighbour("c.json", 1 << 20) is None
    with pytest.raises(UnreadableFile, match="too many"):
        tar.neighbour("b.json", 1 << 20)


def test_the_releases_that_have_its_shims() -> None:
    """torch/csrc/inductor/aoti_torch/c/shim.h has aoti_torch_new_tensor_handle since 2.7.0, and all others before."""
    releases = {r["torch"]: r["verdict"] for r in scanned(MODEL, "--torch", "2.13.0", "--matrix")["releases"]}
    assert min((version for version in releases if releases[version] == "loads"), key=parts) == FIRST
    assert releases["2.13.0"] == "loads"
    assert {releases[version] for version in releases if parts(version) < parts(FIRST)} == {"fails"}


FIRST = "2.7.0"


def parts(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


@pytest.mark.torch
def test_the_installed_torch_loads_it_and_declares_what_it_imports(run_with_torch: Run) -> None:
    torch = torch_here.directory()
    artifact = scanned(MODEL, "--torch", "installed")
    loads = run_with_torch(f"import ctypes, os; ctypes.CDLL({str(MODEL)!r}, os.RTLD_NOW)")
    assert (artifact["verdict"] == "loads") == (loads.returncode == 0)
    headers = "".join(path.read_text() for path in (torch / "include/torch/csrc/inductor/aoti_torch").rglob("*.h"))
    shims = [i["mangled"] for i in artifact["imports"] if i["owner"] == "torch"]
    assert len(shims) == 21
    # Macros compose the names of dtypes, devices and layouts.
    plain = [name for name in shims if not name.startswith(("aoti_torch_dtype_", "aoti_torch_device_type_"))]
    assert [name for name in plain if name not in headers] == []
