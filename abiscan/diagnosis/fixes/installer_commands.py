"""Commands of a fix for the program that installs the packages of an environment in place of pip."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from abiscan.data import read_table

# A word of a command that names a release, and the options that such a program does not need.
_RELEASE: Final = r"(?:\"[A-Za-z][^\"\s$|]{1,64}\"|[A-Za-z][\w.-]{0,64}(?:\[[\w,-]{1,64}\])?==[\w.+*]{1,32})"
_OF_RELEASES: Final = (
    r"(?<![\w.-])(?:python3? -m )?pip install (?:(?:-U|--upgrade|--force-reinstall) ){0,2}"
    rf"(?P<names>{_RELEASE}(?: {_RELEASE}){{0,4}})"
    r"(?: --index-url (?P<index>https://download\.pytorch\.org/whl/(?P<variant>[\w.]{1,16})))?(?=$|  #|,| &&)"
)
_OF_PIP: Final = r"(?<!uv )(?<![\w./-])(?:python3? -m )?pip (?=(?:install|uninstall|show|list|check|freeze)\b)"


class Installer(Struct, frozen=True):
    """The commands of a program.

    Attributes:
        pip: what runs a command of pip in its environment.
        conda: what installs packages of conda-forge; empty if it installs none.
        add: the command that adds releases (`{names}`) to the project; empty if there is no project.
        add_from: the same for an index of PyTorch (`{index}`, of `{variant}`).
        note: what holds for the commands of `pip`.
        note_of_add: what holds for those of `add`.
    """

    pip: str
    conda: str = ""
    add: str = ""
    add_from: str = ""
    note: str = ""
    note_of_add: str = ""


def for_installer(fix: str, installer: str) -> str:
    """A fix with the commands of an installer in place of those of pip."""
    program = read_table("installers.toml", dict[str, Installer]).get(installer)
    if program is None:
        return fix
    if program.pip == "uv pip":
        fix = re.sub(r"; uv: uv pip [^\n]{1,400}", "", fix)
    added = re.sub(_OF_RELEASES, lambda found: _add(found, program), fix, flags=re.M) if program.add else fix
    lines = re.sub(_OF_PIP, lambda _found: f"{program.pip} ", added)
    if program.conda:
        lines = lines.replace("conda install -c conda-forge", program.conda)
    notes = (program.note_of_add if added != fix else "", program.note if f"{program.pip} install" in lines else "")
    return "\n".join((lines, *filter(None, notes)))


def _add(found: re.Match[str], program: Installer) -> str:
    return (program.add_from if found["index"] else program.add).format_map(found.groupdict())
