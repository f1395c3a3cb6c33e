"""The libraries that `import torch` opens by path, as a value."""

# Annotations are not postponed: msgspec would compile each of them before it reads the first value.
from msgspec import Struct

# Placeholder in a pattern for the major version of `torch.version.cuda`.
CUDA_MAJOR = "{cuda}"


class Preload(Struct, frozen=True, array_like=True):
    """A library that is opened by its path.

    Attributes:
        patterns: shell patterns (glob) below a directory of `sys.path`, best first; the first directory that matches
            any of them is used. Patterns with `CUDA_MAJOR` are skipped by builds without CUDA.
        required: whether finding none ends the sequence with an error.
    """

    patterns: tuple[str, ...]
    required: bool


class Preloads(Struct, frozen=True):
    """The libraries that a release of torch opens around `libtorch_global_deps.so`.

    Attributes:
        runtime: text that the path of a loaded object must contain for `after` to be opened; None for always.
        after: opened after the global dependencies were loaded. The first failure ends the sequence without an error.
        errors: `instead` is opened if the error of the global dependencies contains one of these.
        instead: opened after that error, before the global dependencies are tried again. A failure ends `import torch`.
    """

    runtime: str | None = None
    after: tuple[Preload, ...] = ()
    errors: tuple[str, ...] = ()
    instead: tuple[Preload, ...] = ()


class PreloadTable(Struct, frozen=True):
    """The libraries that each release opens.

    Attributes:
        rows: releases, oldest first, each with the sequence that applies until the next.
        sources: size and CRC-32 of a release's `torch/__init__.py` (`132911-7f3a90c1`) -> the release of its row.
    """

    rows: tuple[tuple[str, Preloads], ...]
    sources: dict[str, str]
