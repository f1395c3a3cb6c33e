"""Functions that read values of a message which no pattern can capture; rows name them as `reader`. A reader gets the
place of the anchor and the values so far. It returns further values, or None if the row does not apply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from abiscan.diagnosis.catalogue.named_functions import Values, functions_of
from abiscan.diagnosis.readers import (
    compiler_readers,
    file_readers,
    function_readers,
    name_readers,
    python_readers,
    wheel_readers,
)
from abiscan.diagnosis.text.message_text import Hit

VALUE_READERS: Final[Mapping[str, Callable[[Hit, Values], Values | None]]] = {
    name.replace("_", "-"): reader
    for name, reader in functions_of(
        *(compiler_readers, file_readers, function_readers, name_readers, python_readers, wheel_readers)
    ).items()
}
"""Each public function of these modules is a reader; rows name it with hyphens."""
