"""Hostile files and failures around a run: one line or a complete report, an exit status other than 0, and never a
traceback."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures import crafted
from tests.programs import run_abiscan, run_program

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
SMALL = FIXTURES / "gcc-const-data-ptr.so"


def run(
    *args: str | Path, cwd: Path, status: int | None = None, before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    if before is None:
        done = run_abiscan(*args, cwd=cwd, seconds=60)
    else:
        command = [sys.executable, "-m", "abiscan", *args]
        environment = os.environ | {"PYTHONPATH": str(FIXTURES.parents[1])}
        done = run_program(command, cwd=cwd, timeout=60, preexec_fn=before, env=environment)
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    if status is not None:
        assert done.returncode == status, (done.returncode, done.stdout[-1000:], done.stderr[-1000:])
    return done


def edited(path: Path, seed: Path, *edits: crafted.Edit) -> Path:
    path.write_bytes(seed.read_bytes())
    for edit in edits:
        edit(path)
    return path


@pytest.mark.parametrize("machine", [8, 243, 258], ids=["mips", "riscv64", "loongarch64"])
def test_an_architecture_without_known_builds_is_undecided(tmp_path: Path, machine: int) -> None:
    edited(tmp_path / "x.so", SMALL, crafted.poke(18, struct.pack("<H", machine)))
    done = run("--torch", "2.9.0", "x.so", cwd=tmp_path)
    assert done.returncode in (1, 3)  # findings of its imports count too
    assert "is not in the release index: its torch imports were not checked" in done.stdout
    # A release without a build for the architecture neither exports nor lacks a symbol.
    every = run("-vv", "--matrix", "--require-torch", ">=2.6", "x.so", cwd=tmp_path, status=done.returncode)
    assert "no release" not in every.stdout
    assert "no known torch release" not in every.stdout
    assert "CONFLICT" not in run("compat", "x.so", cwd=tmp_path, status=3).stdout


def test_a_vtable_of_a_class_with_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    old = b"_ZTVN5torch8autograd4NodeE"
    edited(
        tmp_path / "x.so", FIXTURES / "autograd-node-subclass.so", crafted.rename(old, old.replace(b"g", b"\x80", 1))
    )
    done = run("--torch", "2.9.0", "x.so", cwd=tmp_path, status=1)
    assert "auto\\x80rad" in done.stdout


def test_a_wheel_member_that_is_marked_as_a_link_is_installed_as_a_file(tmp_path: Path) -> None:
    """Oracle: Python's zipfile, which pip installs with, writes a regular file."""
    wheel = tmp_path / "demo-1.0-py3-none-any.whl"
    bad = edited(tmp_path / "bad.so", SMALL, crafted.retag(9, 9, 16))
    with zipfile.ZipFile(wheel, "w") as archive:
        link = zipfile.ZipInfo("demo/_C.so")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        archive.writestr(link, bad.read_bytes())
        archive.writestr("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
    zipfile.ZipFile(wheel).extract("demo/_C.so", tmp_path / "out")
    assert (tmp_path / "out" / "demo" / "_C.so").is_file()
    assert not (tmp_path / "out" / "demo" / "_C.so").is_symlink()
    done = run("--torch", "2.9.0", "-f", "json", wheel, cwd=tmp_path, status=1)
    assert [a["member"] for a in json.loads(done.stdout)["artifacts"]] == ["demo/_C.so"]


@pytest.mark.parametrize("torch", ["2.9.0", "2.13.0"])
def test_what_no_loader_loads_fails_against_a_release_too(tmp_path: Path, torch: str) -> None:
    """The machine is irrelevant: the file alone is sufficient. tests/truth shows that the loader rejects it."""
    edited(tmp_path / "x.so", FIXTURES / "unreferenced-import.so", crafted.first_relocation_type(0x1340))
    done = run("--torch", torch, "x.so", cwd=tmp_path, status=1)
    assert "glibc refuses this file" in done.stdout
    assert "unexpected reloc type 0x00001340" in done.stdout


def test_a_dangling_link_in_a_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.so").write_bytes((FIXTURES / "empty-library.so").read_bytes())
    (tmp_path / "d" / "b.so").symlink_to("gone.so")
    done = run("--torch", "2.9.0", "d", cwd=tmp_path, status=3)
    assert "d/b.so: a symbolic link to gone.so, which does not exist" in done.stdout + done.stderr


def test_toml_that_is_nested_or_counts_too_far(tmp_path: Path) -> None:
    for text in ("a = " + "[" * 5000, "a = " + "9" * 5000):
        (tmp_path / "abiscan.toml").write_text(text)
        done = run(SMALL, cwd=tmp_path, status=2)
        assert "not valid TOML" in done.stderr


@pytest.mark.parametrize("option", ["--baseline", "--config", "-r"])
@pytest.mark.parametrize("kind", ["pipe", "zero", "directory"])
def test_an_endless_file_beside_the_targets(tmp_path: Path, option: str, kind: str) -> None:
    name = {"pipe": str(tmp_path / "pipe"), "zero": "/dev/zero", "directory": str(tmp_path)}[kind]
    os.mkfifo(tmp_path / "pipe")
    with contextlib.ExitStack() as stack:
        if option == "-r" and kind == "pipe":  # a list waits for a writer; this one closes the pipe without writing
            stack.enter_context(subprocess.Popen(["sh", "-c", "sleep 0.3; : > pipe"], cwd=tmp_path))
        done = run(option, name, SMALL, cwd=tmp_path, status=2)
    assert len(done.stderr.splitlines()) == 1


def test_a_pipe_that_somebody_writes_to_is_a_list(tmp_path: Path) -> None:
    done = run_program(
        ["bash", "-c", f"{sys.executable} -m abiscan --torch 2.9.0 -q -r <(echo {FIXTURES / 'empty-library.so'})"],
        cwd=FIXTURES.parents[1],
    )
    assert done.returncode == 0, done.stderr


def test_a_source_tree_that_is_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.cpp")
    done = run("--torch", "2.9.0", "--source", "x.cpp", SMALL, cwd=tmp_path)
    assert done.returncode in (1, 3)
    assert "neither a file nor a directory" in done.stdout + done.stderr


@pytest.mark.parametrize("name", ["nowhere/x.json", ".", "/proc/x.json"])
def test_an_unwritable_output_is_reported_before_the_scan(tmp_path: Path, name: str) -> None:
    """The target does not exist either, which only the scan would find."""
    done = run("-f", f"json:{name}", "no-such-target.so", cwd=tmp_path, status=2)
    assert "cannot be written" in done.stderr


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("x.so", "it is an input of this run"),
        ("d/../x.so", "it is an input of this run"),
        ("link.json", "it is an input of this run"),
        ("list.txt", "it is an input of this run"),
        ("d/y.so", "its name is that of an input"),
        ("d/z.whl", "its name is that of an input"),
        ("d/a.cu", "its name is that of an input"),
        ("pipe", "neither a file nor a terminal"),
    ],
)
def test_an_output_is_no_input_and_no_pipe(tmp_path: Path, output: str, said: str) -> None:
    (tmp_path / "d").mkdir()
    for name in ("x.so", "d/y.so", "d/z.whl", "d/a.cu"):
        (tmp_path / name).write_bytes(SMALL.read_bytes())
    (tmp_path / "link.json").symlink_to("x.so")
    (tmp_path / "list.txt").write_text("x.so\n")
    os.mkfifo(tmp_path / "pipe")
    before = {path: path.stat() for path in tmp_path.rglob("*")}
    done = run("-f", f"json:{output}", "-r", "list.txt", "d", cwd=tmp_path, status=2)
    assert done.stderr == f"abiscan: error: {output}: cannot be written: " + done.stderr.partition("written: ")[2]
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    unchanged = {path: path.stat() for path in tmp_path.rglob("*")}
    assert {path: (each.st_ino, each.st_mtime_ns) for path, each in before.items()} == {
        path: (each.st_ino, each.st_mtime_ns) for path, each in unchanged.items()
    }


