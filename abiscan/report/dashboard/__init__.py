"""The page over a registry's tables: one file, nothing from the network, names escaped.

`registry/dashboard_view.py` asks the tables; this writes what it found. As on the page of one report, the browser is
told to run these texts and no others.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any

from abiscan.report.escape import printable

# A page stays readable with names of this length; the title attribute and the SQL have the rest.
_LONGEST = 160


def render(view: dict[str, Any]) -> str:
    """The page.

    Args:
        view: as `registry.dashboard_view.dashboard_view` makes it.
    """
    import jinja2
    import markupsafe

    style, script = _resource("dashboard.css"), _resource("dashboard.js")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {"text": _text, "size": _size, "step": _step, "percent": _percent}
    wheels: dict[str, list[list[str]]] = {}
    for row in view["wheels"]:
        cells = [row["path"].rsplit("/", 1)[-1], row["verdict"], row["cause"] or "", row["fix"] or ""]
        wheels.setdefault(row["package"], []).append([_text(cell) for cell in cells])
    data = json.dumps(wheels, separators=(",", ":")).replace("<", "\\u003c")
    return environment.from_string(_resource("dashboard.html")).render(
        view=view,
        policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; "
        "form-action 'none'",
        # These three are the only texts that go in unescaped: two are this package's own, one is escaped JSON.
        style=markupsafe.Markup(style),
        script=markupsafe.Markup(script),
        data=markupsafe.Markup(data),
    )


def _text(value: object) -> str:
    text = printable(" ".join(str(value).split())) if value is not None else ""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _size(value: float | None) -> str:
    size = float(value or 0)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} TiB"


def _step(share: float) -> int:
    """0 nothing works, 4 all of it does, between them by thirds."""
    return 4 if share >= 1 else 0 if share <= 0 else 1 + min(2, int(share * 3))


def _percent(share: float) -> str:
    """Never 100 or 0 where it is not quite that."""
    return str(round(100 * share)) if share in (0, 1) else str(min(99, max(1, round(100 * share))))


def _resource(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"
