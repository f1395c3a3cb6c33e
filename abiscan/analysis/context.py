"""What a run knows besides its files: the target torch, the loader, the release index, the rules, the demanglers.

Each part is made when it is first needed, once for a run: a scan of one file that loads never opens a rule's text.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from abiscan.environment.python import PythonEnvironment
from abiscan.errors import UnknownBuild, UsageError
from abiscan.loader import Loader, LoaderSettings
from abiscan.mangling import Demangler
from abiscan.model.finding import RuleInfo
from abiscan.model.report import InputError
from abiscan.model.target import Target
from abiscan.releases import ReleaseIndex, open_index
from abiscan.releases.exports import InstalledExports, ReleasedExports, TargetExports
from abiscan.setting.choice import ChosenTorch, choose

if TYPE_CHECKING:
    from abiscan.diagnosis import Environment, Knowledge
    from abiscan.rules import Rule
    from abiscan.source import SourceFile


class ScanOptions(Struct, frozen=True):
    """What a run is to look at; the command line fills it in.

    Attributes:
        torch: as `--torch` has it.
        environment: whose interpreter and packages; None where there is none.
        settings: what the loader of that environment's processes inherits.
        matrix: judge every known build of a file's architecture.
        sources: directories in which the flagged calls are looked for.
        hashes: compute sha256 of every file.
        jobs: processes to spread the files over.
        user_index: directory of the user's own release index.
        within: a version range (`--require-torch`): where no torch is named, its newest known build is the target.
        cache: directory in which what was read from a `--torch` wheel is kept; None to read it in each run.
        progress: called with a short text for a terminal, and with "" at the end.
    """

    torch: str | None
    environment: PythonEnvironment | None
    settings: LoaderSettings
    matrix: bool = False
    sources: tuple[str, ...] = ()
    hashes: bool = False
    jobs: int = 1
    user_index: str | None = None
    within: str | None = None
    cache: str | None = None
    progress: Callable[[str], None] | None = None


class Aim(Struct, frozen=True):
    """The torch that files of one architecture are judged against.

    Attributes:
        exports: what it exports, name by name.
        note: why it is not the run's own target, where it is not.
    """

    target: Target
    exports: TargetExports
    installed: bool
    note: str | None = None


class World:
    """The services of a run."""

    def __init__(self, options: ScanOptions) -> None:
        self.options = options
        self._chosen: ChosenTorch | None = None
        self._aims: dict[str, Aim | None] = {}

    @cached_property
    def index(self) -> ReleaseIndex:
        """The shipped release index and the user's own."""
        return open_index(*([self.options.user_index] if self.options.user_index else []))

    @cached_property
    def demangler(self) -> Demangler:
        """One for the run: it keeps its answers."""
        return Demangler()

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """All rules."""
        from abiscan.rules import load_rules

        return load_rules()

    @cached_property
    def rule_infos(self) -> tuple[RuleInfo, ...]:
        """All rules as formats describe them."""
        from abiscan.rules import rule_infos

        return rule_infos()

    def chosen(self, machine: str) -> ChosenTorch:
        """The run's target; `machine` decides only which architecture's build a released version means.

        Raises:
            UnknownBuild: `--torch` names none.
        """
        if self._chosen is None:
            self._chosen = choose(
                self.options.torch,
                self.options.environment,
                lambda: self.index,
                machine,
                within=self.options.within,
                read_archive=self._read_archive,
            )
        return self._chosen

    def known_versions(self, machine: str) -> tuple[str, ...]:
        """Public versions of the known torch builds of an architecture, oldest first, each once."""
        return tuple(dict.fromkeys(build.torch for build in self.index.builds(machine)))

    def _read_archive(self, path: str) -> ReleaseIndex:
        from pathlib import Path

        from abiscan.releases.add import read_archive

        cache = self.options.cache
        return read_archive(
            Path(path), None if cache is None else Path(cache), self.options.progress or (lambda line: None)
        )

    def aim(self, machine: str) -> Aim | None:
        """What files of an architecture are judged against: the target, or the same release for that architecture;
        None where no build for it is known."""
        if machine not in self._aims:
            self._aims[machine] = self._find_aim(machine)
        return self._aims[machine]

    def _find_aim(self, machine: str) -> Aim | None:
        chosen = self.chosen(machine)
        if chosen.target.machine == machine:
            if chosen.installed is not None:
                exports: TargetExports = InstalledExports(
                    chosen.installed.libraries, released=self._released_names(chosen.target)
                )
                return Aim(chosen.target, exports, installed=chosen.installed.python is not None)
            assert chosen.build is not None
            return Aim(chosen.target, ReleasedExports(chosen.index or self.index, chosen.build), installed=False)
        try:
            other = choose(chosen.target.torch, self.options.environment, lambda: self.index, machine)
        except UnknownBuild:
            return None
        assert other.build is not None
        note = (
            f"the file is for {machine}, the target torch for {chosen.target.machine}: it is judged against the "
            f"released build {other.build.key}"
        )
        return Aim(other.target, ReleasedExports(self.index, other.build), installed=False, note=note)

    def _released_names(self, target: Target) -> Callable[[str, int], tuple[str, ...]] | None:
        """Names by prefix from the index, where it has a build of the target's own revision."""
        machine = target.machine or ""
        if target.git_revision is None or not any(
            build.git_revision == target.git_revision for build in self.index.builds(machine)
        ):
            return None
        return lambda prefix, limit: tuple(h.name for h in self.index.prefix(prefix, machine, limit))

    @cached_property
    def loader(self) -> Loader:
        """The loader of the environment's processes, after `import torch` where the target is installed there."""
        chosen = self.chosen(_OWN_MACHINE)
        torch = chosen.installed if chosen.installed is not None and chosen.installed.python is not None else None
        return Loader(self.options.settings, self.options.environment, torch)

    @cached_property
    def _source_trees(self) -> tuple[tuple[SourceFile, ...], tuple[InputError, ...]]:
        if not self.options.sources:
            return (), ()
        from pathlib import Path

        from abiscan.source import scan_tree
        from abiscan.targets import display_path

        files: list[SourceFile] = []
        errors: list[InputError] = []
        cwd = self.options.settings.cwd
        for name in self.options.sources:
            root = Path(cwd, name)
            if not root.exists():
                raise UsageError(f"{name}: no such file or directory (--source)")
            found, unread = scan_tree(root, self.rules, lambda path: display_path(str(path), cwd))
            files += found
            errors += unread
        return tuple(files), tuple(errors)

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        """The files of `--source` with a finding."""
        return self._source_trees[0]

    @property
    def source_errors(self) -> tuple[InputError, ...]:
        """What of `--source` could not be read."""
        return self._source_trees[1]

    def knowledge(self, machine: str) -> Knowledge:
        """Everything that a diagnosis of a file of this architecture may rest on."""
        from abiscan.diagnosis import Knowledge

        aim = self.aim(machine)
        return Knowledge(
            target=None if aim is None else aim.target,
            exports=None if aim is None else aim.exports,
            exact=aim is not None and aim.target.path is not None,
            releases=self.index,
            environment=self._surroundings,
            machine=machine,
        )

    @cached_property
    def _surroundings(self) -> Environment | None:
        from abiscan.analysis.machine_facts import surroundings

        environment = self.options.environment
        return None if environment is None else surroundings(environment, self.loader)

    def notes(self) -> list[str]:
        """What a user should know of the run as a whole."""
        found = list(self._chosen.notes) if self._chosen is not None else []
        if "demangler" in self.__dict__ and not self.demangler.gnu_available:
            found.append("no C++ runtime is here for GNU's demangler: LLVM's alone read the names")
        return found


_OWN_MACHINE = os.uname().machine if hasattr(os, "uname") else sys.platform
