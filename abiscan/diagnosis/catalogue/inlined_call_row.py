"""The rows of `catalogue/inlined_calls.toml` as values. The fields are its keys."""

# Annotations are not postponed: msgspec would compile each of them before it reads the first value.
from msgspec import Struct


class InlinedCall(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """An out-of-line function and the calls that reach it by inline code.

    Attributes:
        entity: its qualified name.
        called_by: the code in the source.
        header: of the inline code.
        instead: replacement; may be empty.
    """

    entity: str
    called_by: str
    header: str
    instead: str = ""
