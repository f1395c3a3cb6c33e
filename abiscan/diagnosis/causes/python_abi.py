"""python-abi-mismatch: a CPython symbol that this interpreter does not export."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence, Set
from itertools import groupby

from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.environment.python_names import exported_by, known_versions
from abiscan.model.cause import CauseId
from abiscan.model.python_version import PythonVersion
from abiscan.ownership.names import is_python_name

# Functions that a patch release added, with the release: https://docs.python.org/3/c-api/slice.html
_SINCE_PATCH = {"PySlice_AdjustIndices": "3.6.1", "PySlice_Unpack": "3.6.1"}

# The archives of libtorch for C++ have no libtorch_python: https://docs.pytorch.org/cppdocs/installing.html
_WITHOUT_PYTHON = (
    "A program without Python (C++, R, Rust) that loads libtorch_python: remove that file from its libraries; the "
    "others of libtorch (libtorch, libtorch_cpu, libc10) do not need Python"
)


def causes(missing: MissingName) -> Candidates:
    """For `Py*` names."""
    name = missing.name
    if not is_python_name(name):
        return
    found, here, pythons = exported_by(name), _interpreter(missing), missing.knowledge.pythons
    if not pythons:
        first = _of_patch_release(missing) or _of_other_characters(missing)
        if first is not None:
            yield from first
            return
    all_known = known_versions()
    in_every_python3 = set(found) >= {version for version in all_known if version.major == 3}
    if found:
        exported = f"{name} is exported by CPython {ranges(found)}."
    else:
        newest = max(version for version in all_known if not version.free_threaded)
        exported = f"{name} is not exported by any CPython from {all_known[0]} to {newest}."
    lacked = 0.95 if found else 0.7
    if pythons:
        lacking = [version for version in pythons if version not in found]
        checked = (
            f"Checked for CPython {ranges(pythons)} ({missing.knowledge.pythons_because}); "
            f"CPython {ranges(lacking, pythons)} does not export it."
        )
        score, *evidence = lacked, exported, checked
    elif here is not None and here in all_known:
        score, *evidence = _in_this_interpreter(here, found, lacked)
        evidence.insert(0, exported)
    elif in_every_python3:
        not_python = "the process that loads the file is not Python or does not export its symbols"
        score, *evidence = 0.62, exported, f"Every Python 3 exports it: {not_python}."
    else:
        score, *evidence = 0.75, exported
        if here is None:
            evidence.append("The interpreter that loads the file is unknown: check `python --version`.")
    if missing.file.python is not None:
        evidence.append(f"The file name is tagged for CPython {missing.file.python[0]}.{missing.file.python[1]}.")
    fix = _fix_of_setting(found, missing) if pythons else _fix(found, here, in_every_python3)
    file = missing.file.base_name
    if in_every_python3 and (here is None or here in found) and (not file or file.startswith("libtorch_python")):
        fix += f"\n{_WITHOUT_PYTHON}"
    yield Candidate(CauseId.PYTHON_ABI_MISMATCH, score, tuple(evidence), fix)


def _of_patch_release(missing: MissingName) -> Candidates | None:
    """The cause of a function that a patch release of the interpreter added; None for others."""
    since = _SINCE_PATCH.get(missing.name)
    if since is None or missing.reference.link_time:
        return None
    running, tagged = _interpreter(missing), missing.file.python
    minor, _, patch = since.rpartition(".")
    if (running is not None and str(running) != minor) or (tagged is not None and f"{tagged[0]}.{tagged[1]}" != minor):
        return None
    commands = {"since": since, "before": f"{minor}.{int(patch) - 1}"}  # minor releases alone are known
    return row_causes("function-of-later-python", missing, symbol=missing.name, commands=commands)


def _of_other_characters(missing: MissingName) -> Candidates | None:
    width = re.match(_UNICODE_WIDTH, missing.name)
    if width is None:
        return None
    return row_causes("python-2-of-other-characters", missing, symbol=missing.name, commands={"width": width[1]})


def _in_this_interpreter(
    here: PythonVersion, found: Container[PythonVersion], lacked: float
) -> tuple[float, *tuple[str, ...]]:
    """Score and evidence if the interpreter is known.

    Args:
        lacked: the score if it does not export the name.
    """
    if here in found:
        embeds = "A program that embeds Python must link libpython."
        return 0.45, f"Against it: this interpreter (CPython {here}) exports it. {embeds}"
    this = f"This interpreter is CPython {here}."
    if here.major == 2 and found:
        built = "The file is built for Python 3, or with headers of a debug build of Python 2 (Py_DEBUG)."
        return 0.72, this, built
    return lacked, this


def _interpreter(missing: MissingName) -> PythonVersion | None:
    """The version of the interpreter that loads the file."""
    return missing.environment.python if missing.environment is not None else None


def _fix_of_setting(found: tuple[PythonVersion, ...], missing: MissingName) -> str:
    tagged = missing.file.python
    if tagged is not None and tagged not in {(each.major, each.minor) for each in missing.knowledge.pythons}:
        pythons = ", ".join(map(str, missing.knowledge.pythons))
        return f"Install the build of the package for CPython {pythons}: this one is for {tagged[0]}.{tagged[1]}."
    if not found:
        return "Build it with the headers of a CPython that it supports, and tag the wheel for that version."
    return f"Restrict the wheel to CPython {ranges(found)}, or rebuild without the symbol."


# A build of CPython 2 has one of the two (pytorch/pytorch issues 591 and 17094).
_UNICODE_WIDTH = r"PyUnicodeUCS([24])_"


def _fix(found: tuple[PythonVersion, ...], here: PythonVersion | None, in_every_python3: bool) -> str:
    if not found:
        return (
            "Install the wheel tagged for this interpreter (cp311 for CPython 3.11), or build it with "
            "this interpreter's headers."
        )
    if here is None or here in found:
        if in_every_python3:
            return "Load it from Python, or link libpython: -lpythonX.Y (`python3-config --embed --ldflags`)."
        return f"Use CPython {ranges(found)}, or install the wheel tagged for the interpreter that loads it."
    if here.major == 2:
        return (
            f"Run it with CPython {ranges(found)}: python3 -c 'import MODULE'; torch 1.4 is the last one for Python 2\n"
            "or build it with the headers of the release build of CPython 2: python -c "
            '\'import sysconfig; print(sysconfig.get_config_var("Py_DEBUG"), sysconfig.get_paths()["include"])\''
        )
    tag = "cp" + str(here).replace(".", "")
    return f"Install the wheel of the extension for {tag}, or build it with CPython {here}'s headers."


def ranges(found: Iterable[PythonVersion], of: Container[PythonVersion] | None = None) -> str:
    """`2.7-3.12, 3.14`. Free-threaded builds are named if they differ from the default build of their version: `2.7 -
    3.14, not 3.13t - 3.14t`.

    Args:
        of: the versions to consider; None for all known ones.
    """
    exporting = set(found)
    versions = [version for version in known_versions() if of is None or version in of]
    default = [version for version in versions if not version.free_threaded]
    free_threaded = [version for version in versions if version.free_threaded]
    of_default = {PythonVersion(v.major, v.minor, True) for v in exporting if not v.free_threaded}
    parts = [
        _runs(default, exporting),
        _runs(free_threaded, exporting - of_default),
        _runs(free_threaded, of_default - exporting),
    ]
    if parts[2]:
        parts[2] = f"not {parts[2]}"
    return ", ".join(filter(None, parts))


def _runs(of: Sequence[PythonVersion], chosen: Set[PythonVersion]) -> str:
    """The chosen versions, consecutive ones as `first - last`."""
    runs = (list(run) for is_chosen, run in groupby(of, chosen.__contains__) if is_chosen)
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
