"""Every shared object of the corpus, this system and the environment: abiscan and the real loader. `pytest -m
loader_truth -s` downloads the corpus (see tests/corpus) and prints the differences. The oracle runs the files'
constructors, in separate processes; abiscan never does."""

from __future__ import annotations

import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.corpus import fetch
from tests.truth import standins
from tests.truth.compare import Comparison, compare, predict, predict_without_torch
from tests.truth.oracle import ask

pytestmark = pytest.mark.loader_truth

Files = Callable[[], list[Path]]


def _corpus() -> list[Path]:
    return list(fetch.shared_objects(fetch.corpus_dir() / "unpacked"))


def _system() -> list[Path]:
    directories = [Path("/usr/lib") / (sysconfig.get_config_var("MULTIARCH") or "x86_64-linux-gnu"), Path("/usr/lib64")]
    files = [file for directory in directories if directory.is_dir() for file in fetch.shared_objects(directory)]
    return files + list(fetch.shared_objects(Path(sysconfig.get_paths()["stdlib"])))


def _environment() -> list[Path]:
    return list(fetch.shared_objects(Path(sysconfig.get_paths()["platlib"])))


@pytest.fixture(scope="session")
def corpus_fetched() -> None:
    assert fetch.main([]) == 0, "the corpus could not be fetched whole"


def _judge(result: Comparison, at_least: int) -> None:
    print(f"\n{result}")
    assert result.compared >= at_least, "too few files to say anything"
    assert not result.wrong, f"{len(result.wrong)} outcomes differ from the loader's"
    assert result.text_rate >= 0.99, f"only {result.text_rate:.2%} are told in the loader's words"


@pytest.mark.usefixtures("corpus_fetched")
@pytest.mark.parametrize("torch", [True, False], ids=["torch", "plain"])
@pytest.mark.parametrize(
    ("files", "at_least"), [(_corpus, 200), (_system, 100), (_environment, 20)], ids=["corpus", "system", "environment"]
)
def test_loader_truth(files: Files, at_least: int, torch: bool, torch_python: Path, plain_python: Path) -> None:
    python = torch_python if torch else plain_python
    paths = files()
    predictions = (predict if torch else predict_without_torch)(paths, python=python)
    result = compare(ask(paths, python=python, torch=torch), predictions)
    _judge(result, at_least)


@pytest.mark.usefixtures("corpus_fetched")
def test_with_stand_ins_for_absent_libraries(torch_python: Path, tmp_path: Path) -> None:
    """After the first missing library: the symbols of CUDA extensions, one empty library at a time."""
    paths, env = _corpus(), {"LD_LIBRARY_PATH": str(tmp_path)}
    answers = ask(paths, python=torch_python, torch=True, env=env)
    while standins.add(answers, tmp_path):
        again = [path for path in paths if "cannot open shared object file" in answers[str(path)].text]
        answers |= ask(again, python=torch_python, torch=True, env=env)
    # An empty library may be used by another file than intended: only now is everything final.
    answers = ask(paths, python=torch_python, torch=True, env=env)
    _judge(compare(answers, predict(paths, python=torch_python, env=env)), 200)
