"""Where Python loads an extension from, by its path: `pip install` does not replace every copy.

setuptools leaves a module in the source tree after `build_ext --inplace`, `develop` and `pip install -e`, and one in
build/lib after `build` (https://setuptools.pypa.io/en/latest/userguide/development_mode.html). Modules of
torch.utils.cpp_extension.load are in a folder torch_extensions, whatever the torch
(https://docs.pytorch.org/docs/stable/cpp_extension.html); Megatron-LM before 2023 has a folder of its own for them
(megatron/fused_kernels/__init__.py)."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

# Compiled at their first use: a scan reads the path of few files.
_FIRST_USE: Final = (
    r"(?a)(?!.*[/\\](?:site|dist)-packages[/\\]).*[/\\](?:torch_extensions|torchinductor_\w{1,64}|\.triton|fused_kernels[/\\]build|\.cache[/\\](?!Python-Eggs|pip|uv|huggingface)[\w.-]{1,64})"
    r"[/\\](?:.*[/\\])?"
)
_BUILT: Final = r"(?a)(?P<tree>.{1,512}?)[/\\]build[/\\](?P<folder>lib(?:\.[\w.-]{1,64})?)[/\\]"
# Absolute, or from a folder of the user: other paths may be cut off.
_WHOLE: Final = r"[/~]|\.{1,2}[/\\]|[A-Za-z]:[/\\]"
_MODULE: Final = r"(?a)\.(?:cpython-\d{2,3}[\w-]{0,64}|abi3|\*)\.so$|\.pyd$"
_INSTALLED: Final = (
    r"(?a)(?:site|dist)-packages|\.egg|Python-Eggs|[/\\][Ll]ib(?:64)?[/\\]python\d|^/(?:usr|opt|data/app)/"
)


class SourceTree(Struct, frozen=True):
    """A source tree that a module is loaded from.

    Attributes:
        folder: of the tree if the path shows it; empty otherwise.
        build: the folder in it that has the module: `build/lib`; empty for one beside its sources.
    """

    folder: str = ""
    build: str = ""


def folder_of_first_use(path: str) -> str | None:
    """The folder of a module that a process compiled at its first use; None for other files."""
    found = re.match(_FIRST_USE, path)
    return None if found is None else found[0].rstrip("/\\")


def source_tree_of(path: str) -> SourceTree | None:
    """The source tree that a module is loaded from; None for other files, or if its path does not show it."""
    is_module = re.match(_WHOLE, path) is not None and re.search(_MODULE, path) is not None
    if not is_module or re.search(_INSTALLED, path) is not None:
        return None
    found = re.match(_BUILT, path)
    return SourceTree() if found is None else SourceTree(found["tree"], f"build/{found['folder']}")
