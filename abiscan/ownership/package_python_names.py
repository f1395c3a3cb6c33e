"""The releases of packages beside torch with a Python name, from `data/package_python_names.toml`."""

from __future__ import annotations

import functools

from abiscan.data import data_file


@functools.cache
def ranges_by_name() -> dict[str, str]:
    """Package and name (`transformers.AdamW`) -> version specifier of the releases with it."""
    import tomllib

    with open(data_file("package_python_names.toml"), "rb") as file:
        return tomllib.load(file)
