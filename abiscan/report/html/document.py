"""Self-contained pages: a template of this folder with style sheet, script and data.

The page makes no network requests. Its content security policy allows only these two texts by hash, so markup in a name
could not run even if it were not escaped. The data are compressed: names repeat in every file of a run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Sequence
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING

from abiscan.errors import require_modules
from abiscan.report.cause_text import SITUATIONS
from abiscan.report.escape import printable, printable_lines
from abiscan.report.markdown_table import read_table

if TYPE_CHECKING:
    from markupsafe import Markup


def document(
    template: str, data: object, *, folder: str = __package__, script: str = "script.js", **values: object
) -> str:
    """Render a page.

    Args:
        template: name of one that extends `frame.html`.
        folder: package of the template and script; a file `more.css` there follows the styles.
        data: value for the script: JSON with printable texts, compressed (RFC 1950), in base64.
        values: variables of the template, which escapes them.

    Raises:
        UsageError: Jinja2 is not installed.
    """
    require_modules("the HTML report needs Jinja2: pip install abiscan", "jinja2")
    import jinja2
    import markupsafe

    resource = partial(_read_resource, tuple(dict.fromkeys((folder, __package__))))
    styles = (resource("style.css") or "") + (resource("more.css") or "")
    scripts = (resource("page.js") or "") + (resource(script) or "")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(resource),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        # Names of files control nothing; markup of macros and filters stays as it is.
        finalize=lambda value: printable(value) if type(value) is str else value,
    )

    environment.filters["prose"] = lambda text: _prose(printable(text))
    environment.filters["prose_lines"] = lambda text: _prose(printable_lines(text))
    environment.filters["lines"] = lambda text: markupsafe.escape(printable_lines(text))
    environment.filters["table"] = read_table
    # Macros see only globals.
    environment.globals["situations"] = SITUATIONS
    return environment.get_template(template).render(
        **values,
        policy=f"default-src 'none'; style-src {_hash(styles)}; script-src {_hash(scripts)}; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        # Only these three texts are not escaped: two belong to this package, one is base64.
        style=markupsafe.Markup(styles),
        script=markupsafe.Markup(scripts),
        data=markupsafe.Markup(_packed(data)),
    )


def _read_resource(folders: Sequence[str], name: str) -> str | None:
    """The text of a file in the first of the packages that has it."""
    for package in folders:
        file = resources.files(package).joinpath(name)
        if file.is_file():
            text = file.read_text(encoding="utf-8")
            # Indentation would be a tenth of a large page. What a `pre` shows comes from values.
            return re.sub(r"(?m)^[ \t]+", "", text) if name.endswith(".html") else text
    return None


def _prose(text: str) -> Markup:
    """Printable text with code in backticks; everything is escaped."""
    from markupsafe import Markup, escape

    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if number % 2 else escape(piece) for number, piece in enumerate(pieces)
    )


def _packed(value: object) -> str:
    text = json.dumps(_printable(value), separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("ascii"), 9)).decode("ascii")


def _printable(value: object) -> object:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {_printable(key): _printable(item) for key, item in value.items()}
    return [_printable(item) for item in value] if isinstance(value, list | tuple) else value


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") + "'"
