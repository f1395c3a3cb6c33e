"""Compares a SARIF log with the classes that pysarif generates from the OASIS schema of SARIF 2.1.0.

The classes have the schema's property names, types, enumerations and required properties. `test_sarif.py` checks other
conditions of the schema (numbers from 1 on, lists without repetition) where abiscan writes such values."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator
from typing import Any, Literal, Union

import pysarif

# pysarif's schema is that of the committee specification; the standard has another name for this property (section
# 3.35.3 of SARIF 2.1.0).
_NAMES_OF_THE_STANDARD = {("Suppression", "state"): "status"}


def misfits(log: object) -> list[str]:
    """Values in a log that the schema does not allow, each with its place."""
    return list(_misfits(log, pysarif.SarifLog, "$"))


def _misfits(value: object, kind: Any, where: str) -> Iterator[str]:
    origin = typing.get_origin(kind)
    # A class has None for optional properties; in the log, null is no value.
    choices = [choice for choice in typing.get_args(kind) if choice is not type(None)]
    if origin in (Union, types.UnionType):
        answers = [list(_misfits(value, choice, where)) for choice in choices]
        if all(answers):
            yield from min(answers, key=len)
    elif origin is Literal:
        if value not in choices:
            yield f"{where}: {value!r} is none of {choices}"
    elif origin is list:
        if not isinstance(value, list):
            yield f"{where}: {value!r} is no list"
        else:
            for number, item in enumerate(value):
                yield from _misfits(item, choices[0], f"{where}[{number}]")
    elif dataclasses.is_dataclass(kind):
        yield from _object_misfits(value, kind, where)
    elif kind is Any:
        # Classes without further properties are objects in the schema; those that abiscan writes contain texts.
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            yield f"{where}: {value!r} is no object of texts"
    elif not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        yield f"{where}: {value!r} is no {kind.__name__}"


def _object_misfits(value: object, kind: Any, where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where}: {value!r} is no object"
        return
    hints = typing.get_type_hints(kind)
    fields = {_property(kind, field.name): field for field in dataclasses.fields(kind)}
    for name, item in value.items():
        field = fields.get(name.removeprefix("$"))
        if field is not None:
            yield from _misfits(item, hints[field.name], f"{where}.{name}")
        elif kind is not pysarif.PropertyBag:
            yield f"{where}: {kind.__name__} has no {name!r}"
    for name, field in fields.items():
        optional = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        if not optional and name not in value:
            yield f"{where}: {kind.__name__} needs {name!r}"


def _property(kind: Any, field: str) -> str:
    first, *rest = field.split("_")
    return _NAMES_OF_THE_STANDARD.get((kind.__name__, field), first + "".join(part.capitalize() for part in rest))
