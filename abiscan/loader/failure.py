"""How a load ends that does not succeed."""

from __future__ import annotations

from abiscan.model.loading import LoaderStop, StopKind


class LoadFailure(Exception):  # noqa: N818 - an outcome of the modelled loader, not an error of this program
    """The loader refuses; `str()` is what `dlerror` says."""

    def __init__(self, stop: LoaderStop) -> None:
        self.stop = stop
        super().__init__(stop.message)


class Undecidable(Exception):  # noqa: N818 - see LoadFailure
    """What the loader does depends on something that files do not tell. `str()` is the reason, a sentence."""


def crash(path: str, what: str) -> LoadFailure:
    """The loader dies of a signal; `what` it does then, in words."""
    return LoadFailure(LoaderStop(StopKind.CRASH, path, detail=what))


def failed_assertion(path: str, text: str) -> LoadFailure:
    """The loader aborts with the `text` of one of its assertions."""
    return LoadFailure(LoaderStop(StopKind.ASSERTION, path, detail=text))
