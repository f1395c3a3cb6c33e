"""Whether a file can be restored, without running git. Oracle: git writes the repositories, and `git restore` restores
the file."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from abiscan.cli import version_control
from abiscan.cli.version_control import why_not_safe

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git makes the repositories that are read here")

CONTENT = b"int x;\n"
IDENTITY = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a"}


@pytest.fixture(autouse=True)
def fresh() -> None:
    version_control._entries.cache_clear()


def git(folder: Path, *arguments: str) -> None:
    env = {**os.environ, **IDENTITY, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, env=env)


def repository(folder: Path, *options: str) -> Path:
    """File names with common prefixes, as packed by index version 4, and with every length of padding."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", *options)
    for number in range(20):
        path = folder / "csrc" / ("a" * number + ".cpp")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(CONTENT * number)
    (folder / "csrc" / "kernel.cu").write_bytes(CONTENT)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "x")
    return folder


def all_safe(folder: Path) -> bool:
    files = [path for path in folder.rglob("*.c*") if path.is_file() and ".git" not in path.parts]
    assert len(files) == 21
    return all(why_not_safe(path, path.read_bytes()) is None for path in files)


@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("hashed", ["sha1", "sha256"])
def test_every_version_of_the_index(version: str, hashed: str, tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", f"--object-format={hashed}")
    git(folder, "update-index", f"--index-version={version}")
    assert all_safe(folder)
    path = folder / "csrc" / "kernel.cu"
    assert why_not_safe(path, b"changed") == "it has changes that are neither staged nor committed"
    path.write_bytes(b"changed")
    git(folder, "restore", "csrc/kernel.cu")
    assert path.read_bytes() == CONTENT


def test_extended_flags(tmp_path: Path) -> None:
    """Version 3: a skip-worktree file, and an intent-to-add file."""
    folder = repository(tmp_path / "r")
    git(folder, "update-index", "--skip-worktree", "csrc/aaa.cpp")
    announced = folder / "csrc" / "new.cpp"
    announced.write_bytes(b"")
    git(folder, "add", "-N", "csrc/new.cpp")
    assert why_not_safe(folder / "csrc" / "kernel.cu", CONTENT) is None
    assert why_not_safe(announced, b"") == "git does not track it"


def test_staged_files_can_be_restored(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r")
    path = folder / "csrc" / "kernel.cu"
    path.write_bytes(b"staged")
    assert why_not_safe(path, b"staged") is not None
    git(folder, "add", "csrc/kernel.cu")
    version_control._entries.cache_clear()
    assert why_not_safe(path, b"staged") is None
    path.write_bytes(b"rewritten")
    git(folder, "restore", "csrc/kernel.cu")
    assert path.read_bytes() == b"staged"


def test_a_file_in_conflict_is_not_safe(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r")
    path = folder / "csrc" / "kernel.cu"
    for branch, content in (("one", b"1\n"), ("two", b"2\n")):
        git(folder, "checkout", "-q", "-b", branch, "HEAD" if branch == "one" else "HEAD~1")
        path.write_bytes(content)
        git(folder, "commit", "-qam", branch)
    with pytest.raises(subprocess.CalledProcessError):
        git(folder, "merge", "one")
    assert why_not_safe(path, path.read_bytes()) == "git does not track it"


def test_a_worktree_and_a_submodule(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r")
    git(folder, "worktree", "add", "-q", str(tmp_path / "w"))
    assert all_safe(tmp_path / "w")
    outer = repository(tmp_path / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(folder), "sub")
    version_control._entries.cache_clear()
    assert why_not_safe(outer / "sub" / "csrc" / "kernel.cu", CONTENT) is None


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda f: None, "it is not in a git repository"),
        (lambda f: git(f, "init", "-q"), "nothing is committed in its git repository"),
        (lambda f: (f / ".git").write_bytes(b"gitdir: nowhere\n"), "nothing is committed in its git repository"),
        (lambda f: (f / ".git").write_bytes(b"what\n"), "the index of its git repository cannot be read"),
    ],
)
def test_invalid_repositories(make: object, reason: str, tmp_path: Path) -> None:
    (tmp_path / "x.cpp").write_bytes(CONTENT)
    make(tmp_path)  # type: ignore[operator]
    assert why_not_safe(tmp_path / "x.cpp", CONTENT) == reason


def test_a_damaged_index_is_an_answer(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r")
    index = folder / ".git" / "index"
    whole = index.read_bytes()
    for cut in range(0, len(whole), 37):
        index.write_bytes(whole[:cut])
        version_control._entries.cache_clear()
        assert why_not_safe(folder / "csrc" / "kernel.cu", CONTENT) is not None


def test_no_command_of_the_repository_runs(tmp_path: Path) -> None:
    """Commands that git starts because of the repository's configuration or attributes; the last one requests an
    object, missing in a partial clone, from a remote."""
    sprung = tmp_path / "SPRUNG"
    command = f"touch {sprung}; false"
    folder = repository(tmp_path / "r")
    path = folder / "csrc" / "kernel.cu"
    for key in ("core.fsmonitor", "core.pager", "diff.external", "core.sshCommand", "core.askPass", "core.editor"):
        git(folder, "config", key, command)
    for key in ("filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.textconv", "diff.x.command"):
        git(folder, "config", key, command)
    (folder / ".gitattributes").write_text("* filter=x diff=x\n")
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        (folder / ".git" / "hooks" / hook).write_text(f"#!/bin/sh\n{command}\n")
        (folder / ".git" / "hooks" / hook).chmod(0o755)
    git(folder, "config", "core.repositoryformatversion", "1")
    git(folder, "config", "extensions.partialClone", "origin")
    git(folder, "config", "remote.origin.url", str(tmp_path))
    git(folder, "config", "remote.origin.promisor", "true")
    git(folder, "config", "remote.origin.uploadpack", command)
    shutil.rmtree(folder / ".git" / "objects")
    (folder / ".git" / "objects").mkdir()
    assert why_not_safe(path, CONTENT) is None
    assert not sprung.exists()
    subprocess.run(["git", "-C", str(folder), "ls-tree", "HEAD"], capture_output=True, check=False)
    assert sprung.exists()
