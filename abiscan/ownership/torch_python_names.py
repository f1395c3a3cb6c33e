"""The first release of torch with a Python name, from `data/torch_python_names.toml`."""

from __future__ import annotations

import functools

from abiscan.data import data_file


@functools.cache
def releases_by_name() -> dict[str, str]:
    """Qualified name -> the first release with it (`2.4`)."""
    import tomllib

    with open(data_file("torch_python_names.toml"), "rb") as file:
        return tomllib.load(file)
