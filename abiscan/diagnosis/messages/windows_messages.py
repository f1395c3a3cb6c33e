"""Messages of Windows' loader, which names neither the function that is missing nor the DLL that lacks it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from abiscan.diagnosis.messages.mention import Complaint, Mention
from abiscan.diagnosis.messages.message_paths import is_file
from abiscan.diagnosis.messages.message_text import Hit

# ERROR_MOD_NOT_FOUND and ERROR_PROC_NOT_FOUND
# (https://learn.microsoft.com/windows/win32/debug/system-error-codes--0-499-).
MODULE_NOT_FOUND: Final = "126"
PROCEDURE_NOT_FOUND: Final = "127"
# ERROR_INVALID_ORDINAL, ERROR_DLL_INIT_FAILED and ERROR_COMMITMENT_LIMIT.
INVALID_ORDINAL: Final = "182"
INITIALIZATION_FAILED: Final = "1114"
NO_MEMORY: Final = "1455"
# The text ends before the reason.
REASON_CUT_OFF: Final = "no reason"
NO_WIN32_APPLICATION: Final = "not a valid Win32 application"

# The words by which the second's text differs from the first's, in the languages in which people send it.
_PROCEDURE = re.compile(
    r"proc[e\u00e9]d|procedur|Prozedur|proceso|processo|\u7a0b\u5e8f|\u7a0b\u5e8f|\u7a0b\u5f0f|"
    r"\u043f\u0440\u043e\u0446\u0435\u0434\u0443\u0440|\u30d7\u30ed\u30b7\u30fc\u30b8\u30e3|"
    r"\ud504\ub85c\uc2dc\uc800|specified program\b",
    re.IGNORECASE,
)
_MODULE = re.compile(
    r"modul|m\u00f3dul|\u6a21\u5757|\u6a21\u7d44|\u043c\u043e\u0434\u0443\u043b|\u30e2\u30b8\u30e5\u30fc\u30eb|"
    r"\ubaa8\ub4c8",
    re.IGNORECASE,
)
_INITIALIZATION = re.compile(
    r"initiali[sz]ation routine|\u521d\u59cb\u5316\u4f8b\u7a0b|Initialisierungsroutine|initialisation"
)
_IMPORTING = re.compile(r" while importing (\w{1,128})")
_CODE = re.compile(r"(\d{1,5})")
_LOADING = re.compile(r"Error loading ([^'\"\n]{1,1024}?\.dll)\b")
# What cannot be run is named by a placeholder: ERROR_INVALID_ORDINAL.
_CANNOT_RUN = re.compile(
    r"cannot run %1|\u65e0\u6cd5\u8fd0\u884c %1|"
    r"\u043c\u043e\u0436\u0435\u0442 \u0437\u0430\u043f\u0443\u0441\u0442\u0438\u0442\u044c %1"
)
_QUOTED = re.compile(r"['\"]([^'\"\n]{1,1024})['\"]")
_SAID = 512
_OF_TORCH = "from torch._C import"


def win_error(hit: Hit) -> Iterator[Mention]:
    """`OSError: [WinError 126] ... Error loading "C:\\x\\torch\\lib\\c10.dll" or one of its dependencies.`; as people
    write it, without brackets and quotation marks."""
    found = _CODE.match(hit.rest)
    code = found[1] if found is not None else ""
    if code in (MODULE_NOT_FOUND, PROCEDURE_NOT_FOUND, INITIALIZATION_FAILED, NO_MEMORY):
        yield _mention(hit, _file(hit.rest), code)
    elif code == INVALID_ORDINAL:
        yield _mention(hit, _file(hit.rest), PROCEDURE_NOT_FOUND)


def dll_load_failed(hit: Hit) -> Iterator[Mention]:
    """CPython: `ImportError: DLL load failed while importing _C: The specified procedure could not be found.`, before
    3.8 without the module, in the language of the system."""
    said = hit.rest[:_SAID]
    if "Win32" in said:
        return
    module = _IMPORTING.match(said)
    text = said[module.end() :] if module is not None else said
    if _INITIALIZATION.search(text) is not None:
        yield _mention(hit, module[1] if module is not None else None, INITIALIZATION_FAILED)
    elif "paging file" in text or "\u9875\u9762\u6587\u4ef6" in text:
        yield _mention(hit, module[1] if module is not None else None, NO_MEMORY)
    elif _PROCEDURE.search(text) is not None or _CANNOT_RUN.search(text) is not None:
        yield _mention(hit, module[1] if module is not None else None, PROCEDURE_NOT_FOUND)
    elif _MODULE.search(text) is not None:
        yield _mention(hit, module[1] if module is not None else None, MODULE_NOT_FOUND)
    elif not text.strip(" :.\r\n'\"`"):
        yield _mention(hit, module[1] if module is not None else None, REASON_CUT_OFF)


def not_a_program(hit: Hit) -> Iterator[Mention]:
    """`OSError: [WinError 193] %1 is not a valid Win32 application`, `ImportError: DLL load failed while importing _C:
    %1 is not a valid Win32 application.` (ERROR_BAD_EXE_FORMAT), in English and Chinese."""
    module = _IMPORTING.search(hit.before[-_SAID:])
    file = _file(hit.before) or _file(hit.rest)
    name = file.replace("\\", "/").rpartition("/")[2] if file is not None else module[1] if module else "a DLL"
    yield Mention(Complaint.NOT_LOADABLE, name, hit.at, library=file, version=NO_WIN32_APPLICATION)


def could_not_find(hit: Hit) -> Iterator[Mention]:
    """ctypes: `Could not find module 'C:\\x\\torch\\lib\\c10.dll' (or one of its dependencies).`"""
    file = _file(hit.rest)
    if file is not None and "one of its dependencies" in hit.rest[:2_048]:
        yield _mention(hit, file, MODULE_NOT_FOUND)


def _file(text: str) -> str | None:
    found = (match[1].replace("\\\\", "\\") for match in _QUOTED.finditer(text[:2_048]))
    file = next((path for path in found if is_file(path)), None)
    bare = _LOADING.search(text, 0, 2_048) if file is None else None
    return file if bare is None else bare[1]


def _mention(hit: Hit, file: str | None, code: str) -> Mention:
    name = file.replace("\\", "/").rpartition("/")[2] if file is not None else "a DLL"
    by_torch = file is None and _OF_TORCH in hit.before + hit.preceding(3)
    return Mention(Complaint.DLL, name, hit.at, library=file, version=code, by_torch=by_torch)
