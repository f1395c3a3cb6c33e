"""abiscan as a library: the names of `from abiscan import ...`, which use the environment of this process."""

from __future__ import annotations

import html
import os
import shutil
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from tempfile import TemporaryDirectory
from typing import BinaryIO, cast

from msgspec import field
from msgspec.structs import replace

from abiscan.analysis import scan_options
from abiscan.environment.python import PythonEnvironment, read_environment, user_base
from abiscan.loader import LoaderSettings
from abiscan.model import report as values
from abiscan.model.subject import Subject


def _environment() -> PythonEnvironment | None:
    if not sys.executable:
        return None
    return read_environment(sys.executable, python_path=os.environ.get("PYTHONPATH"), user_base=user_base(os.environ))


def _settings() -> LoaderSettings:
    return LoaderSettings.of(os.environ, os.getcwd())


class ScanOptions(scan_options.ScanOptions, frozen=True, kw_only=True):
    """Options of a scan, by keyword: those of the command. Defaults are the interpreter, the environment variables and
    the working directory of this process."""

    torch: str | None = None
    environment: PythonEnvironment | None = field(default_factory=_environment)
    settings: LoaderSettings = field(default_factory=_settings)


class Report(values.Report, frozen=True):
    """The findings of a scan and its verdict; shown as HTML in a notebook."""

    def render(self, form: str) -> str:
        """Render the report in one of the command's formats: `text`, `json`, `markdown`, `html` and so on.

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
        """Render the page in a frame, since it is a whole document; the frame has no access to the origin, and so the
        session, of the notebook (HTML, "The iframe element": srcdoc, sandbox)."""
        page = html.escape(self.render("html"))
        return (
            f'<iframe title="abiscan" srcdoc="{page}" sandbox="allow-scripts allow-popups allow-downloads" '
            'style="width: 100%; height: 40em; border: 0"></iframe>'
        )


# A path or name, the bytes of a file, or an open binary file.
Target = str | os.PathLike[str] | bytes | BinaryIO


def scan(
    targets: Target | Iterable[Target], options: ScanOptions | None = None, *, require_torch: str | None = None
) -> Report:
    """Check all files of `targets`, without running them or importing torch.

    Reads no configuration file: the verdict is that of the command without one.

    Args:
        targets: one or several shared objects, wheels, archives, directories, sources, or names of installed packages.
            Bytes, and open binary files from their position on, are a shared object or an archive; they are copied to a
            temporary directory. A file's `name` is its name in the report, and that of a wheel has its tags.
        options: None for the defaults.
        require_torch: a range such as `>=2.4,<2.9`; every known build in it must load every file.

    Raises:
        UsageError: a target does not exist, or the range is invalid.
        UnknownBuild: `options.torch` is not a known torch.
    """
    from abiscan.analysis.run import scan as run
    from abiscan.gate.apply import apply
    from abiscan.gate.policy import Policy

    options = options or ScanOptions()
    if require_torch is not None:
        from abiscan.gate.requirements import parse_require_torch

        parse_require_torch(require_torch)
        options = replace(options, matrix=True)
    one = isinstance(targets, (str, os.PathLike, bytes)) or hasattr(targets, "read")
    listed = cast("Iterable[Target]", [targets] if one else targets)
    with ExitStack() as stack:
        display_names: dict[str, str] = {}
        paths = [_path_of(each, stack, display_names) for each in listed]
        found = run(paths, replace(options, display_names={**options.display_names, **display_names}))
    found = apply(found, Policy(require_torch=require_torch))
    return Report(**{name: getattr(found, name) for name in found.__struct_fields__})


def _path_of(target: Target, stack: ExitStack, display_names: dict[str, str]) -> str:
    """The path of a target. Data is copied to a directory that is removed with `stack`."""
    if isinstance(target, (str, os.PathLike)):
        return os.fspath(target)
    name = getattr(target, "name", None)
    shown = name if isinstance(name, str) and os.path.basename(name) else "(bytes)"
    path = os.path.join(stack.enter_context(TemporaryDirectory(prefix="abiscan-")), os.path.basename(shown))
    with open(path, "wb") as copy:
        copy.write(target) if isinstance(target, bytes) else shutil.copyfileobj(target, copy)
    display_names[path] = shown
    return path


def explain(text: str, options: ScanOptions | None = None, *, needed_by: str | None = None) -> tuple[Subject, ...]:
    """Explain a symbol, an error message or every message of a log.

    Args:
        options: None for the defaults.
        needed_by: file name of the shared object with the error, if the text lacks it.

    Raises:
        UnknownBuild: `options.torch` is not a known torch.
    """
    from abiscan.analysis.explanation import explain_text

    return explain_text(text, options or ScanOptions(), needed_by=needed_by).subjects
