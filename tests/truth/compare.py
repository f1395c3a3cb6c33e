"""Compares abiscan's prediction with the loader's result, file by file."""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from abiscan.elf import open_elf
from abiscan.environment.python import read_environment
from abiscan.errors import UnreadableFile
from abiscan.loader import Loader, LoaderSettings
from tests.programs import run_program
from tests.truth.oracle import LOADER_VARIABLES, Answer


@dataclass(frozen=True, slots=True)
class Prediction:
    """`verdict`, `loader` and `machine` of one artifact of the JSON report."""

    verdict: str
    outcome: str | None
    error: str | None
    machine: str | None = None


def predict(files: Sequence[Path], *, python: Path, env: Mapping[str, str] | None = None) -> dict[str, Prediction]:
    """Run the command once over `files` (absolute paths) for the environment of `python`.

    Raises:
        RuntimeError: the command printed no report.
    """
    environment = {name: value for name, value in os.environ.items() if name not in LOADER_VARIABLES}
    environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
    # The scanner is a process too; variables for the file must not affect its own libraries. The command reads these
    # variables from its environment, and a small preloaded library is harmless for Python.
    environment |= env or {}
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        listed.writelines(f"{file}\n" for file in files)
        listed.flush()
        command = [sys.executable, "-m", "abiscan", "scan", "--python", str(python), "-f", "json", "-r", listed.name]
        done = run_program(command, env=environment, cwd="/")
    if not done.stdout.strip():
        raise RuntimeError(f"abiscan gave no report (exit status {done.returncode}): {done.stderr[-2000:]}")
    report: dict[str, Any] = json.loads(done.stdout)
    # An unreadable file is no artifact.
    unreadable = {str(Path("/") / error["path"]): Prediction("unreadable", None, None) for error in report["errors"]}
    return unreadable | {
        str(Path("/") / artifact["path"]): Prediction(
            artifact["verdict"], artifact["loader"]["outcome"], artifact["loader"]["error"], artifact["machine"]
        )
        for artifact in report["artifacts"]
    }


def predict_without_torch(
    files: Sequence[Path], *, python: Path, env: Mapping[str, str] | None = None
) -> dict[str, Prediction]:
    """The loader model for a process that has not imported torch. The command predicts only for an environment with
    torch, so this calls the model directly."""
    loader = Loader(LoaderSettings.of(env or {}, "/"), read_environment(str(python)))
    predictions = {}
    for file in files:
        try:
            elf = open_elf(str(file))
        except UnreadableFile:
            elf = None
        said = loader.predict(elf, str(file))
        predictions[str(file)] = Prediction(
            "unreadable" if elf is None else "not-torch", said.outcome, said.error, None if elf is None else elf.machine
        )
    return predictions


@dataclass(slots=True)
class Comparison:
    """Agreement of abiscan and the loader.

    Attributes:
        compared: files with a comparable result: it loads, or the loader rejects it.
        wrong: another outcome, or no prediction.
        text: the same outcome with another message.
        unreadable: rejected by both, abiscan without the loader's message because it could not read the file.
        other_machine: rejected by the loader for its architecture; there is no prediction for those (CONTRACT).
        not_compared: files where the process died or exited: their own code, or an assertion of the loader.
    """

    compared: int = 0
    wrong: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    other_machine: list[str] = field(default_factory=list)
    not_compared: list[str] = field(default_factory=list)

    def add(self, path: str, answer: Answer, prediction: Prediction | None) -> None:
        said = f"{path}\n    loader:  {answer.outcome} {answer.text}\n    abiscan: " + (
            f"{prediction.outcome} {prediction.error or ''} (verdict {prediction.verdict})" if prediction else "nothing"
        )
        if answer.outcome not in {"loads", "fails"}:
            self.not_compared.append(said)
            return
        self.compared += 1
        refused = answer.outcome == "fails" and prediction is not None and prediction.outcome is None
        if refused and prediction and prediction.verdict == "unreadable":
            self.unreadable.append(said)
        elif refused and prediction and prediction.machine not in {None, platform.machine()}:
            self.other_machine.append(said)
        elif prediction is None or prediction.outcome != answer.outcome:
            self.wrong.append(said)
        elif (prediction.error or "") != answer.text:
            self.text.append(said)

    @property
    def text_rate(self) -> float:
        """Fraction of the compared files with the loader's message; no message does not count."""
        return 1 - (len(self.text) + len(self.unreadable) + len(self.other_machine)) / max(self.compared, 1)

    def __str__(self) -> str:
        parts = [
            f"{self.compared} compared: {len(self.wrong)} other outcomes, {len(self.text)} other texts, "
            f"{len(self.unreadable)} unreadable; {len(self.not_compared)} not compared"
        ]
        for name in ("wrong", "text", "unreadable", "other_machine", "not_compared"):
            if lines := getattr(self, name):
                parts += [f"== {name.replace('_', ' ')}", *lines]
        return "\n".join(parts)


def compare(answers: Mapping[str, Answer], predictions: Mapping[str, Prediction]) -> Comparison:
    """Compare all files with a result of the loader."""
    result = Comparison()
    for path, answer in sorted(answers.items()):
        result.add(path, answer, predictions.get(path))
    return result
