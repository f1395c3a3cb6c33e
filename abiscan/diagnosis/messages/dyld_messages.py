"""Messages of macOS about what it loads: of dyld."""

from __future__ import annotations

from collections.abc import Iterator

from abiscan.diagnosis.messages.mention import Complaint, Mention
from abiscan.diagnosis.messages.message_text import Hit
from abiscan.diagnosis.messages.name_tokens import read_name


def flat_namespace(hit: Hit) -> Iterator[Mention]:
    """dyld: `dlopen(FILE, 0x0002): symbol not found in flat namespace '__ZN...'`"""
    token = read_name(hit.rest.lstrip(" ("))
    if token is not None:
        yield Mention(Complaint.SYMBOL, token.name, hit.at, needed_by=_dlopened(hit), macos=True)


def symbol_not_found(hit: Hit) -> Iterator[Mention]:
    """dyld: `Symbol not found: __ZN...`, then `Referenced from: <uuid> FILE` and `Expected in: FILE`"""
    token = read_name(hit.rest.lstrip(" ("))
    if token is None:
        return
    needed_by = _referenced_from(hit.rest + hit.following(4)) or _dlopened(hit)
    yield Mention(Complaint.SYMBOL, token.name, hit.at, needed_by=needed_by, macos=True)


def _referenced_from(text: str) -> str | None:
    """The file behind `Referenced from:`."""
    at = text.find("Referenced from:")
    if at < 0:
        return None
    line = text[at + 16 :].split("\n", 1)[0].split("Expected in", 1)[0].strip()
    if line.startswith("<"):
        line = line.partition(">")[2].strip()
    return line or None


def _dlopened(hit: Hit) -> str | None:
    for text in (hit.before + hit.rest, hit.preceding(2)):
        at = text.find("dlopen(")
        if at >= 0:
            return text[at + 7 : at + 4_103].split("\n", 1)[0].split(",", 1)[0].split(")", 1)[0]
    return None


def dlsym(hit: Hit) -> Iterator[Mention]:
    """`dlsym(0x7f8, NAME): symbol not found`"""
    inside, closed, behind = hit.rest.partition(")")
    name = inside.rpartition(",")[2].strip().strip('"')
    if closed and name and behind.startswith(":") and "not found" in behind:
        yield Mention(Complaint.SYMBOL, name, hit.at, macos=True)
