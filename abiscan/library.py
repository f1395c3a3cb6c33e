"""abiscan for other programs: what `from abiscan import ...` gives, with this process as the machine that counts."""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Iterable

from msgspec import field
from msgspec.structs import replace

from abiscan.analysis import scan_options
from abiscan.environment.python import PythonEnvironment, read_environment
from abiscan.loader import LoaderSettings
from abiscan.model import report as values
from abiscan.model.subject import Subject


def _environment() -> PythonEnvironment | None:
    if not sys.executable:
        return None
    user_base = None if os.environ.get("PYTHONNOUSERSITE") else os.path.expanduser("~/.local")
    return read_environment(sys.executable, python_path=os.environ.get("PYTHONPATH"), user_base=user_base)


def _settings() -> LoaderSettings:
    return LoaderSettings.of(os.environ, os.getcwd())


class ScanOptions(scan_options.ScanOptions, frozen=True, kw_only=True):
    """What a scan is to look at, every field by its name: those of the command's options, for the interpreter, the
    environment variables and the working directory of this process."""

    torch: str | None = None
    environment: PythonEnvironment | None = field(default_factory=_environment)
    settings: LoaderSettings = field(default_factory=_settings)


class Report(values.Report, frozen=True):
    """What a scan found, and its verdict; as HTML in a notebook."""

    def render(self, form: str) -> str:
        """The report in one of the command's formats: `text`, `json`, `markdown`, `html` and so on.

        Raises:
            UsageError: there is no such format.
        """
        from abiscan.report import page, render

        if form == "html":
            from abiscan.compare.run_summary import find_run_compatibility

            return page(self, find_run_compatibility(self))
        return render(form, self)

    def __repr__(self) -> str:
        from abiscan.report.text import summary_line

        return f"<abiscan.Report {summary_line(self)}>"

    def _repr_html_(self) -> str:
        """The page in a frame of its own, since it is a whole document; without the origin, and so the session, of the
        notebook around it (HTML, "The iframe element": srcdoc, sandbox)."""
        page = html.escape(self.render("html"))
        return (
            f'<iframe title="abiscan" srcdoc="{page}" sandbox="allow-scripts allow-popups allow-downloads" '
            'style="width: 100%; height: 40em; border: 0"></iframe>'
        )


def scan(
    targets: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    options: ScanOptions | None = None,
    *,
    require_torch: str | None = None,
) -> Report:
    """Look at everything that `targets` name; nothing of it is run, and torch is not imported.

    No configuration file is read: the verdict is that of the command without one.

    Args:
        targets: shared objects, wheels, archives, directories, sources, or names of installed packages; one or several.
        options: None for the defaults.
        require_torch: a range such as `>=2.4,<2.9`, every known build of which must load every file.

    Raises:
        UsageError: a target does not exist, or the range is none.
        UnknownBuild: `options.torch` names no torch.
    """
    from abiscan.analysis.run import scan as run
    from abiscan.gate.apply import apply
    from abiscan.gate.policy import Policy

    options = options or ScanOptions()
    if require_torch is not None:
        from abiscan.gate.requirements import parse_require_torch

        parse_require_torch(require_torch)
        options = replace(options, matrix=True)
    names = [targets] if isinstance(targets, (str, os.PathLike)) else targets
    found = apply(run([os.fspath(name) for name in names], options), Policy(require_torch=require_torch))
    return Report(**{name: getattr(found, name) for name in found.__struct_fields__})


def explain(text: str, options: ScanOptions | None = None, *, needed_by: str | None = None) -> tuple[Subject, ...]:
    """Answer everything that a symbol, an error message or a whole log asks.

    Args:
        options: None for the defaults.
        needed_by: file name of the shared object whose error it was, where the text does not say.

    Raises:
        UnknownBuild: `options.torch` names no torch.
    """
    from abiscan.analysis.explanation import explain as run

    return run(text, options or ScanOptions(), needed_by=needed_by)
