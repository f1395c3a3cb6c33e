"""`@value`: a frozen, slotted dataclass that costs a third as much to define.

Defining a frozen dataclass compiles six methods, and a command that runs for a tenth of a second defines seventy of
them. Here one is compiled, `__init__`; the others are written once and shared. `dataclasses.replace`, `fields`,
`asdict`, pattern matching, pickling and copying work as ever, and assigning to a field raises `FrozenInstanceError`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, eq_default=True, field_specifiers=(field,))
def value(cls: type[T]) -> type[T]:
    """Make `cls` a frozen dataclass with slots, equality by class and fields, and a hash."""
    own = vars(cls)
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    made.__init__ = _initializer(made)
    for name, method in _SHARED.items():
        if name not in own:
            setattr(made, name, method)
    return made  # type: ignore[no-any-return]


def _initializer(made: Any) -> Callable[..., None]:
    """`__init__` with a parameter for each field, as `dataclass` makes it."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_absent": MISSING}
    parameters, body = ["self"], []
    for f in made.__dataclass_fields__.values():
        if f.default is not MISSING:
            known[f"_default_{f.name}"] = f.default
            parameters.append(f"{f.name}=_default_{f.name}")
            body.append(f"_set(self, {f.name!r}, {f.name})")
        elif f.default_factory is not MISSING:
            known[f"_make_{f.name}"] = f.default_factory
            parameters.append(f"{f.name}=_absent")
            body.append(f"_set(self, {f.name!r}, _make_{f.name}() if {f.name} is _absent else {f.name})")
        else:
            parameters.append(f.name)
            body.append(f"_set(self, {f.name!r}, {f.name})")
    if hasattr(made, "__post_init__"):
        body.append("self.__post_init__()")
    lines = "\n  ".join(body or ["pass"])
    # The names are those of a class body of this package; nothing from outside comes in here.
    exec(f"def __init__({', '.join(parameters)}):\n  {lines}", known)
    made_init: Callable[..., None] = known["__init__"]
    made_init.__qualname__ = f"{made.__qualname__}.__init__"
    return made_init


def _compared(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, f.name) for f in self.__dataclass_fields__.values() if f.compare)


def _equal(self: Any, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _compared(self) == _compared(other)


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _text(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in self.__dataclass_fields__.values() if f.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse_set(self: Any, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r} of {self.__class__.__qualname__}")


def _refuse_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r} of {self.__class__.__qualname__}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__dataclass_fields__]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, item in zip(self.__dataclass_fields__, state, strict=True):
        object.__setattr__(self, name, item)


_SHARED: dict[str, Callable[..., Any]] = {
    "__eq__": _equal,
    "__hash__": _hash,
    "__repr__": _text,
    "__setattr__": _refuse_set,
    "__delattr__": _refuse_delete,
    "__getstate__": _get_state,
    "__setstate__": _set_state,
}
