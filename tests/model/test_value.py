"""`@value` against the standard library's frozen, slotted dataclass: the same class body, the same behaviour."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any

import pytest

from abiscan.model.value import value


@value
class Ours:
    a: int
    b: str = "x"
    c: list[int] = field(default_factory=list, compare=False)
    d: tuple[int, ...] = field(default=(), repr=False)

    @property
    def double(self) -> int:
        return self.a * 2


@dataclass(frozen=True, slots=True)
class Theirs:
    a: int
    b: str = "x"
    c: list[int] = field(default_factory=list, compare=False)
    d: tuple[int, ...] = field(default=(), repr=False)

    @property
    def double(self) -> int:
        return self.a * 2


CASES: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((1, "y"), {}),
    ((), {"a": 3, "d": (1, 2)}),
    ((1, "y", [4]), {"d": (5,)}),
]


@pytest.mark.parametrize(("args", "keywords"), CASES)
def test_it_behaves_as_a_frozen_dataclass(args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    ours, theirs = Ours(*args, **keywords), Theirs(*args, **keywords)
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert hash(ours) == hash(theirs)
    assert ours == Ours(*args, **keywords)
    assert ours != Ours(99)
    assert ours != theirs
    assert ours.double == theirs.double
    changed, expected = dataclasses.replace(ours, b="z"), dataclasses.replace(theirs, b="z")
    assert dataclasses.asdict(changed) == dataclasses.asdict(expected)
    for same in (pickle.loads(pickle.dumps(ours)), copy.copy(ours), copy.deepcopy(ours)):
        assert same == ours
        assert dataclasses.asdict(same) == dataclasses.asdict(ours)
    assert not hasattr(ours, "__dict__")
    assert Ours.__match_args__ == Theirs.__match_args__
    with pytest.raises(FrozenInstanceError):
        ours.a = 5  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del ours.a


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError):
        Ours()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Ours(1, nothing=2)  # type: ignore[call-arg]


def test_defaults_are_not_shared() -> None:
    assert Ours(1).c is not Ours(1).c
