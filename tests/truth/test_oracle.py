"""The oracle itself: a forked child and a fresh process give the same result, and no file crashes the caller."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.corpus import fetch
from tests.truth.oracle import ask

# Starting an interpreter that imports torch takes seconds: the two results that depend on torch, and one of each kind.
HERE = Path(sys.executable)
WITH_TORCH = ("good-extension.so", "old-string-extension.so")
WITHOUT = (
    "abi3-module.abi3.so",
    "missing-library.so",
    "extension-source-not-built.so",
    "loader/version-missing/target.so",
    "loader/name-is-odd/target.so",
    "bad/text.so",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "torch"),
    [pytest.param(WITH_TORCH, True, marks=pytest.mark.torch, id="torch"), pytest.param(WITHOUT, False, id="plain")],
)
def test_a_forked_process_agrees_with_a_fresh_one(fixtures_dir: Path, names: tuple[str, ...], torch: bool) -> None:
    files = [fixtures_dir / name for name in names]
    forked = ask(files, python=HERE, torch=torch)
    assert forked == ask(files, python=HERE, torch=torch, fresh=True)
    assert {answer.outcome for answer in forked.values()} == {"loads", "fails"}


@pytest.mark.loader_truth
@pytest.mark.parametrize("torch", [True, False], ids=["torch", "plain"])
def test_so_it_is_for_the_corpus(torch_python: Path, torch: bool) -> None:
    every = list(fetch.shared_objects(fetch.corpus_dir() / "unpacked"))
    files = every[:: max(1, len(every) // 30)]
    assert len(files) >= 20
    assert ask(files, python=torch_python, torch=torch) == ask(files, python=torch_python, torch=torch, fresh=True)


def test_files_that_kill_their_process_are_reported(fixtures_dir: Path) -> None:
    files = [
        fixtures_dir / "loader" / name / "target.so" for name in ("constructor-crash", "constructor-exit", "plain")
    ]
    outcomes = [answer.outcome for answer in ask(files, python=HERE).values()]
    assert outcomes == ["crash", "crash", "loads"]


def test_variables_of_the_loader_reach_the_process(fixtures_dir: Path) -> None:
    directory = fixtures_dir / "loader" / "preload-provides"
    file = directory / "target.so"
    env = {"LD_PRELOAD": str(directory / "libdep.so")}
    assert ask([file], python=HERE)[str(file)].outcome == "fails"
    assert ask([file], python=HERE, env=env)[str(file)].outcome == "loads"


def test_what_is_to_be_imported_before_is_imported(fixtures_dir: Path) -> None:
    file = fixtures_dir / "weak-import.so"
    assert ask([file], python=HERE, modules=["json"])[str(file)].outcome == "loads"
    with pytest.raises(RuntimeError, match="No module named 'no_such_module'"):
        ask([file], python=HERE, modules=["json", "no_such_module"])
