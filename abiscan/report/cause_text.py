"""The page of one cause, as text for a terminal and as Markdown for SARIF and the documentation."""

from __future__ import annotations

from collections.abc import Iterator

from abiscan.model.cause_page import CausePage, Situation
from abiscan.report.style import Style, wrap_paragraphs

SITUATIONS = {
    Situation.WHEEL: "Prebuilt wheel",
    Situation.SOURCE: "Built from source",
    Situation.CONDA: "conda environment",
    Situation.CONTAINER: "Container image",
    Situation.BINARY: "Only the binary is available",
}


# Title of a section -> (subtitle, text, commands) of its parts; a subtitle may be empty.
_Sections = dict[str, list[tuple[str, str, str]]]


def _sections(page: CausePage) -> _Sections:
    return {
        "Detected from": [("", page.detection, "")],
        "Confirm it by hand": [("", check.text, check.commands) for check in page.confirm],
        "Fix": [(SITUATIONS[remedy.situation], remedy.text, remedy.commands) for remedy in page.fix],
        "Prevention": [("", page.prevention, "")],
    }


def render_text(page: CausePage, style: Style) -> str:
    """The page as `abiscan explain ID` prints it, ending in a newline."""
    return "\n".join(_text(page, style)) + "\n"


def _text(page: CausePage, style: Style) -> Iterator[str]:
    yield from (style.strong(page.id.value), "", *wrap_paragraphs(page.title_for(), style.width), "")
    yield from wrap_paragraphs(page.explanation, style.width)
    for title, parts in _sections(page).items():
        yield from ("", style.strong(title))
        for subtitle, text, commands in parts:
            indent = "    " if subtitle else "  "
            if subtitle:
                yield "  " + style.paint(subtitle, "green bold")
            yield from wrap_paragraphs(text, style.width, indent)
            yield from (f"{indent}  {line}" for line in commands.splitlines())
    yield from ("", style.strong("References"), *(f"  {reference}" for reference in page.references))


def render_markdown(page: CausePage, level: int = 1) -> str:
    """The page as Markdown with a title of this heading level, without a final newline. It contains no text of scanned
    files."""
    return "\n\n".join(_markdown(page, "#" * level))


def _markdown(page: CausePage, mark: str) -> Iterator[str]:
    yield from (f"{mark} {page.id.value}", f"**{page.title_for()}**", page.explanation)
    for title, parts in _sections(page).items():
        yield f"{mark}# {title}"
        for subtitle, text, commands in parts:
            yield from ([f"{mark}## {subtitle}"] if subtitle else [])
            yield text
            yield from ([f"```sh\n{commands}\n```"] if commands else [])
    yield f"{mark}# References"
    yield "\n".join(f"- <{reference}>" for reference in page.references)
