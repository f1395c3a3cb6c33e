"""Oracle: Clang for x86_64-apple-macos and x86_64-linux-gnu, for functions with `__INT64_TYPE__` and
`__UINT64_TYPE__`."""

from __future__ import annotations

import pytest

from abiscan.mangling.macos_integers import linux_names


@pytest.mark.parametrize(
    ("macos", "linux"),
    [
        # template <class T> T* data_ptr() const; of at::TensorBase, for int64_t
        ("_ZNK2at10TensorBase8data_ptrIxEEPT_v", "_ZNK2at10TensorBase8data_ptrIlEEPT_v"),
        # void f(int64_t, uint64_t)
        ("_Z1fxy", "_Z1flm"),
        # An identifier keeps its letters: void xy(int64_t)
        ("_Z2xyx", "_Z2xyl"),
        # int64_t& A::operator[](int64_t)
        ("_ZN1AixEx", "_ZN1AixEl"),
    ],
)
def test_int64_is_long_on_linux(macos: str, linux: str) -> None:
    assert linux in linux_names(macos)


@pytest.mark.parametrize("name", ["_ZN3c105ErrorC2Ev", "_Z1fl", "printf", "_Z"])
def test_other_names_have_none(name: str) -> None:
    assert linux_names(name) == ()


def test_a_broken_name_ends() -> None:
    assert linux_names("_ZN9999xx") == ()
