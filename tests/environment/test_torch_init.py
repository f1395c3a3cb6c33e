"""Libraries that a `torch/__init__.py` opens, read from its text, compared with running its functions with a recording
loader."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.environment.preload_sequence import Preloads
from abiscan.environment.preloads import preloads_of_release
from abiscan.environment.torch_init import UnknownSequence, read_preloads
from tests.environment.opened import libraries_of, opened_by_reading, opened_by_running
from tests.loader import kit
from tests.tables import data_text, table_rows

# Three forms in releases, shortened: one function and only after a failure; a list that is always opened; a search
# function with required and optional libraries.
AFTER_FAILURE = data_text(__file__, "opened_after_failure.txt")
FIXED_NAMES = data_text(__file__, "opened_by_fixed_names.txt")
IN_ANY_CASE = data_text(__file__, "opened_in_any_case.txt")
SOURCES = {
    "after a failure": AFTER_FAILURE,
    "fixed names": FIXED_NAMES,
    "in any case": IN_ANY_CASE.replace("REQUIRED", "True"),
    "in any case, optional": IN_ANY_CASE.replace("REQUIRED", "False"),
}
REFUSALS = (None, "libcublas.so.11: cannot open", "libnccl.so.2: cannot open", "libz.so.1: cannot open")
MAPS = ("7f00 /x/nvidia/cuda_runtime/lib/libcudart.so.12", "7f00 /usr/lib/libcudart.so.13", "7f00 /lib/libc.so.6")


def _same(source: str, directory: Path, cuda: str | None) -> int:
    """Compare reading and running in every situation. Return the number of different results."""
    preloads = read_preloads(source)
    answers = set()
    for place in range(4):
        sites = [directory / f"{place}-{name}" for name in ("empty", "first", "second")]
        for site in sites:
            (site / "nvidia").mkdir(parents=True, exist_ok=True)
        libraries_of(preloads, sites[2], cuda=cuda or "12.1", place=place)
        if place == 1:
            libraries_of(preloads, sites[1], cuda=cuda or "12.1", place=0)
        if place == 2:
            for installed in sites[2].rglob("libcufft.so.*"):
                installed.unlink()
        for maps in MAPS:
            for refusal in REFUSALS:
                ran = opened_by_running(source, sites, cuda=cuda, maps=maps, refusal=refusal)
                read = opened_by_reading(preloads, sites, cuda=cuda, maps=maps, refusal=refusal)
                assert read == ran, (place, maps, refusal)
                answers.add(tuple(ran))
    return len(answers)


@pytest.mark.parametrize("cuda", ["12.8", "13.0", None])
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_what_is_read_is_what_running_opens(source: str, cuda: str | None, tmp_path: Path) -> None:
    assert _same(source, tmp_path, cuda) > 2


@pytest.mark.torch
@pytest.mark.parametrize("cuda", ["13.0", None])
def test_the_installed_torch(cuda: str | None, tmp_path: Path) -> None:
    source = (Path(kit.torch().root) / "__init__.py").read_text(encoding="utf-8")
    assert _same(source, tmp_path, cuda) > 2


@pytest.mark.torch
def test_the_table_agrees_with_the_installed_torch() -> None:
    torch = kit.torch()
    source = (Path(torch.root) / "__init__.py").read_text(encoding="utf-8")
    assert read_preloads(source) == preloads_of_release(torch.torch)


@table_rows
def test_the_table_of_releases(version: str, runtime: str | None, after: list[str]) -> None:
    found = preloads_of_release(version)
    assert found.runtime == runtime
    assert [each.patterns[0].rpartition("/")[2].partition(".")[0] for each in found.after] == after


def test_a_version_that_is_none_or_newer_is_the_newest() -> None:
    newest = preloads_of_release("99.0")
    assert newest == preloads_of_release("unknown")
    assert len(newest.after) > 10


def test_patterns_may_be_tried_where_the_first_match_nothing() -> None:
    source = IN_ANY_CASE.replace("REQUIRED", "True")
    at_once = """    return places + glob.glob(os.path.join(directory, folder, "lib", name))
"""
    assert at_once in source
    otherwise = """    if not places:
        places = glob.glob(os.path.join(directory, folder, "lib", name))
    return places
"""
    assert read_preloads(source.replace(at_once, otherwise)) == read_preloads(source)


OPENS = "def _load_global_deps():\n    ctypes.CDLL('/x', mode=ctypes.RTLD_GLOBAL)\n"


def test_a_torch_that_opens_nothing_else() -> None:
    assert read_preloads(OPENS) == Preloads()


def _nested_loops(depth: int) -> str:
    loops = (f"{'    ' * level}for a in [1, 2, 3, 4]:\n" for level in range(1, depth + 1))
    return "".join(loops) + "    " * (depth + 1) + "b = a\n"


@pytest.mark.parametrize(
    "source",
    [
        "",
        "import torch\n",
        "def _load_global_deps(\n",
        "def _load_global_deps():\n    pass\n",
        "def _load_global_deps():\n    \0\n",
        OPENS + "    a = " + "(" * 1000 + "\n",
        OPENS + "    a = " + "-" * 20_000 + "1\n",
        OPENS + "    a = " + "not " * 900 + "b\n",
        OPENS + "    a = " + "[" * 90 + "]" * 90 + "\n",
        OPENS + "    a = " + ".".join("b" * 10_000) + "\n",
        OPENS + "    a = 1\n" * 10_000,
        OPENS + "    a = 'xxxxxxxx'\n" + "    a = a + a\n" * 500,
        OPENS + "    a = 'xxxxxxxx'\n" + "    a = f'{a}{a}'\n" * 500,
        OPENS + "    a = [1, 2]\n" + "    a = a + a\n" * 500,
        OPENS + _nested_loops(15),
        OPENS + "    f()\n\ndef f():\n    f(); f(); f(); f(); f(); f(); f(); f()\n",
        OPENS + "    ctypes.CDLL(name())\n",
        OPENS + "    ctypes.CDLL('/etc/other.so')\n",
        OPENS + "    for a in sys.path:\n        ctypes.CDLL(a + '/../../other.so')\n",
    ],
)
def test_a_hostile_or_odd_source_is_refused_or_means_nothing(source: str) -> None:
    try:
        found = read_preloads(source)
    except UnknownSequence:
        return
    assert found == Preloads()
