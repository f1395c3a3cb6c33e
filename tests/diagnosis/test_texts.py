"""All forms of text for `explain`: `data/texts.toml` has the expected answer of each, and its reason."""

from __future__ import annotations

import tomllib

import pytest

from abiscan.diagnosis import Knowledge, explain
from abiscan.releases import ReleaseIndex
from tests.diagnosis.reported import DATA, knowledge_of_text

TEXTS = tomllib.loads((DATA / "texts.toml").read_text(encoding="utf-8"))["text"]


@pytest.mark.parametrize("row", TEXTS, ids=[row["form"] for row in TEXTS])
def test_the_symbol_and_the_cause(row: dict[str, str], index: ReleaseIndex) -> None:
    subjects = explain(row["text"], knowledge_of_text(row["text"], index))
    subject = next((s for s in subjects if row["symbol"] in (s.mangled, s.text)), None)
    assert subject is not None, [s.text for s in subjects]
    given = [str(cause.cause) for cause in subject.causes]
    assert given[0] == row["cause"], given
    assert row.get("also", given[0]) in given


def test_there_are_texts_of_every_kind() -> None:
    assert len(TEXTS) >= 60
    assert len({row["form"] for row in TEXTS}) == len(TEXTS)
    assert sum(not row["text"].isascii() for row in TEXTS) >= 8


@pytest.mark.parametrize(
    "text",
    [
        "undefined symbol: what does this mean?",
        "I have an undefined symbol error when importing torch",
        "Everything went fine today (see the docs).",
        "at::Tensor x = at::empty({2, 3});",
        "TORCH_LIBRARY(my_ops, m) {",
        "  auto y = x.data_ptr<float>();",
        "#include <torch/extension.h>",
        "int main(int argc, char** argv) {",
        "pip install torch==2.1.0",
        "print(torch.__version__)",
        "torch.ops.load_library(path)",
        "Successfully installed torch-2.6.0",
        "NameError: name 'modle' is not defined",
        "the variable is not defined",
        "error: no matching function for call to 'std::max(int, long)'",
        "FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'",
        "failed to open config.yaml",
        "hello",
    ],
)
def test_prose_and_programs_are_not_symbols(text: str, nothing: Knowledge) -> None:
    assert explain(text, nothing) == ()
