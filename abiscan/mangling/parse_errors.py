"""Why a mangled name was not read. These stay inside `names`: `parse` answers None instead."""

from __future__ import annotations

from abiscan.errors import AbiscanError


class NameSyntaxError(AbiscanError):
    """The text is no <mangled-name> of the Itanium C++ ABI."""


class NameTooComplex(NameSyntaxError):  # noqa: N818 - what happened, as in errors.UnreadableFile
    """The name is longer, nested deeper or stands for more text than any compiler's name: it is not read further."""
