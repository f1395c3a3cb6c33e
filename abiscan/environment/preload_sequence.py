"""The sequence in which `import torch` opens libraries by path, as a value."""

from __future__ import annotations

from msgspec import Struct

# What stands in a pattern for the major version of `torch.version.cuda`.
CUDA_MAJOR = "{cuda}"


class Preload(Struct, frozen=True, array_like=True):
    """A library that is opened by its path.

    Attributes:
        patterns: shell patterns (glob) below a directory of `sys.path`, best first; the first directory that has a
            match for any of them counts. `CUDA_MAJOR` stands in them where a build without CUDA does not look.
        required: finding none ends the sequence with an error.
    """

    patterns: tuple[str, ...]
    required: bool


class Preloads(Struct, frozen=True):
    """The sequence in which a release of torch opens libraries, around `libtorch_global_deps.so`.

    Attributes:
        runtime: what the path of a loaded object must contain for `after` to be opened; None for always.
        after: opened when the global dependencies are loaded. The first failure ends the sequence, and nothing more.
        errors: one of these must be in the message with which the global dependencies fail, for `instead`.
        instead: opened when they failed, before they are tried again. A failure is the end of `import torch`.
    """

    runtime: str | None = None
    after: tuple[Preload, ...] = ()
    errors: tuple[str, ...] = ()
    instead: tuple[Preload, ...] = ()
