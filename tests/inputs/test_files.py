"""Files, directories and package names on disk."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from abiscan.errors import UnreadableFile, UsageError
from abiscan.inputs import Limits, archives_of, expand, read_target_list
from abiscan.inputs.artifact import Options
from abiscan.model.report import ArtifactKind, InputError
from tests.inputs.kit import FIXTURES, GOOD, SMALL, all_of, content_of


@pytest.mark.parametrize(
    "name", ["libx.so", "libx.so.1", "libx.so.1.2.3", "libx", "x.cpython-311-x86_64-linux-gnu.so", "x.txt"]
)
def test_a_shared_object_counts_by_its_content(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(GOOD)
    (found,), errors, notes = all_of(name, cwd=tmp_path)
    assert (found.path, found.member, found.kind, found.size) == (name, None, ArtifactKind.SHARED_OBJECT, len(GOOD))
    assert found.disk_path == str(tmp_path / name)
    assert found.open().facts().needed
    assert not errors
    assert not notes


def test_paths_are_shown_relative_to_where_the_user_stands(tmp_path: Path) -> None:
    inside = tmp_path / "here"
    (inside / "build").mkdir(parents=True)
    (inside / "build" / "a.so").write_bytes(GOOD)
    (tmp_path / "b.so").write_bytes(GOOD)
    found, _, _ = all_of(inside / "build", "../b.so", tmp_path / "b.so", "./build/../build/a.so", cwd=inside)
    assert [a.path for a in found] == ["build/a.so", "../b.so"]  # duplicates are removed


# The expected type is what `file` prints.
NAMED_BADLY = {
    "bad/text.so": "it is text",
    "bad/script.so": "it is text",
    "bad/empty.so": "empty file",
    "bad/linker-script.so": "linker script",
    "bad/git-lfs-pointer.so": "Git LFS pointer",
    "bad/archive.a": "static library",
}
REFUSED_ON_OPENING = {
    "bad/object.o": "object file",
    "bad/core": "core dump",
    "bad/truncated-half.so": "truncated",
    "bad/truncated-header.so": "truncated",
    "bad/no-dynamic.so": "without a dynamic section",
}


@pytest.mark.parametrize(("name", "words"), NAMED_BADLY.items())
def test_an_invalid_file_is_an_error_and_others_are_read(tmp_path: Path, name: str, words: str) -> None:
    good = FIXTURES / "good-extension.so"
    found, (error,), _ = all_of(FIXTURES / name, good, cwd=FIXTURES)
    assert error.path == name
    assert words in error.message
    assert "\n" not in error.message
    assert [a.path for a in found] == ["good-extension.so"]


@pytest.mark.parametrize(("name", "words"), REFUSED_ON_OPENING.items())
def test_elf_files_of_other_types_are_described_when_opened(name: str, words: str) -> None:
    (found,), _, _ = all_of(FIXTURES / name, cwd=FIXTURES)
    with pytest.raises(UnreadableFile, match=words) as caught:
        found.open()
    assert caught.value.path == name


def test_special_files_are_named_and_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.so")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "s.so"))
    found, errors, _ = all_of("pipe.so", "/dev/null", "s.so", cwd=tmp_path)
    server.close()
    assert not found
    assert [(e.path, e.message) for e in errors] == [
        ("pipe.so", "a named pipe, not a shared object"),
        ("/dev/null", "a character device, not a shared object"),
        ("s.so", "a socket, not a shared object"),
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path: Path) -> None:
    (tmp_path / "a.so").write_bytes(GOOD)
    (tmp_path / "a.so").chmod(0)
    _, (error,), _ = all_of("a.so", cwd=tmp_path)
    assert error.message == "cannot be opened: permission denied"


def test_a_dangling_link_is_an_error_not_a_missing_path(tmp_path: Path) -> None:
    (tmp_path / "a.so").symlink_to("gone.so")
    _, (error,), _ = all_of("a.so", cwd=tmp_path)
    assert error.message == "cannot be opened: no such file or directory"


@pytest.mark.parametrize("target", ["libgod.so", "nosuch", "no/such.so", "", "../x", "a\0b"])
def test_a_missing_target_stops_before_anything_is_read(tmp_path: Path, target: str) -> None:
    (tmp_path / "libgood.so").write_bytes(GOOD)
    items = expand(["libgood.so", target], cwd=str(tmp_path))
    with pytest.raises(UsageError):
        next(items)


def test_a_missing_path_suggests_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "libgood.so").write_bytes(GOOD)
    with pytest.raises(UsageError, match=r"did you mean libgood\.so\?"):
        next(expand(["libgod.so"], cwd=str(tmp_path)))


def test_sources_and_generated_kernels(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("__global__ void f() {}\n")
    (tmp_path / "k.py").write_text("from torch._inductor.runtime import triton_heuristics\n")
    (tmp_path / "plain.py").write_text("import os\n")
    found, (error,), _ = all_of("a.cu", "k.py", "plain.py", cwd=tmp_path)
    assert [a.kind for a in found] == [ArtifactKind.SOURCE, ArtifactKind.GENERATED_KERNEL]
    assert found[0].read() == b"__global__ void f() {}\n"
    with pytest.raises(UnreadableFile):
        found[0].read(limit=3)
    assert error.path == "plain.py"


def test_a_directory_is_walked_in_order_by_content(tmp_path: Path) -> None:
    for name in ("z/a.so", "a/b", "a/b.so.2", "m.so", "__pycache__/c.so", ".git/d.so"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(SMALL)
    for name in ("bad/object.o", "bad/archive.a", "bad/core", "bad/executable"):
        shutil.copy(FIXTURES / name, tmp_path / "a")
    (tmp_path / "a" / "README").write_text("text")
    (tmp_path / "libc.so").write_text("/* GNU ld script */\nGROUP ( /lib/libc.so.6 )\n")
    (tmp_path / "z" / "text.so").write_text("no library")
    (tmp_path / "z" / "k.cpp").write_text("int x;")
    os.mkfifo(tmp_path / "a" / "pipe")
    found, errors, _ = all_of(".", cwd=tmp_path)
    assert [a.path for a in found] == ["m.so", "a/b", "a/b.so.2", "z/a.so", "z/k.cpp"]
    assert [(e.path, e.message) for e in errors] == [("z/text.so", "not an ELF file: it is text")]
    assert {id(a.group) for a in found} == {id(found[0].group)}


def test_links_in_a_directory_are_aliases_and_lead_nowhere_else(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    tree = tmp_path / "tree"
    outside.mkdir()
    (tree / "lib").mkdir(parents=True)
    (outside / "secret.so").write_bytes(SMALL)
    (tree / "lib" / "libx.so.1.2").write_bytes(SMALL)
    (tree / "lib" / "libx.so.1").symlink_to("libx.so.1.2")
    (tree / "loop").symlink_to(tree)
    (tree / "away").symlink_to(outside)
    (tree / "lib" / "secret.so").symlink_to(outside / "secret.so")
    found, errors, _ = all_of(tree, cwd=tmp_path)
    assert [a.path for a in found] == ["tree/lib/libx.so.1.2"]
    assert not errors
    group = found[0].group
    assert group.named("libx.so.1") == (found[0],)
    assert group.named("libx.so.1.2") == (found[0],)
    assert group.named("secret.so") == ()


def test_a_directory_without_shared_objects(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x.py").write_text("import os")
    (tmp_path / "d" / "x.so").symlink_to("/bin/sh")
    _, (error,), _ = all_of("d", cwd=tmp_path)
    assert error.path == "d"
    assert error.message == "no shared object in this directory; not followed: one symbolic link that leads out of it"


def test_a_directory_of_too_many_files_is_named(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"{number}.txt").write_text("x")
    _, (error,), _ = all_of(".", cwd=tmp_path, limits=Limits(files=10))
    assert "more than 10 files" in error.message


def test_names_with_control_characters_are_kept(tmp_path: Path) -> None:
    name = "a\x1b[2J\n\udcff.so"
    (tmp_path / name).write_bytes(SMALL)
    (found,), _, _ = all_of(".", cwd=tmp_path)
    assert found.path == name
    assert content_of(found) == SMALL


def test_a_list_of_targets(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("# all\n\n  a.so  # first\nsub/b c.so\r\nx#1.so\n\t# end\n")
    assert read_target_list("list.txt", cwd=str(tmp_path)) == ["a.so", "sub/b c.so", "x#1.so"]
    (tmp_path / "bin").write_bytes(GOOD)
    for path in ("bin", "gone.txt", "."):
        with pytest.raises(UsageError):
            read_target_list(path, cwd=str(tmp_path))


@pytest.mark.parametrize("content", ["", "\n \n", "# a.so\n\t# b.so\n"])
def test_a_list_without_a_target_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "list.txt").write_text(content)
    with pytest.raises(UsageError, match=r"^list\.txt: the list is empty"):
        read_target_list("list.txt", cwd=str(tmp_path))


def test_a_list_from_a_pipe_is_read_from_its_first_writer_to_its_last(tmp_path: Path) -> None:
    """fifo(7): a reader that opens without blocking reads nothing until a writer has opened the pipe."""
    os.mkfifo(tmp_path / "pipe")
    script = "sleep 0.3; exec 3> pipe; echo a.so >&3; sleep 0.3; echo b.so >&3"
    with subprocess.Popen(["sh", "-c", script], cwd=tmp_path):
        assert read_target_list("pipe", cwd=str(tmp_path)) == ["a.so", "b.so"]


def test_a_pipe_without_a_writer_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr("abiscan.inputs.named_file.MAX_PIPE_SILENCE", 0.1)
    with pytest.raises(UsageError, match="no data from the pipe"):
        read_target_list("pipe", cwd=str(tmp_path))


def test_an_unreadable_archive_is_reported(tmp_path: Path) -> None:
    """In a directory or on the command line, with any number of processes."""
    dist = tmp_path / "dist"
    dist.mkdir()
    (dist / "good.so").write_bytes(GOOD)
    (dist / "empty.whl").touch()
    (dist / "text.tar.gz").write_text("404: Not Found")
    (dist / "dangling.whl").symlink_to("gone.whl")
    (tmp_path / "elsewhere.whl").write_bytes(b"PK\5\6" + bytes(18))
    (dist / "elsewhere.whl").symlink_to("../elsewhere.whl")
    told = [
        ("dist/dangling.whl", "a symbolic link to gone.whl, which does not exist"),
        ("dist/elsewhere.whl", "a symbolic link that leads out of the directory: not followed; name it, or its target"),
        ("dist/empty.whl", "not an archive: empty file: build or copy it again"),
        ("dist/text.tar.gz", "not an archive: it is text"),
    ]
    found, errors, _ = all_of("dist", cwd=tmp_path)
    assert [a.path for a in found] == ["dist/good.so"]
    assert sorted((e.path, e.message) for e in errors) == told
    without = expand(["dist"], cwd=str(tmp_path), options=Options(archives=False))
    assert sorted((e.path, e.message) for e in without if isinstance(e, InputError)) == told
    assert archives_of(["dist"], cwd=str(tmp_path)).others
    _, errors, _ = all_of("dist/empty.whl", "dist/text.tar.gz", cwd=tmp_path)
    assert [(e.path, e.message) for e in errors] == told[2:]