@pytest.mark.parametrize("output", ["-", "/dev/stdout", "/dev/fd/1", "/dev/null", "report.json"])
def test_an_output_that_is_a_descriptor_or_a_device(tmp_path: Path, output: str) -> None:
    (tmp_path / "report.json").write_text("{}")
    done = run("--torch", "2.9.0", "-f", f"json:{output}", "-q", SMALL, cwd=tmp_path)
    assert done.returncode in (0, 1)
    written = {"/dev/null": "", "report.json": (tmp_path / "report.json").read_text()}.get(output, done.stdout)
    assert ("schema_version" in written) is (output != "/dev/null")


def test_standard_output_by_its_name_keeps_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("before\n")
    with (tmp_path / "log").open("a") as log:
        subprocess.run(
            [sys.executable, "-m", "abiscan", "--torch", "2.9.0", "-f", "json:/dev/stdout", "-q", SMALL],
            stdout=log,
            check=False,
            env=os.environ | {"PYTHONPATH": str(FIXTURES.parents[1])},
        )
    before, _, report = (tmp_path / "log").read_text().partition("\n")
    assert (before, SMALL.name in report) == ("before", True)


def test_an_output_is_whole_or_absent_where_the_disk_is_full(tmp_path: Path) -> None:
    """A limit on file sizes simulates a full disk: writing fails in the middle."""
    (tmp_path / "x.json").write_text("old")

    def limit() -> None:
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = run("--torch", "2.9.0", "-f", "json:x.json", SMALL, cwd=tmp_path, before=limit)
    assert done.returncode == 2
    assert "x.json: cannot be written: file too large" in done.stderr
    assert (tmp_path / "x.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_an_output_keeps_its_link_and_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "real.json").chmod(0o640)
    (tmp_path / "link.json").symlink_to("real.json")
    run("--torch", "2.9.0", "-f", "json:link.json", SMALL, cwd=tmp_path)
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text())["schema_version"] == 2
    assert (tmp_path / "real.json").stat().st_mode & 0o777 == 0o640


