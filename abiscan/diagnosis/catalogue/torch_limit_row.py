"""The rows of `catalogue/torch_limits.toml` as values. The fields are its keys."""

# Annotations are not postponed: msgspec would compile each of them before it reads the first value.
from msgspec import Struct


class TorchLimit(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A package with releases that allow one torch at most: a row of `torch_limits.toml`.

    Attributes:
        install: requirement for pip, without a release.
        releases: newest torch that a release allows -> the newest such release that was read.
        source: page with this information.
        date: of reading it (YYYY-MM-DD).
    """

    name: str
    install: str
    releases: dict[str, str]
    source: str = ""
    date: str = ""
