"""python-abi-mismatch: a CPython symbol that this interpreter does not export."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence, Set
from itertools import groupby

from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidates
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.environment.python_names import STABLE_ABI_LIBRARIES, exported_by, known_versions, systems_exporting
from abiscan.model.platforms import OperatingSystem
from abiscan.model.python_version import PythonVersion, python_of_dll
from abiscan.ownership.names import is_python_name

# Functions that a patch release added, with the release: https://docs.python.org/3/c-api/slice.html
_SINCE_PATCH = {"PySlice_AdjustIndices": "3.6.1", "PySlice_Unpack": "3.6.1"}

# A build of CPython 2 has one of the two (pytorch/pytorch issues 591 and 17094).
_UNICODE_WIDTH = r"PyUnicodeUCS([24])_"


def causes(missing: MissingName) -> Candidates:
    """For `Py*` names."""
    name = missing.name
    if not is_python_name(name):
        return
    system = missing.system
    found, here = exported_by(name, system), missing.environment.python
    elsewhere = () if found else systems_exporting(name)
    pythons, because = missing.knowledge.pythons, missing.knowledge.pythons_because
    library = missing.reference.library or ""
    if library.lower() in STABLE_ABI_LIBRARIES:
        yield from row_causes(
            "outside-stable-abi", missing, symbol=name, library=library, exporting=ranges(found, system)
        )
        return
    first = None if pythons else _of_patch_release(missing) or _of_other_characters(missing)
    if first is not None:
        yield from first
        return
    if (of_library := python_of_dll(library)) is not None:
        pythons, because = (of_library,), f"the file imports it from {library}"
    known, tagged, base = known_versions(system), missing.file.python, missing.file.base_name
    in_every_python3 = set(found) >= {version for version in known if version.major == 3}
    kind, score = _evidence(found, here if here in known else None, pythons, in_every_python3)
    if kind == "exported-here" and missing.log.python_prerelease:
        kind, score = "prerelease", 0.85
    is_exported_here = here is None or here in found
    lacking = [version for version in pythons if version not in found]
    if elsewhere:
        way = "other-system"
    elif pythons:
        way = _way_of_setting(found, pythons, missing)
    elif kind == "prerelease":
        way = "final"
    else:
        way = _way(found, here, in_every_python3)
    yield from row_causes(
        "symbol-of-other-python",
        missing,
        score=score,
        commands={
            "system": system.shown,
            "kind": kind,
            "way": way,
            "exporting": ranges(found, system),
            "oldest": str(known[0]),
            "newest": str(max(version for version in known if not version.free_threaded)),
            "pythons": ranges(pythons, system),
            "each": ", ".join(map(str, pythons)),
            "lacking": ranges(lacking, system, pythons),
            "tagged": "" if tagged is None else f"{tagged[0]}.{tagged[1]}",
            "tag": f"cp{here}".replace(".", ""),
        },
        symbol=name,
        because=because,
        linking=missing.reference.link_time,
        elsewhere=" and ".join(each.shown for each in elsewhere),
        # A program without Python may load the file, or the message names none.
        by_program=in_every_python3 and is_exported_here and (not base or base.startswith("libtorch_python")),
    )


def _evidence(
    found: Sequence[PythonVersion], here: PythonVersion | None, pythons: Sequence[PythonVersion], in_every_python3: bool
) -> tuple[str, float]:
    """What decides about the name, and the score.

    Args:
        here: the interpreter, if its exports are known.
        pythons: the CPythons that the file is for, which override it.
    """
    lacked = 0.95 if found else 0.7
    if pythons:
        return "setting", lacked
    if here is None:
        return ("every", 0.62) if in_every_python3 else ("unknown", 0.75)
    if here in found:
        return "exported-here", 0.45
    return ("python-2", 0.72) if here.major == 2 and found else ("here", lacked)


def _of_patch_release(missing: MissingName) -> Candidates | None:
    """The cause of a function that a patch release of the interpreter added; None for others."""
    since = _SINCE_PATCH.get(missing.name)
    if since is None or missing.reference.link_time:
        return None
    running, tagged = missing.environment.python, missing.file.python
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


def _way_of_setting(found: Sequence[PythonVersion], pythons: Sequence[PythonVersion], missing: MissingName) -> str:
    """What to do if the file is for some CPythons: a condition of the row."""
    tagged = missing.file.python
    if tagged is not None and tagged not in {(each.major, each.minor) for each in pythons}:
        return "other-build"
    # A file that imports it from `python311.dll` is for one CPython, whatever its tags.
    return "restrict" if found and pythons == missing.knowledge.pythons else "headers"


def _way(found: Sequence[PythonVersion], here: PythonVersion | None, in_every_python3: bool) -> str:
    """The same for the interpreter."""
    if not found:
        return "tagged"
    if here is None or here in found:
        return "load" if in_every_python3 else "use"
    return "python-3" if here.major == 2 else "here"


def ranges(
    found: Iterable[PythonVersion],
    system: OperatingSystem = OperatingSystem.LINUX,
    of: Container[PythonVersion] | None = None,
) -> str:
    """`2.7-3.12, 3.14`. Free-threaded builds are named if they differ from the default build of their version: `2.7 -
    3.14, not 3.13t - 3.14t`.

    Args:
        of: the versions to consider; None for all known ones of the system.
    """
    exporting = set(found)
    versions = [version for version in known_versions(system) if of is None or version in of]
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
