"""Mutated logs for `explain`: names that mean something in a regular expression or a shell, long runs, other scripts.

The seeds are the logs of the tests. A fix with text of the log that a shell would run is a finding too.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.fuzz.mutate import mutate_text

DATA = Path(__file__).resolve().parents[1] / "diagnosis" / "data"
# Maximum input length in characters.
_MOST = 1 << 18
# Text that no command of a fix may contain.
_COMMAND = "$(stolen)"
_MARKS = (
    *("(", ")", "[", "]", "{", "}", "*", "+", "?", "|", "^", "$", "\\", ".", "(?P<x>", "(?<=a+)", "[z-a]", "{2}{3}"),
    *(
        "\\1",
        "\\g<1>",
        "(?i",
        "a**",
        "%s",
        "{}",
        "{0}",
        "\\u",
        "\\x",
        "\\N{",
        _COMMAND,
        f"';{_COMMAND};'",
        f"`{_COMMAND}`",
    ),
)
_RUNS = (
    *(" ", "\t", "\n", "_", "a", "A", "0", ".", ":", "::", "/", "\\", "'", "`", '"', "(", ")", "<", ">", "&lt;", "%20"),
    *("=\n", "=5F", "\x1b[", "\x1b]", "\r", "_Z", "_ZN", "N2at", "lib", ".so", "\u00e9", "\u4e00", "a.", "a::", "a b "),
    *(
        "undefined symbol: ",
        "cannot open shared object file",
        "required by ",
        "orch ",
        "version ",
        "| ",
        "> ",
        "-l",
        "*ZN",
    ),
)
_UNICODE = (
    *("\u672a\u5b9a\u4e49\u7684\u7b26\u53f7", "\u2018", "\u2019", "\u201c", "\u201d", "\ufeff", "\u202e", "\u2066"),
    *("\u0130", "\u01c5", "\ufb01", "\u0661", "\u00b2", "\U0001f600", "\ud800", "\u0000", "\u0085", "\u2028", "\u00a0"),
)
_WORDS = (
    *("undefined symbol: ", "_ZN2at5emptyEv", "libtorch.so", ": ", "'", "`", "\n", "\x1b[31m", "version", "3.4.30"),
    *(
        "No module named ",
        "cannot import name ",
        " is not defined",
        "torch.__version__ ",
        "GLIBCXX_3.4.",
        "sm_",
        "::",
        "{",
    ),
)
_NAME = re.compile(r"[A-Za-z_][\w.]{2,80}")


def seeds() -> list[str]:
    """The texts of the tests' cases, and the messages of the readers."""
    from abiscan.diagnosis.catalogue.load_messages import messages_by_anchor

    found = [each["text"] for each in tomllib.loads((DATA / "texts.toml").read_text("utf-8"))["text"].values()]
    for path in sorted(DATA.glob("*_cases.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            found.append(row.get("text") or f"ImportError: {row['needed_by']}: undefined symbol: {row['symbol']}")
    found += [f"a.b 'x' {word} 'lib.so' NAME (y)\nNAME.cpython-38-x86_64-linux-gnu.so" for word in messages_by_anchor()]
    return found


def make_log(texts: list[str], rng: Random) -> str:
    """One or two logs, with replaced names, inserted runs and changed characters."""
    out = rng.choice(texts)
    if rng.random() < 0.25:
        other = rng.choice(texts)
        at, cut = rng.randrange(len(out) + 1), rng.randrange(len(other) + 1)
        out = out[:at] + other[cut:] + out[at:]
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        at = rng.randrange(len(out) + 1)
        match rng.randrange(8):
            case 0 | 1:
                out = _with_other_name(out, rng)
            case 2:
                out = out[:at] + rng.choice(_MARKS) + out[at:]
            case 3:
                out = out[:at] + rng.choice(_RUNS) * rng.choice((2, 50, 500, 5_000, 50_000)) + out[at:]
            case 4:
                out = out[:at] + rng.choice(_UNICODE) * rng.choice((1, 1, 3, 400)) + out[at:]
            case 5:
                out = out[:at] + rng.choice(texts)[: rng.choice((20, 200, 2_000))] * rng.choice((1, 5, 100)) + out[at:]
            case _:
                out = mutate_text(out, rng, _WORDS)
        out = out[:_MOST]
    return out


def _with_other_name(text: str, rng: Random) -> str:
    """Insert punctuation into or around a name, everywhere in the text."""
    names = _NAME.findall(text[:20_000])
    if not names:
        return text
    name = rng.choice(names)
    at = rng.randrange(len(name) + 1)
    other = rng.choice((rng.choice(_MARKS), rng.choice(_UNICODE), rng.choice(_RUNS) * rng.choice((1, 300))))
    return text.replace(name, name[:at] + other + name[at:], rng.choice((1, 3, 50)))


def explain_kind() -> tuple[Callable[[Random], bytes], Callable[[bytes], None]]:
    """Functions that make and read an input."""
    from abiscan.analysis.context import AnalysisContext
    from abiscan.analysis.scan_options import ScanOptions
    from abiscan.loader import LoaderSettings
    from abiscan.report import json_report, subjects_text
    from abiscan.report.style import Style
    from tests.diagnosis.explained import explain

    context = AnalysisContext(ScanOptions(torch="2.9.0", environment=None, settings=LoaderSettings(cwd="/")))
    texts = seeds()

    def make(rng: Random) -> bytes:
        return make_log(texts, rng).encode("utf-8", "backslashreplace")

    def run(data: bytes) -> None:
        subjects = explain(data.decode("utf-8", "replace"), context.knowledge("x86_64"), None)
        json.loads(json_report.render_explanation(subjects))
        subjects_text.render(subjects, Style(width=80, color=False, verbose=True, quiet=False))
        for cause in (cause for subject in subjects for cause in subject.causes):
            assert _COMMAND not in cause.fix, f"a fix has what a shell would run: {cause.fix[:300]}"

    return make, run
