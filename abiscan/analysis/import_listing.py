"""The imports of a Windows file as dumpbin, Dependencies, objdump or llvm-readobj list them. No file is read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from abiscan.analysis.named_file_scan import release_notes
from abiscan.model.imports import DemangledBy
from abiscan.model.platforms import file_key
from abiscan.model.subject import Subject, SubjectKind
from abiscan.ownership.torch_names import is_torch_library
from abiscan.releases import ReleaseIndex
from abiscan.releases.matrix import TorchNeeds, build_matrix

# Headings of the listings: dumpbin /imports; Dependencies.exe -imports; objdump -p; llvm-readobj --coff-imports.
_HEADINGS = ("Section contains the following imports", "Import from module ", "DLL Name: ", "ImportAddressTableRVA")
_FILE = re.compile(r"(?:Dump of file|Import listing for file :|File:) ?(.{1,1024})")
_LIBRARY = re.compile(
    r"\s{0,40}(?:Import from module |DLL Name: |Name: )?([\w.+-]{1,255}\.(?i:dll|pyd))(?: :)?\s{0,40}$"
)
# A hint, an address with a hint, or a word, then the name; llvm-readobj has the hint behind it.
_IMPORT = re.compile(
    r"\s{1,40}(?:Function |Symbol: |(?:[0-9A-Fa-f]{1,16}\s{1,40}){1,3})"
    r"([?@\w][^\s()]{0,65535})(?: \(\d{1,5}\))?\s{0,40}$"
)
_MOST_IMPORTS = 100_000


def imports_in(text: str) -> list[tuple[str, str]]:
    """The (library, symbol) pairs of a listing; empty for another text."""
    return list(_imports_in(text)) if any(heading in text for heading in _HEADINGS) else []


def _imports_in(text: str) -> Iterator[tuple[str, str]]:
    library, count = None, 0
    for line in text.splitlines():
        if found := _LIBRARY.match(line):
            library = file_key(found[1])
        elif library is not None and (found := _IMPORT.match(line)):
            yield library, found[1]
            count += 1
            if count == _MOST_IMPORTS:
                return


def explain_imports(text: str, index: ReleaseIndex) -> Subject | None:
    """The releases that export the torch imports of a listing; None if the text lists none."""
    wanted = [(library, name) for library, name in imports_in(text) if is_torch_library(library)]
    if not wanted:
        return None
    homes: dict[str, tuple[str, ...]] = {}
    for library, name in wanted:
        homes[name] = tuple(dict.fromkeys((*homes.get(name, ()), library)))
    needs = TorchNeeds(
        names=tuple(homes),
        libraries=tuple(dict.fromkeys(library for library, _name in wanted)),
        machine="win_amd64",
        homes=homes,
        all_libraries=True,
    )
    verdicts = build_matrix(needs, index).verdicts
    notes = [f"It lists {len(homes)} symbols of torch, for Windows.", *release_notes(verdicts)]
    file = _FILE.search(text)
    shown = file[1].strip() if file is not None else "the listed file"
    return Subject(shown, SubjectKind.LIBRARY, None, None, DemangledBy.NONE, None, None, (), notes=tuple(notes))
