"""One self-contained HTML page for the person who decides whether a release ships.

`view.py` turns the report into the few values that the template shows; `page.html` is rendered by Jinja2 with
autoescape; `style.css` and `script.js` are put in as they stand. The page asks the network for nothing and says so to
the browser: its content security policy allows these two texts by their hashes and nothing else, so even a name that
got through as markup could not run.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from abiscan.errors import UsageError
from abiscan.model.report import Report
from abiscan.report.html.view import data_json, page_view


def render(report: Report) -> str:
    """The page.

    Raises:
        UsageError: Jinja2 is not installed.
    """
    try:
        import jinja2
        import markupsafe
    except ImportError:
        raise UsageError("the HTML report needs Jinja2: pip install abiscan") from None
    style, script = _resource("style.css"), _resource("script.js")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )

    def prose(text: str) -> markupsafe.Markup:
        """Words between backticks as code; everything is escaped."""
        pieces = text.split("`")
        if len(pieces) % 2 == 0:
            return markupsafe.escape(text)
        wrapped = (
            markupsafe.Markup("<code>{}</code>").format(piece) if odd else markupsafe.escape(piece)
            for piece, odd in zip(pieces, (number % 2 for number in range(len(pieces))), strict=True)
        )
        return markupsafe.Markup("").join(wrapped)

    environment.filters["prose"] = prose
    view = page_view(report)
    return environment.from_string(_resource("page.html")).render(
        view=view,
        policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        # These three are the only texts that go in unescaped: two are this package's own, one is escaped JSON.
        style=markupsafe.Markup(style),
        script=markupsafe.Markup(script),
        data=markupsafe.Markup(data_json(report, view)),
    )


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") + "'"
