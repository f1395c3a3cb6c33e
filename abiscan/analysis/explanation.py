"""A text -> every subject in it, answered with what is known of the target and this environment."""

from __future__ import annotations

from msgspec.structs import replace

from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.scan_options import ScanOptions
from abiscan.binary import open_binary
from abiscan.errors import UnknownBuild, UnreadableFile
from abiscan.model.facts import SharedObject
from abiscan.model.subject import Subject
from abiscan.setting.choice import FALLBACK_MACHINE, named_release


def explain(text: str, options: ScanOptions, *, needed_by: str | None = None) -> tuple[Subject, ...]:
    """Answer everything that an error message or a log asks.

    Args:
        text: a symbol, an error message, or a whole log.
        needed_by: file name of the shared object whose error it was, where the text does not say.

    Raises:
        UnknownBuild: an unknown `--torch`.
    """
    from abiscan.diagnosis import explain as answer

    context = AnalysisContext(options)
    try:
        context.chosen(FALLBACK_MACHINE)
    except UnknownBuild:
        # A torch that the index does not have is worth an answer all the same: what came before and after it is known.
        target = named_release(options.torch or "")
        if target is None:
            raise
        default = AnalysisContext(replace(options, torch=None)).knowledge(FALLBACK_MACHINE)
        known = replace(default, exports=None, exact=False, target=target)
        return answer(text, known, needed_by, file_facts=_facts_of)
    return answer(text, context.knowledge(FALLBACK_MACHINE), needed_by, file_facts=_facts_of)


def _facts_of(path: str) -> SharedObject | None:
    """The facts of a file that a message names, if it is there and is one."""
    try:
        return open_binary(path).facts()
    except (UnreadableFile, OSError, ValueError):
        return None
