"""NAME==VERSION and URLs as targets, with the real pip; the index is a directory (PIP_FIND_LINKS) or a server."""

from __future__ import annotations

import functools
import http.server
import io
import json
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.wheels import make_wheel
from tests.programs import run_abiscan

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
HERE = f"cp{sys.version_info.major}{sys.version_info.minor}"


def wheel(directory: Path, tag: str, name: str = "demo", version: str = "1.0") -> Path:
    return make_wheel(directory, {f"{name}/_C.abi3.so": "stable-abi.so"}, name=name, version=version, tag=tag)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """A wheel for Linux, one for Windows only, and an sdist that leaves a mark if its code runs."""
    directory = tmp_path / "index"
    directory.mkdir()
    wheel(directory, "cp39-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64")
    wheel(directory, f"{HERE}-{HERE}-win_amd64", "windows")
    setup = f"open({str(tmp_path / 'ran')!r}, 'w')\nfrom setuptools import setup\nsetup(name='source', version='1.0')\n"
    with tarfile.open(directory / "source-1.0.tar.gz", "w:gz") as archive:
        for name, text in (("setup.py", setup), ("PKG-INFO", "Metadata-Version: 2.1\nName: source\nVersion: 1.0\n")):
            member = tarfile.TarInfo(f"source-1.0/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return directory


@pytest.fixture
def server(index: Path) -> Iterator[str]:
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(index))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{found.server_address[1]}"
        found.shutdown()
        thread.join()


def run(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(folder / "index"),
        **variables,
    }
    return run_abiscan(*words, cwd=folder, env=environment)


def kept(folder: Path) -> list[Path]:
    return sorted((folder / "cache" / "abiscan" / "fetched").glob("*/*"))


def test_a_version_is_fetched_once_and_kept(tmp_path: Path, index: Path) -> None:
    first = run(tmp_path, "demo==1.0", "--torch", "2.10.0")
    (path,) = kept(tmp_path)
    assert first.returncode == 0, first.stderr
    assert first.stderr.splitlines()[0] == f"abiscan: fetched {path.name}"
    assert f"{path.name}!demo/_C.abi3.so" in first.stdout
    second = run(tmp_path, "demo==1.0", "--torch", "2.10.0", PIP_FIND_LINKS=str(tmp_path / "nowhere"))
    assert (second.returncode, second.stdout) == (0, first.stdout)
    assert "fetched" not in second.stderr.splitlines()[0]
    # A requirement without an exact version is resolved again.
    assert run(tmp_path, "demo>=1.0", PIP_FIND_LINKS=str(tmp_path / "nowhere")).returncode == 2
    assert run(tmp_path, "demo>=1.0", "--torch", "2.10.0").returncode == 0


def test_a_name_alone_and_what_lies_here_are_not_fetched(tmp_path: Path, index: Path) -> None:
    assert run(tmp_path, "demo").returncode == 2
    (tmp_path / "demo==1.0").write_bytes((FIXTURES / "stable-abi.so").read_bytes())
    assert run(tmp_path, "demo==1.0", "--torch", "2.10.0").returncode == 0
    root = run(tmp_path, "windows==1.0", "--root", str(index))
    assert (root.returncode, "nothing is fetched with --root" in root.stderr) == (2, True)
    assert kept(tmp_path) == []


@pytest.mark.parametrize("target", ["source==1.0", "windows==1.0"])
def test_what_has_no_wheel_for_linux(tmp_path: Path, index: Path, target: str) -> None:
    done = run(tmp_path, target)
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{target}: no wheel for " in line
    assert "building it runs its code" in line
    assert not (tmp_path / "ran").exists()
    assert kept(tmp_path) == []


def test_another_version_is_named(tmp_path: Path, index: Path) -> None:
    done = run(tmp_path, "demo==2.0")
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith("; available are 1.0")


def test_the_wheel_is_for_the_python_that_is_named(tmp_path: Path, index: Path) -> None:
    for python in ("cp39", HERE, "cp310"):
        wheel(index, f"{python}-{python}-manylinux_2_28_x86_64", "each")
    assert run(tmp_path, "each==1.0", "--torch", "2.10.0").returncode == 0
    assert [path.name for path in kept(tmp_path)] == [f"each-1.0-{HERE}-{HERE}-manylinux_2_28_x86_64.whl"]
    wheel(index, "cp39-cp39-manylinux_2_28_x86_64", "old")
    assert run(tmp_path, "old==1.0", "--python", sys.executable).returncode == 2
    assert run(tmp_path, "old==1.0", "--torch", "2.8.0").returncode in (0, 1)


