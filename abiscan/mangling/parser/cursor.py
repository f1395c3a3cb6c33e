"""Steps through the characters of a mangled name, within bounds."""

from __future__ import annotations

from typing import Final

from abiscan.errors import AbiscanError

# In characters; longer names are refused. Compilers emit names of a few KiB in template-heavy code; the longest export
# of torch 2.13.0 has 595.
LENGTH_LIMIT: Final = 64 * 1024
# Nested productions, up to four Python frames each; the maximum among the exports of torch 2.13.0 and the symbols of a
# dozen extension wheels is 24.
NESTING_LIMIT: Final = 96

DIGITS: Final = frozenset("0123456789")


class NameSyntaxError(AbiscanError):
    """The text is not a <mangled-name> of the Itanium C++ ABI. Internal to this package: `parse` returns None
    instead."""


class NameTooComplex(NameSyntaxError):  # noqa: N818 - what happened, as in errors.UnreadableFile
    """The name exceeds the limits on length, nesting or text, which no compiler's name does."""


class Cursor:
    """A position in a mangled name.

    Attributes:
        text: the name, followed by NULs so that lookahead never runs off its end.
        at: index of the next character.

    Raises:
        NameTooComplex: the name is longer than LENGTH_LIMIT.
    """

    __slots__ = ("_depth", "at", "text")

    def __init__(self, text: str, at: int = 0) -> None:
        if len(text) > LENGTH_LIMIT:
            raise NameTooComplex(f"longer than {LENGTH_LIMIT} characters")
        if "\0" in text:
            raise NameSyntaxError("has a NUL in it")
        self.text = text + "\0\0\0"
        self.at = at
        self._depth = 0

    def fail(self, expected: str) -> NameSyntaxError:
        """Build the error for a missing `expected`."""
        return NameSyntaxError(f"at character {self.at}: {expected} expected")

    def take(self, token: str) -> bool:
        """Skip `token` if it is next."""
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def need(self, token: str) -> None:
        """Skip `token`, or raise."""
        if not self.text.startswith(token, self.at):
            raise self.fail(token)
        self.at += len(token)

    def number(self, negative: bool = False) -> str:
        """<number>, as written; empty if there is none."""
        text = self.text
        start = at = self.at
        if negative and text[at] == "n":
            at += 1
        while text[at] in DIGITS:
            at += 1
        self.at = at
        return text[start:at]

    def seq_id(self) -> int:
        """<seq-id>_: 0 for the bare underscore, otherwise one more than the base-36 number."""
        text = self.text
        at = self.at
        end = text.find("_", at, at + 12)
        if end < 0:
            raise self.fail("_")
        self.at = end + 1
        if end == at:
            return 0
        digits = text[at:end]
        if not (digits.isascii() and digits.isalnum() and digits == digits.upper()):
            raise self.fail("a base 36 number")
        return int(digits, 36) + 1

    def index(self) -> int:
        """[<number>]_: 0 for the bare underscore, otherwise one more than the number."""
        digits = self.number()
        self.need("_")
        if len(digits) > 9:
            raise self.fail("a small number")
        return int(digits) + 1 if digits else 0

    def deeper(self) -> None:
        """Enter a production; `self._depth -= 1` leaves it (not needed after an exception)."""
        self._depth += 1
        if self._depth > NESTING_LIMIT:
            raise NameTooComplex("nested too deeply")

    def shallower(self) -> None:
        """Leave a production."""
        self._depth -= 1
