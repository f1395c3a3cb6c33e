"""The lists of values in the report's schema are complete and equal to the model's."""

from __future__ import annotations

import json

import pytest

from tools import schema_enums


def test_the_schema_lists_what_the_model_has() -> None:
    current = schema_enums.TARGET.read_text(encoding="utf-8")
    assert schema_enums.render(current) == current


def test_a_new_value_is_added_and_none_is_taken_out() -> None:
    schema = json.loads(schema_enums.TARGET.read_text(encoding="utf-8"))
    kinds = schema["$defs"]["subject"]["properties"]["kind"]["enum"]
    last = kinds.pop()
    assert schema_enums.render(json.dumps(schema)) == schema_enums.TARGET.read_text(encoding="utf-8")
    kinds += [last, "of-old"]
    with pytest.raises(ValueError, match="of-old would be taken out"):
        schema_enums.render(json.dumps(schema))


def test_an_unknown_list_is_an_error() -> None:
    schema = json.loads(schema_enums.TARGET.read_text(encoding="utf-8"))
    schema["properties"]["schema_version"] = {"enum": [1]}
    with pytest.raises(ValueError, match="properties/schema_version"):
        schema_enums.render(json.dumps(schema))