def test_a_url_of_a_wheel(tmp_path: Path, index: Path, server: str) -> None:
    """For any platform, and always the present file."""
    path = wheel(index, "cp39-abi3-manylinux_2_28_aarch64", "arm")
    done = run(tmp_path, f"{server}/{path.name}")
    assert done.stderr.splitlines()[0] == f"abiscan: fetched {path.name}"
    (local,) = kept(tmp_path)
    assert local.read_bytes() == path.read_bytes()
    path.write_bytes(wheel(tmp_path, "cp39-abi3-manylinux_2_28_aarch64", "arm", "1.0").read_bytes() + b"\0")
    run(tmp_path, f"{server}/{path.name}")
    assert local.read_bytes() == path.read_bytes()


def test_what_was_fetched_is_called_by_its_name_wherever_it_is_kept(tmp_path: Path, index: Path) -> None:
    elsewhere = tmp_path / "other"
    elsewhere.mkdir()
    printed = {}
    for form in ("json", "text", "sarif", "github", "html", "junit", "markdown"):
        options = ("--torch", "2.10.0", "-f", form, "-v")
        done = run(tmp_path, "demo==1.0", *options)
        printed[form] = done.stdout
        (path,) = kept(tmp_path)
        assert done.returncode == 0, (form, done.stderr)
        assert path.name in done.stdout or form in ("github", "markdown"), form
        assert path.parent.name not in done.stdout, form
        assert str(tmp_path) not in done.stdout, form
        for words in (("-j1",), ("-j2",)):
            again = run(elsewhere, "demo==1.0", *options, *words, PIP_FIND_LINKS=str(index))
            assert again.stdout == done.stdout, form
    report = json.loads(printed["json"])
    assert [each["path"] for each in report["containers"]] == [path.name]
    assert [(each["path"], each["member"]) for each in report["artifacts"]] == [(path.name, "demo/_C.abi3.so")]


def test_two_wheels_of_one_name_are_distinguished(tmp_path: Path, index: Path, server: str) -> None:
    (path,) = index.glob("demo*.whl")
    url = f"{server}/{path.name}"
    for order in (("demo==1.0", url), (url, "demo==1.0")):
        done = run(tmp_path, *order, "--torch", "2.10.0", "-f", "json")
        named = sorted(each["path"] for each in json.loads(done.stdout)["containers"])
        other = server.removeprefix("http://") if order[1] == url else "demo==1.0"
        assert named == sorted([path.name, f"{other}/{path.name}"])
    (tmp_path / path.name).touch()
    done = run(tmp_path, "demo==1.0", "--torch", "2.10.0", "-f", "json")
    assert [each["path"] for each in json.loads(done.stdout)["containers"]] == [f"demo==1.0/{path.name}"]


def test_the_four_comparisons_take_the_same_forms(tmp_path: Path, index: Path) -> None:
    wheel(index, "cp39-abi3-manylinux_2_28_x86_64", version="2.0")
    shown = run(tmp_path, "diff", "demo==1.0", "demo==2.0")
    assert shown.returncode in (0, 1), shown.stderr
    assert "demo 1.0 -> demo 2.0" in shown.stdout
    assert run(tmp_path, "compat", "demo==1.0", "demo==2.0").returncode in (0, 1)
    assert run(tmp_path, "migrate", "demo==1.0").returncode == 0


@pytest.mark.parametrize(
    ("target", "status", "said"),
    [
        ("http://127.0.0.1:1/x-1.0-py3-none-linux_x86_64.whl", 3, "the server does not answer"),
        ("http://user:word@127.0.0.1:1/x-1.0-py3-none-linux_x86_64.whl", 3, "the server does not answer"),
        ("https://example.org/x-1.0.tar.gz", 2, "not the name of a wheel"),
        ("git+ssh://a/b", 2, "only wheels are fetched"),
        ("file:///etc/passwd", 2, "name a local file by its path"),
        ("a==1.0;b", 2, "not a requirement"),
    ],
)
def test_a_failed_download_is_one_line(tmp_path: Path, index: Path, target: str, status: int, said: str) -> None:
    done = run(tmp_path, target, PIP_RETRIES="0")
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (status, "")
    assert said in line
    assert "word" not in line
    assert kept(tmp_path) == []


def test_an_index_that_does_not_answer(tmp_path: Path) -> None:
    done = run(tmp_path, "demo==1.0", PIP_NO_INDEX="0", PIP_RETRIES="1", PIP_INDEX_URL="http://127.0.0.1:1/simple")
    (line,) = done.stderr.splitlines()
    assert (done.returncode, "does not answer" in line) == (3, True)


def test_a_cache_that_cannot_be_written(tmp_path: Path, index: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    done = run(tmp_path, "demo==1.0")
    (line,) = done.stderr.splitlines()
    assert (done.returncode, "cannot be kept there" in line) == (3, True)
