"""Outcomes of a load that does not succeed."""

from __future__ import annotations

from abiscan.model.loading import LoaderStop, StopKind


class LoadFailure(Exception):  # noqa: N818 - an outcome of the modelled loader, not an error of this program
    """The loader refuses the file; `str()` is the text of `dlerror`."""

    def __init__(self, stop: LoaderStop) -> None:
        self.stop = stop
        super().__init__(stop.message)


class Undecidable(Exception):  # noqa: N818 - see LoadFailure
    """The loader's action depends on something that is not in any file. `str()` is the reason, as a sentence."""


def crash(path: str, what: str) -> LoadFailure:
    """The loader dies of a signal; `what` describes the fatal action."""
    return LoadFailure(LoaderStop(StopKind.CRASH, path, detail=what))


def failed_assertion(path: str, text: str) -> LoadFailure:
    """An assertion of the loader with this `text` fails."""
    return LoadFailure(LoaderStop(StopKind.ASSERTION, path, detail=text))