def test_a_closed_standard_output_is_reported(tmp_path: Path) -> None:
    done = run(SMALL, cwd=tmp_path, status=2, before=lambda: os.close(1))
    assert done.stderr.startswith("abiscan: error: standard output is closed")


def test_a_closed_standard_error_leaves_the_report(tmp_path: Path) -> None:
    done = run(SMALL, cwd=tmp_path, before=lambda: os.close(2))
    assert (done.stdout, done.stderr) == (run(SMALL, cwd=tmp_path).stdout, "")


def test_a_closed_standard_input_is_reported(tmp_path: Path) -> None:
    for words in (("explain",), ("explain", "-")):
        done = run(*words, cwd=tmp_path, status=2, before=lambda: os.close(0))
        assert "pipe a log into abiscan explain" in done.stderr


@pytest.mark.parametrize("form", ["text", "junit", "html", "markdown", "json", "sarif"])
def test_no_line_is_a_command_and_no_mark_is_hidden(tmp_path: Path, form: str) -> None:
    """A runner interprets `::name` at the start of a line, with or without white space before it, and `##[name]`
    anywhere (actions/runner, ActionCommand.cs)."""
    names = (b"::error title=x::y", b"##[add-mask]x")
    path = edited(tmp_path / "x.so", FIXTURES / "hostile-names.so")
    content = bytearray(path.read_bytes())
    at = content.index(b"new\n::error title=x::y\0")
    content[at : at + len(names[0]) + 1] = names[0] + b"\0"
    at = content.index(b"<script>alert(1)</script>\0")
    content[at : at + 26] = names[1].ljust(26, b"\0")
    path.write_bytes(bytes(content))
    done = run("--torch", "2.9.0", "-v", "-f", form, "x.so", cwd=tmp_path)
    for line in done.stdout.splitlines():
        assert not line.lstrip().startswith("::"), line
    assert "##[" not in done.stdout
    assert not set(done.stdout) & set("\u0085\u202e\u2066\x7f")


def test_needing_more_libraries_than_are_followed_is_unreadable(tmp_path: Path) -> None:
    """20,000 DT_NEEDED took six seconds."""
    data = bytearray((FIXTURES / "empty-library.so").read_bytes())
    table = b"".join(struct.pack("<QQ", 1, 1) for _ in range(20_000))
    path = tmp_path / "x.so"
    path.write_bytes(bytes(data))
    entries = [entry for entry in crafted._dynamic(data) if entry[1]]
    table += b"".join(struct.pack("<QQ", tag, value) for _, tag, value in entries) + bytes(16)
    start = len(data) + -len(data) % 4096
    address = start + (16 << 20)
    grown = bytearray(bytes(data) + bytes(start - len(data)) + table)
    spare = next(at for at in crafted._program_headers(grown) if struct.unpack_from("<I", grown, at)[0] == 0x6474E551)
    struct.pack_into("<IIQQQQQQ", grown, spare, 1, 6, start, address, address, len(table), len(table), 4096)
    at = crafted._segment(grown, 2)
    struct.pack_into("<QQQQQ", grown, at + 8, start, address, address, len(table), len(table))
    path.write_bytes(bytes(grown))
    done = run("--torch", "2.9.0", "x.so", cwd=tmp_path, status=3)
    assert "MAX_NEEDED" in done.stdout + done.stderr
