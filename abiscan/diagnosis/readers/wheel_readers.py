"""Values of the name of a wheel that pip does not install: its tags, and which of them differ from what the text says
about the machine."""

from __future__ import annotations

import re
from typing import Final

from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.text.find_log_facts import find_platform
from abiscan.diagnosis.text.message_text import Hit
from abiscan.diagnosis.text.packages_in_log import find_made_for
from abiscan.diagnosis.text.text_facts import first_shown, is_shown, only_value, pattern_of
from abiscan.diagnosis.text.text_facts import values as text_values
from abiscan.model.platforms import OperatingSystem, platform_of
from abiscan.model.versions import order
from abiscan.wheel.tags import DeclaredTags, System, cpython_of_tag, machine_fits, read_declared_tags, systems_of_wheel
from abiscan.wheel.wheel_name import split_wheel_name

VALUES: Final = (
    *("project", "for_python", "oldest_python", "tags", "other_abi", "wheel_project", "wheel_system", "wheel_version"),
    *("other_machine", "wheel_machine", "other_glibc", "wheel_glibc", "free_threaded", "needed_pip", "musl", "here"),
)
"""Values that readers of this module may add besides `name`."""

# Maximum number of wheel tags in evidence.
_TAGS: Final = 4
_LINES_AROUND: Final = 40
# CPython 2 was compiled with one of two kinds of unicode strings (PEP 513).
_OTHER_ABI: Final = {"cp27m": "cp27mu", "cp27mu": "cp27m"}

# The first pip that installs a manylinux tag (https://github.com/pypa/manylinux, README).
_PIP_OF_TAG: Final = {"manylinux": "20.3", "manylinux2014": "19.3", "manylinux2010": "19.0"}


def wheel_tags(hit: Hit, values: Values) -> Values | None:
    """The first `tags` of the wheel `name`, its CPythons (`for_python`; of abi3 `oldest_python`), its only system
    (`wheel_system`), its project (`project`, `wheel_project`) and public version (`wheel_version`), and what fits none
    of its tags according to the text around; for names of wheels."""
    parts = split_wheel_name(values.get("name", "").replace("%2B", "+"))
    if parts is None:
        return None
    tags = parts[2]
    declared, abis = read_declared_tags(tags), {tag.split("-")[1] for tag in tags}
    found = {"tags": ", ".join(tags[:_TAGS]), "project": parts[0], "wheel_project": parts[0]}
    found["wheel_version"] = parts[1].partition("+")[0]
    systems = systems_of_wheel(values["name"])
    if len(systems) == 1:
        found["wheel_system"] = next(iter(systems)).shown
    if (made := find_made_for(values["name"])) and (variant := re.search(r"cu1\d\d|cpu", parts[1])):
        found["here"] = f"{made[1]}.0+{variant[0]}"  # the torch for which the wheel was chosen
    if len(abis) == 1 and (other := _OTHER_ABI.get(next(iter(abis)))) is not None and "linux" in values["name"]:
        found["other_abi"] = other
    around = hit.preceding(_LINES_AROUND) + hit.line + hit.following(_LINES_AROUND)
    around = pattern_of("wheel_name").sub(" ", around)  # their tags are not of this machine
    found |= _unfit_machine(values["name"], declared, around) or _unfit_glibc(declared, around)
    if is_shown("is_free_threaded", around) and not any(abi.endswith("t") or abi == "none" for abi in abis):
        found["free_threaded"] = "yes"
    pip = order(only_value(text_values("pip_release", around)))
    needed = _PIP_OF_TAG.get(declared.platforms[0].tag.partition("_")[0], "") if len(declared.platforms) == 1 else ""
    if pip is not None and needed and pip < (order(needed) or pip):
        found["needed_pip"] = needed
    if declared.abi3_since is not None:
        return {**found, "oldest_python": "{}.{}".format(*declared.abi3_since)}
    pythons = dict.fromkeys(each for python, _abi in declared.interpreters if (each := cpython_of_tag(python)))
    return {**found, "for_python": ", ".join(f"{major}.{minor}" for major, minor in pythons)} if pythons else found


def _unfit_machine(name: str, declared: DeclaredTags, text: str) -> dict[str, str]:
    """The platform that a text names (`other_machine`), and that of the wheel (`wheel_machine`), if it is another."""
    system, machine = _machine_of(text)
    if system is None or not declared.platforms or {System.ANY, System.OTHER} & {p.system for p in declared.platforms}:
        return {}
    of_wheel = platform_of(declared.platforms[0].machine or "").shown
    if all(p.system is System.GLIBC for p in declared.platforms) and is_shown("is_musl", text):
        return {"musl": "yes", "other_machine": "Linux with musl (Alpine)", "wheel_machine": f"{of_wheel} with glibc"}
    if system in systems_of_wheel(name) and (machine is None or machine_fits(declared, machine)):
        return {}
    shown = system.shown if machine is None else platform_of(machine).shown
    return {"other_machine": shown, "wheel_machine": of_wheel}


def _machine_of(text: str) -> tuple[OperatingSystem | None, str | None]:
    """The system that a text names, and the key of its platform, if the text names the processor too."""
    match find_platform(text):
        case "win_amd64" if not is_shown("is_wsl", text):
            return OperatingSystem.WINDOWS, None
        case "macosx":
            if is_shown("is_apple_silicon", text):
                return OperatingSystem.MACOS, "macosx_arm64"
            return OperatingSystem.MACOS, "macosx_x86_64" if is_shown("is_intel_mac", text) else None
        case "linux_aarch64":
            return OperatingSystem.LINUX, "aarch64"
    linux = first_shown("linux", text) or ("any" if is_shown("is_wsl", text) else "")
    return (OperatingSystem.LINUX, linux if linux == "x86_64" else None) if linux else (None, None)


def _unfit_glibc(declared: DeclaredTags, text: str) -> dict[str, str]:
    """The glibc that a text names (`other_glibc`), if it is older than that of every tag (`wheel_glibc`)."""
    of_system = first_shown("glibc_of_system", text).removeprefix("glibc_").replace("_", ".")
    here = only_value(text_values("glibc", text)) or of_system
    if not here or declared.glibc is None or any(each.system is not System.GLIBC for each in declared.platforms):
        return {}
    is_older = tuple(map(int, here.split("."))) < declared.glibc
    return {"other_glibc": here, "wheel_glibc": "{}.{}".format(*declared.glibc)} if is_older else {}
