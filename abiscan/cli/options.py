"""Reads the options of the command line, environment variables and the configuration file."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from abiscan.cli.output import progress
from abiscan.errors import UsageError, nearest
from abiscan.filesystem import HERE, FileSystem, why_not_own
from abiscan.model.limits import MAX_SITES

# Directories of the interpreter in an image: the usual PATH, then those that images of conda and others put first.
_USUAL_PLACES = ("/usr/local/bin", "/usr/bin", "/bin", "/opt/conda/bin", "/opt/venv/bin")
# site.USER_BASE of root, the usual user of an image. The variables of this process do not apply to an image.
_ROOTS_USER_BASE = "/root/.local"

if TYPE_CHECKING:
    import datetime
    from collections.abc import Mapping, Sequence

    from abiscan.analysis.scan_options import ScanOptions
    from abiscan.cli.command_line import CommandLine
    from abiscan.environment.python import PythonEnvironment
    from abiscan.gate.policy import Policy
    from abiscan.model.target import TargetPart


def scan_options(
    line: CommandLine,
    files: FileSystem = HERE,
    *,
    matrix: bool = False,
    operators: bool = True,
    import_details: bool = True,
    sites: int = MAX_SITES,
    display_names: Mapping[str, str] | None = None,
) -> ScanOptions:
    from abiscan.analysis.scan_options import ScanOptions
    from abiscan.loader import LoaderSettings

    torch, python = line.torch, line.python
    if files.root:
        torch, python = (None if each is None else files.inside(each, os.getcwd()) for each in (torch, python))
        environment, settings = environment_in(files, python), LoaderSettings(cwd="/", files=files)
    else:
        environment, settings = environment_of(python), LoaderSettings.of(os.environ, os.getcwd())
    return ScanOptions(
        torch=torch,
        environment=environment,
        settings=settings,
        matrix=line.matrix or matrix,
        sources=line.source,
        hashes=line.hash,
        user_index=index_directory(),
        cache=cache_directory(),
        python_named=line.python is not None,
        gpus=gpus_of(line.gpu),
        driver=driver_of(line),
        progress=None if line.quiet else progress(),
        display_names=display_names or {},
        operators=operators,
        import_details=import_details,
        sites=sites,
        timings={} if line.timings else None,
    )


def file_system(root: str | None) -> FileSystem:
    """The file system of --root, else of this machine.

    Raises:
        UsageError: it is not a directory.
    """
    if root is None:
        return HERE
    if not os.path.isdir(root):
        raise UsageError(f"--root {root}: " + ("not a directory" if os.path.exists(root) else "no such directory"))
    real = os.path.realpath(root)
    return HERE if real == "/" else FileSystem(real, root)


def environment_in(files: FileSystem, python: str | None) -> PythonEnvironment | None:
    """The environment of --python below another root, else of the first interpreter in the usual directories. Variables
    and user of this process do not apply there."""
    from abiscan.environment.python import read_environment

    if python is not None:
        return read_environment(os.path.join("/", python), user_base=_ROOTS_USER_BASE, files=files)
    for directory in _USUAL_PLACES:
        for name in ("python3", "python"):
            path = os.path.join(directory, name)
            if files.is_file(path):
                try:
                    return read_environment(path, user_base=_ROOTS_USER_BASE, files=files)
                except UsageError:
                    continue  # a script that starts an interpreter: it would have to be run
    return None


def gpus_of(given: Sequence[str]) -> tuple[TargetPart, ...]:
    """The GPUs of `--gpu`, without duplicates.

    Raises:
        UsageError: an unknown GPU, or `here` on a machine without one.
    """
    if not given:
        return ()
    from abiscan.environment.gpus_here import gpus_here
    from abiscan.model.gpu_architecture import parse_architecture
    from abiscan.model.target import TargetPart, TargetSource

    found: dict[str, TargetPart] = {}
    for name in (name.strip() for each in given for name in each.split(",")):
        if name == "here":
            here = gpus_here(os.environ.get("PATH"))
            if not here:
                raise UsageError(
                    "--gpu here: no GPU was found (with nvidia-smi, or for AMD in the kernel); name it: --gpu sm_90"
                )
            for gpu in here:
                found.setdefault(str(gpu), TargetPart(str(gpu), TargetSource.MACHINE, "the GPU of this machine"))
            continue
        named = parse_architecture(name.lower())
        if named is None or not named.is_gpu:
            raise UsageError(f"--gpu {name}: unknown GPU; use sm_90, 9.0, gfx942, gfx90a:xnack+ or here")
        found.setdefault(str(named), TargetPart(str(named), TargetSource.COMMAND_LINE, f"--gpu {name}"))
    return tuple(found.values())


def driver_of(line: CommandLine) -> TargetPart | None:
    """The NVIDIA driver release of `--driver`; None if not given.

    Raises:
        UsageError: invalid version, no `--gpu`, or `here` on a machine without a driver.
    """
    named = line.driver
    if named is None:
        return None
    if not line.gpu:
        raise UsageError(f"--driver {named}: needs --gpu (such as --gpu sm_90, or --gpu here)")
    from abiscan.model.cuda_driver import driver_branch
    from abiscan.model.target import TargetPart, TargetSource

    if named == "here":
        from abiscan.environment.driver_here import LIBRARY, driver_here
        from abiscan.loader import Loader, LoaderSettings

        library = Loader(LoaderSettings.of(os.environ, os.getcwd()), environment_of(None)).find(LIBRARY)
        here = driver_here(None if library is None else library[0])
        if here is None:
            raise UsageError("--driver here: no NVIDIA driver with a readable version was found; write --driver 535")
        return TargetPart(here[0], TargetSource.MACHINE, here[1])
    if driver_branch(named) is None:
        raise UsageError(f"--driver {named}: not a version of NVIDIA's driver; write 535, 535.104.05 or here")
    return TargetPart(named, TargetSource.COMMAND_LINE, f"--driver {named}")


def environment_of(python: str | None) -> PythonEnvironment | None:
    """The environment of --python, else the active virtual environment, else that of this interpreter. If the last has
    no torch (`pipx install abiscan`): that of `python3` on PATH if it has one."""
    from abiscan.environment.installed_torch import find_torches
    from abiscan.environment.python import read_environment
    from abiscan.environment.python import user_base as own_user_base

    python_path, user_base = os.environ.get("PYTHONPATH"), own_user_base(os.environ)
    if python is not None:
        if os.path.basename(python) == python and not os.path.exists(python):
            python = _on_path(python) or python
        try:
            return read_environment(python, python_path=python_path, user_base=user_base, may_run=True)
        except UsageError:
            from abiscan.environment.owning_environment import environments_of

            # A directory of packages without an interpreter: `pip install --target`, ~/.local.
            found = environments_of(os.path.abspath(python), environment_of(None)) if os.path.isdir(python) else ()
            if len(found) != 1:
                raise
            return found[0]
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        active = os.environ.get(variable)
        if active and os.path.isdir(active):
            try:
                return read_environment(active, python_path=python_path, user_base=user_base)
            except UsageError:
                continue  # stale variable of a removed environment: use this interpreter
    own = read_environment(sys.executable, python_path=python_path, user_base=user_base) if sys.executable else None
    if own is not None and find_torches(own):
        return own
    launcher = _on_path("python3") or _on_path("python")  # on Windows
    try:
        other = None if launcher is None else read_environment(launcher, python_path=python_path, user_base=user_base)
    except UsageError:
        return own  # a script that starts one (pyenv)
    return other if other is not None and find_torches(other) else own


def _on_path(command: str) -> str | None:
    import shutil

    return shutil.which(command)


def index_directory() -> str:
    """The directory of the user's own release index.

    Raises:
        UsageError: another user can write to it, and so could change results.
    """
    path, why = user_directory("XDG_DATA_HOME", "~/.local/share", "releases")
    if why is not None:
        raise UsageError(f"{path}: your release index is not used: {why}; set XDG_DATA_HOME or change its permissions")
    return path


def cache_directory() -> str | None:
    """The cache directory of indexed torch wheels; None if another user can write to it."""
    path, why = user_directory("XDG_CACHE_HOME", "~/.cache", "wheels")
    return path if why is None else None


def user_directory(variable: str, default: str, name: str) -> tuple[str, str | None]:
    """A directory of abiscan below one of the user's, and the reason if other users can write to it.

    Args:
        variable: environment variable of the parent (XDG base directory specification; relative paths are ignored).
        default: the parent if the variable is not set.
    """
    base = os.environ.get(variable, "")
    own = os.path.join(base if os.path.isabs(base) else os.path.expanduser(default), "abiscan")
    path = os.path.join(own, name)
    return path, why_not_own(own) or why_not_own(path)


def today() -> datetime.date:
    import datetime

    return datetime.datetime.now(tz=datetime.UTC).date()


def policy_of(line: CommandLine) -> tuple[Policy, tuple[str, ...]]:
    """The policy of the configuration file, overridden by the command line, and notes on that file."""
    from msgspec.structs import replace

    policy, notes = _configured(line.config)
    changes: dict[str, object] = {}
    if line.fail_on is not None:
        from abiscan.gate.config import parse_fail_on

        changes["fail_on"] = parse_fail_on(line.fail_on)
    if line.imports is not None:
        changes["imports_shown"] = line.imports
    if line.select or line.ignore:
        select, ignore = rules_of(line.select, "--select"), rules_of(line.ignore, "--ignore")
        changes |= {"select": select, "ignore_rules": ignore}
    if line.baseline is not None:
        changes |= {"baseline": line.baseline, "baseline_found": False}
    if line.allow_stale:
        changes["allow_stale"] = True
    if line.require_torch is not None:
        from abiscan.gate.requirements import parse_require_torch

        parse_require_torch(line.require_torch)
        changes["require_torch"] = line.require_torch
    if line.require_stable_abi is not None:
        version = None if line.require_stable_abi == "any" else line.require_stable_abi
        if version is not None:
            from abiscan.gate.requirements import parse_stable_abi

            parse_stable_abi(version)
        changes |= {"require_stable_abi": True, "stable_abi_version": version}
    policy = replace(policy, **changes) if changes else policy
    if policy.require_torch is not None or policy.stable_abi_version is not None:
        from abiscan.gate.requirements import check_known
        from abiscan.releases import open_index

        known = {build.torch for build in open_index(index_directory()).builds()}
        check_known(policy.require_torch, policy.stable_abi_version, known)
    return policy, notes


def rules_of(given: Sequence[str], option: str) -> tuple[str, ...]:
    """Rule ids of an option, which may be separated by commas.

    Raises:
        UsageError: unknown rule id.
    """
    names = tuple(dict.fromkeys(name.strip() for each in given for name in each.split(",") if name.strip()))
    if not names:
        return ()
    from abiscan.cli.every_rule import every_rule

    known = [info.id for info in every_rule()]
    for name in names:
        if name not in known:
            near = nearest(name, known)
            raise UsageError(
                f"{option}: no rule {name!r}; " + (f"did you mean {near}?" if near else "see abiscan rules")
            )
    return names


def _configured(named: str | None) -> tuple[Policy, tuple[str, ...]]:
    """The policy of --config, else of the nearest configuration, and notes on used and ignored files."""
    from abiscan.cli.find_config import FoundConfig, find_config
    from abiscan.gate.policy import Policy

    if named is None:
        found = find_config(os.getcwd())
    else:
        from abiscan.inputs.named_file import read_text

        try:
            found = FoundConfig(named, read_text(named, "the configuration"))
        except FileNotFoundError:
            raise UsageError(f"{named}: no such configuration") from None
    notes = tuple(f"configuration not used: {path}: {why} (--config names one)" for path, why in found.ignored)
    if found.path is None:
        return Policy(), notes
    from msgspec.structs import replace

    from abiscan.cli.every_rule import every_rule
    from abiscan.gate.config import load_config

    policy = load_config(found.text, found.path, {info.id for info in every_rule()})
    if policy.baseline is not None:
        baseline = os.path.join(os.path.dirname(found.path), policy.baseline)
        policy = replace(policy, baseline=baseline, baseline_found=named is None)
    return policy, (f"configuration: {found.path}", *notes)
