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


def render_text(page: CausePage, style: Style | None = None) -> str:
    """The page as `abiscan explain ID` prints it, ending in a newline."""
    style = style or Style()
    return "\n".join(_text(page, style)) + "\n"


def _text(page: CausePage, style: Style) -> Iterator[str]:
    def prose(text: str, indent: str) -> Iterator[str]:
        yield from wrap_paragraphs(text, style.width, indent)

    yield style.strong(page.id.value)
    yield ""
    yield from prose(page.title_for(), "")
    yield ""
    yield from prose(page.explanation, "")
    yield from ("", style.strong("Detected from"))
    yield from prose(page.detection, "  ")
    yield from ("", style.strong("Confirm it by hand"))
    for check in page.confirm:
        yield from prose(check.text, "  ")
        yield from _commands(check.commands, "    ")
    yield from ("", style.strong("Fix"))
    for remedy in page.fix:
        yield "  " + style.paint(SITUATIONS[remedy.situation], "green bold")
        yield from prose(remedy.text, "    ")
        yield from _commands(remedy.commands, "      ")
    yield from ("", style.strong("Prevention"))
    yield from prose(page.prevention, "  ")
    yield from ("", style.strong("References"))
    yield from (f"  {reference}" for reference in page.references)


def _commands(commands: str, indent: str) -> Iterator[str]:
    return (indent + line for line in commands.splitlines())


def render_markdown(page: CausePage, level: int = 1) -> str:
    """The page as Markdown with a title of this heading level, without a final newline. It contains no text of scanned
    files."""
    return "\n\n".join(_markdown(page, "#" * level))


def _markdown(page: CausePage, mark: str) -> Iterator[str]:
    yield f"{mark} {page.id.value}"
    yield f"**{page.title_for()}**"
    yield page.explanation
    yield f"{mark}# Detected from"
    yield page.detection
    yield f"{mark}# Confirm it by hand"
    for check in page.confirm:
        yield from (check.text, _block(check.commands))
    yield f"{mark}# Fix"
    for remedy in page.fix:
        yield from (f"{mark}## {SITUATIONS[remedy.situation]}", remedy.text)
        if remedy.commands:
            yield _block(remedy.commands)
    yield f"{mark}# Prevention"
    yield page.prevention
    yield f"{mark}# References"
    yield "\n".join(f"- <{reference}>" for reference in page.references)


def _block(commands: str) -> str:
    return f"```sh\n{commands}\n```"
