"""The command line: the only module that prints, reads the environment or exits.

Exit status: 0 pass; 1 the gate failed; 2 usage; 3 incomplete (something could not be read or decided, nothing failed).
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from abiscan import __version__
from abiscan.data import data_file
from abiscan.errors import AbiscanError, UsageError

if TYPE_CHECKING:
    import datetime
    from pathlib import Path

    from abiscan.analysis.context import ScanOptions
    from abiscan.environment.python import PythonEnvironment
    from abiscan.gate.policy import Policy
    from abiscan.model.report import Report
    from abiscan.report.style import Style

PASS, FAIL, USAGE, INCOMPLETE = 0, 1, 2, 3

_EXAMPLES = """\b
Examples:
  abiscan build/lib.so                         will it load on the installed torch, and if not, why
  abiscan dist/*.whl --require-torch '>=2.6'   may this wheel ship: exit 1 if a release breaks it
  abiscan --torch 2.4.1 --matrix lib.so        against a release that is not installed; against all
  abiscan explain < build.log                  every symbol error in a log, with its cause and a fix
"""


class _ScanByDefault(click.Group):
    """`abiscan TARGET...` is `abiscan scan TARGET...`: a first word that is no command goes to `scan` with the rest."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {"--help", "-h", "--version"}
        if args and args[0] not in self.commands and args[0] not in own:
            args = ["scan", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=_ScanByDefault,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_EXAMPLES,
    no_args_is_help=True,
)
@click.version_option(__version__, prog_name="abiscan")
def cli() -> None:
    """Symbol and ABI forensics for PyTorch extension binaries.

    `abiscan TARGET...` reads shared objects, wheels, directories or installed packages, without importing torch and
    without running a byte of them, and says whether they load, why not, and what to do.
    """


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its status."""
    # A run makes tens of thousands of values that live to its end and next to no cycles: collecting every 700
    # allocations, as is the default, takes a tenth of the time and finds nothing.
    gc.set_threshold(50_000)
    try:
        status = cli.main(args=list(args) if args is not None else None, prog_name="abiscan", standalone_mode=False)
    except click.exceptions.Exit as stop:
        status = stop.exit_code
    except click.ClickException as error:
        error.show()
        status = USAGE
    except click.Abort:
        click.echo("abiscan: interrupted", err=True)
        status = 130
    except UsageError as error:
        click.echo(f"abiscan: error: {_safe(str(error))}", err=True)
        status = USAGE
    except AbiscanError as error:
        click.echo(f"abiscan: error: {_safe(str(error))}", err=True)
        status = INCOMPLETE
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            where = f"{_safe(str(error.filename))}: " if error.filename else "the report could not be written: "
            click.echo(f"abiscan: error: {where}{(error.strerror or str(error)).lower()}", err=True)
            sys.exit(INCOMPLETE)
        # The reader went away (`| head`). Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = PASS
    sys.exit(status if isinstance(status, int) else PASS)


def run() -> NoReturn:
    """The console command: `main`, then out of the process without taking it apart.

    Freeing every module and value one by one takes a tenth of the run and changes nothing: files are only read,
    output is flushed here, and pools are closed where they are used.
    """
    try:
        main()
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else FAIL
        with contextlib.suppress(OSError):  # told already, or there is nobody to tell
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


# --- scan -------------------------------------------------------------------------------------------------------


@cli.command(epilog=_EXAMPLES)
@click.argument("targets", nargs=-1, metavar="TARGET...")
@click.option("-r", "--targets-from", "lists", multiple=True, metavar="FILE", help="More targets, one a line.")
@click.option("--torch", metavar="SPEC", help="Resolve against: installed, a release (2.6.0, 2.6.0+cu124), or a path.")
@click.option("--python", metavar="PATH", help="Whose environment to look at: an interpreter or a virtual environment.")
@click.option("--matrix", is_flag=True, help="Also judge every known torch build of the file's architecture.")
@click.option("--source", "sources", multiple=True, metavar="DIR", help="Find the flagged calls in these sources.")
@click.option(
    "-f",
    "--format",
    "formats",
    multiple=True,
    metavar="NAME[:FILE]",
    help="text, json, ndjson, sarif, junit, github, markdown, html; repeatable.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "note", "never"]),
    help="Lowest severity that fails the run (default: error).",
)
@click.option("--baseline", metavar="FILE", help="Accept what this file lists; only what is new fails.")
@click.option("--write-baseline", metavar="FILE", help="Write what is found now as the baseline, and pass.")
@click.option("--no-stale", is_flag=True, help="Let baseline entries pass that match nothing any more.")
@click.option("--require-torch", metavar="SPEC", help="Every build in this range must load the file ('>=2.4,<2.9').")
@click.option(
    "--require-stable-abi",
    metavar="VERSION",
    is_flag=False,
    flag_value="any",
    help="Only torch's stable C ABI may be imported (of at most this release).",
)
@click.option("--config", metavar="FILE", help="Default: [tool.abiscan] in pyproject.toml, or abiscan.toml, upward.")
@click.option("--hash", "hashes", is_flag=True, help="sha256 of every file in the report (reads all of it).")
@click.option("-j", "--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Processes (default: 1).")
@click.option("-q", "--quiet", is_flag=True, help="Only what fails.")
@click.option("-v", "--verbose", is_flag=True, help="All imports, all symbols, all releases.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Default: auto.")
@click.pass_context
def scan(ctx: click.Context, /, **given: object) -> None:
    """Say whether TARGET... load, why not, and what to do.

    TARGET is a shared object (any name), a wheel or archive, a directory, a source file or tree, or the name of an
    installed package.
    """
    ctx.exit(_scan(given))


def _scan(given: dict[str, object]) -> int:
    from abiscan.gate.apply import apply
    from abiscan.targets import read_target_list

    cwd = os.getcwd()
    targets = [*_strings(given["targets"])]
    for name in _strings(given["lists"]):
        targets += read_target_list(name, cwd=cwd)
    if not targets:
        raise UsageError("name at least one shared object, wheel, directory or package (see abiscan scan --help)")
    policy = _policy(given)
    baseline = None
    if given["write_baseline"] is None and policy.baseline is not None:
        from abiscan.gate.baseline import read_baseline

        baseline = read_baseline(_read_baseline(policy.baseline), policy.baseline)
    outputs = _outputs(_strings(given["formats"]))
    options = _scan_options(given, matrix=policy.require_torch is not None, within=policy.require_torch)
    report = apply(_run_scan(targets, options), policy, baseline, _today() if policy.ignores else None)
    target = _text_option(given["write_baseline"])
    if target is not None:
        from abiscan.gate.baseline import write_baseline

        _write(target, write_baseline(report))
        click.echo(f"abiscan: wrote the baseline {target}", err=True)
    style = _style(given, sys.stdout)
    for name, path in outputs:
        _emit(report, name, path, style)
    if not given["quiet"]:
        from abiscan.report.text import summary_line

        click.echo(f"abiscan: {summary_line(report, _style(given, sys.stderr))}", err=True, color=True)
    if target is not None:
        return PASS
    return _status(report)


def _run_scan(targets: Sequence[str], options: ScanOptions) -> Report:
    if options.jobs > 1:
        from abiscan.analysis.executors import scan_in_parallel

        return scan_in_parallel(targets, options)
    from abiscan.analysis.run import scan as scan_here

    return scan_here(targets, options)


def _status(report: Report) -> int:
    from abiscan.model.report import Verdict

    return {Verdict.PASS: PASS, Verdict.FAIL: FAIL, Verdict.INCOMPLETE: INCOMPLETE}[report.verdict]


# --- explain, rules, releases, schema ---------------------------------------------------------------------------


@cli.command()
@click.argument("text", nargs=-1, metavar="[TEXT|-|FILE]")
@click.option("--torch", metavar="SPEC", help="The torch that was there: installed, a release, or a path.")
@click.option("--python", metavar="PATH", help="Whose environment to look at.")
@click.option("--needed-by", metavar="FILENAME", help="Whose error it was (the shared object's name).")
@click.option("-f", "--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("-v", "--verbose", is_flag=True, help="All causes, all evidence.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto")
def explain(**given: object) -> None:
    """Explain a symbol, an error message, or every error in a log (file, argument or standard input)."""
    from abiscan.analysis.run import explain as run_explain
    from abiscan.report import explain_text, explain_v1

    text = _explain_text(_strings(given["text"]))
    subjects = run_explain(text, _scan_options(given), needed_by=_text_option(given["needed_by"]))
    if given["form"] == "json":
        click.echo(explain_v1.render(subjects), nl=False)
    else:
        click.echo(explain_text.render(subjects, _style(given, sys.stdout)), nl=False, color=True)
    if not subjects:
        click.echo(
            "abiscan: no symbol and no error that abiscan knows is in the text: pass the mangled name, the ImportError "
            "line, or the whole log",
            err=True,
        )
        sys.exit(INCOMPLETE)


def _explain_text(words: Sequence[str]) -> str:
    limit = 64 << 20
    if list(words) == ["-"] or not words:
        if not words and sys.stdin.isatty():
            raise UsageError("name a symbol, an error message or a file, or pipe a log into abiscan explain")
        return sys.stdin.buffer.read(limit).decode("utf-8", "replace")
    if len(words) == 1 and len(words[0]) < 4096 and "\n" not in words[0] and os.path.isfile(words[0]):
        with open(words[0], "rb") as file:
            head = file.read(4)
            if head == b"\x7fELF":
                raise UsageError(f"{words[0]}: a shared object, not a log: abiscan {words[0]}")
            return (head + file.read(limit)).decode("utf-8", "replace")
    return " ".join(words)


@cli.command()
@click.argument("rule", required=False, metavar="[ID]")
@click.option("-f", "--format", "form", type=click.Choice(["text", "json"]), default="text")
def rules(rule: str | None, form: str) -> None:
    """List the rules; with ID, one rule in full."""
    from abiscan.report import rules_text
    from abiscan.rules import rule_infos

    infos = rule_infos()
    if rule is not None:
        infos = tuple(info for info in infos if info.id == rule)
        if not infos:
            import difflib

            known = [info.id for info in rule_infos()]
            near = difflib.get_close_matches(rule, known, n=1)
            raise UsageError(f"no rule {rule!r}" + (f"; did you mean {near[0]}?" if near else "; see abiscan rules"))
    width = _style({"color": "auto"}, sys.stdout).width
    click.echo(rules_text.render(infos, in_full=rule is not None, as_json=form == "json", width=width), nl=False)


@cli.command()
@click.argument("action", required=False, type=click.Choice(["add"]))
@click.argument("sources", nargs=-1, metavar="[VERSION|WHEEL|DIR]...")
@click.option("-f", "--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("--machine", type=click.Choice(["x86_64", "aarch64"]), help="Architecture of a fetched wheel.")
def releases(action: str | None, sources: tuple[str, ...], form: str, machine: str | None) -> None:
    """List the torch builds that abiscan knows; `releases add` adds one to the user's own index."""
    from pathlib import Path

    from msgspec.structs import fields

    from abiscan.model.release import KnownBuild
    from abiscan.releases import open_index
    from abiscan.report import releases_text

    directory = Path(_index_directory())
    if action is None:
        builds = [
            KnownBuild(**{f.name: getattr(build, f.name) for f in fields(KnownBuild)})
            for build in open_index(directory).builds()
        ]
        click.echo(releases_text.render(builds, as_json=form == "json"), nl=False)
        return
    if not sources:
        raise UsageError("abiscan releases add needs a version, a wheel or a directory")
    for source in sources:
        click.echo(f"added {_add_release(source, directory, machine)} to {directory}")


def _add_release(source: str, directory: Path, machine: str | None) -> str:
    import tempfile
    from pathlib import Path

    from abiscan.releases.add import add_build, download

    show = _progress() or (lambda line: None)
    path = Path(source)
    if path.exists():
        added = add_build(path, directory, show)
    elif os.sep in source or source.endswith(".whl"):
        raise UsageError(f"{source}: no such wheel or directory")
    else:
        with tempfile.TemporaryDirectory(prefix="abiscan-") as folder:
            wheel = download(source, machine or os.uname().machine, Path(folder), quiet=_progress() is None)
            added = add_build(wheel, directory, show)
    show("")
    return added.key


@cli.command()
def schema() -> None:
    """Print the JSON schema of the report; `$defs/explain` in it is that of `explain -f json`."""
    with open(data_file("report-v1.schema.json"), encoding="utf-8") as file:
        click.echo(file.read(), nl=False)


# --- what the environment says ----------------------------------------------------------------------------------


def _scan_options(given: dict[str, object], *, matrix: bool = False, within: str | None = None) -> ScanOptions:
    from abiscan.analysis.context import ScanOptions
    from abiscan.loader import LoaderSettings

    return ScanOptions(
        torch=_text_option(given.get("torch")),
        environment=_environment(_text_option(given.get("python"))),
        settings=LoaderSettings.of(os.environ, os.getcwd()),
        matrix=bool(given.get("matrix")) or matrix,
        sources=tuple(_strings(given.get("sources") or ())),
        hashes=bool(given.get("hashes")),
        jobs=int(str(given.get("jobs") or 1)),
        user_index=_index_directory(),
        within=within,
        cache=_cache_directory(),
        progress=None if given.get("quiet") else _progress(),
    )


def _environment(python: str | None) -> PythonEnvironment | None:
    """The environment of --python, else the active virtual environment, else that of this interpreter."""
    from abiscan.environment.python import read_environment

    python_path = os.environ.get("PYTHONPATH")
    user_base = None if os.environ.get("PYTHONNOUSERSITE") else os.path.expanduser("~/.local")
    if python is not None:
        return read_environment(python, python_path=python_path, user_base=user_base)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        active = os.environ.get(variable)
        if active and os.path.isdir(active):
            try:
                return read_environment(active, python_path=python_path, user_base=user_base)
            except UsageError:
                continue  # a stale variable of a removed environment: this interpreter's serves
    return read_environment(sys.executable, python_path=python_path, user_base=user_base) if sys.executable else None


def _index_directory() -> str:
    """Where the user's own release index lies (XDG base directory specification)."""
    base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(base, "abiscan", "releases")


def _cache_directory() -> str:
    """Where what was read from a torch wheel is kept (XDG base directory specification)."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "abiscan", "wheels")


def _today() -> datetime.date:
    import datetime

    return datetime.datetime.now(tz=datetime.UTC).date()


def _style(given: dict[str, object], stream: object) -> Style:
    from abiscan.report.style import Style

    terminal = bool(getattr(stream, "isatty", lambda: False)())
    color = {"always": True, "never": False}.get(str(given.get("color")))
    if color is None:
        color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = None
    if terminal:
        import shutil

        # Prose wider than this is hard to read, however wide the window.
        width = min(shutil.get_terminal_size().columns, 120)
    return Style(width=width, color=color, verbose=bool(given.get("verbose")), quiet=bool(given.get("quiet")))


def _progress() -> Callable[[str], None] | None:
    """Progress on a terminal, none in CI or a pipe. An empty text clears the line."""
    if not sys.stderr.isatty() or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return None

    def show(text: str) -> None:
        import shutil

        width = shutil.get_terminal_size().columns - 1
        click.echo("\r\x1b[K" + _safe(text)[:width], nl=False, err=True, color=True)

    return show


# --- output -----------------------------------------------------------------------------------------------------


def _outputs(given: Sequence[str]) -> list[tuple[str, str | None]]:
    """(format, file) pairs.

    Raises:
        UsageError: an unknown format, or two for standard output.
    """
    from abiscan.report import FORMATS

    outputs: list[tuple[str, str | None]] = []
    for item in given or ("text",):
        name, _, path = item.partition(":")
        if name not in FORMATS:
            import difflib

            near = difflib.get_close_matches(name, list(FORMATS), n=1)
            raise UsageError(
                f"no format {name!r}; " + (f"did you mean {near[0]}?" if near else f"known: {', '.join(FORMATS)}")
            )
        outputs.append((name, path or None))
    if sum(path is None for _, path in outputs) > 1:
        raise UsageError("two formats for standard output: give all but one a file (-f sarif:report.sarif)")
    return outputs


def _emit(report: Report, name: str, path: str | None, style: Style) -> None:
    from abiscan import report as formats
    from abiscan.report import text

    if name == "text":
        from msgspec.structs import replace

        rendered = text.render(report, style if path is None else replace(style, width=None, color=False))
    else:
        rendered = formats.render(name, report)
    if path is None:
        # Bytes: a terminal's encoding must not decide whether a report can be written.
        sys.stdout.flush()
        sys.stdout.buffer.write(rendered.encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()
    else:
        _write(path, rendered)


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from error


def _read_baseline(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        raise UsageError(f"{path}: no such baseline; make it with --write-baseline {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: the baseline cannot be read: {error}") from error


def _policy(given: dict[str, object]) -> Policy:
    """The configuration file's policy with the command line's options over it."""
    from msgspec.structs import replace

    from abiscan.gate.policy import Policy

    policy = Policy()
    named = _text_option(given["config"])
    if named is not None or _may_be_configured():
        policy = _configured(named)
    if given["fail_on"] is not None:
        from abiscan.gate.config import parse_fail_on

        policy = replace(policy, fail_on=parse_fail_on(str(given["fail_on"])))
    if given["baseline"] is not None:
        policy = replace(policy, baseline=str(given["baseline"]))
    if given["no_stale"]:
        policy = replace(policy, allow_stale=True)
    if given["require_torch"] is not None:
        from abiscan.gate.requirements import parse_require_torch

        parse_require_torch(str(given["require_torch"]))
        policy = replace(policy, require_torch=str(given["require_torch"]))
    if given["require_stable_abi"] is not None:
        version = str(given["require_stable_abi"])
        if version != "any":
            from abiscan.gate.requirements import parse_stable_abi

            parse_stable_abi(version)
        policy = replace(policy, require_stable_abi=True, stable_abi_version=None if version == "any" else version)
    return policy


def _may_be_configured() -> bool:
    """Whether a file that could hold a configuration lies upward; reading it is `gate.config`'s affair."""
    directory = os.getcwd()
    while True:
        if any(os.path.isfile(os.path.join(directory, name)) for name in ("abiscan.toml", "pyproject.toml")):
            return True
        parent = os.path.dirname(directory)
        if parent == directory:
            return False
        directory = parent


def _configured(named: str | None) -> Policy:
    from pathlib import Path

    from msgspec.structs import replace

    from abiscan.gate.config import find_config, load_config
    from abiscan.gate.policy import Policy
    from abiscan.gate.requirements import GATE_RULES
    from abiscan.rules import rule_infos

    path = Path(named) if named is not None else find_config(Path.cwd())
    if path is None:
        return Policy()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: the configuration cannot be read: {error}") from error
    policy = load_config(text, str(path), {info.id for info in (*rule_infos(), *GATE_RULES)})
    return policy if policy.baseline is None else replace(policy, baseline=str(path.parent / policy.baseline))


def _strings(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, (tuple, list)) else ()


def _text_option(value: object) -> str | None:
    return None if value is None else str(value)


def _safe(text: str) -> str:
    from abiscan.report.escape import printable

    return printable(text)
