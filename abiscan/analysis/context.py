"""Services of a run: target torch, loader, release index, rules, demanglers.

Each is created on first use and shared by the run. The scan of a file that loads never reads the text of a rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from abiscan.analysis.scan_options import ScanOptions
from abiscan.environment.python import PythonEnvironment
from abiscan.errors import UsageError
from abiscan.loader import Loader
from abiscan.mangling import Demangler
from abiscan.model.finding import Location, RuleInfo
from abiscan.model.platforms import own_key
from abiscan.model.report import InputError
from abiscan.releases import ReleaseIndex, open_index
from abiscan.releases.index import with_earlier
from abiscan.target.resolver import TargetResolver
from abiscan.target.target_request import TargetRequest
from abiscan.target.torch_exports import TargetTorch

if TYPE_CHECKING:
    from abiscan.analysis.stored_containers import FactKeeper
    from abiscan.diagnosis.knowledge import Environment, Knowledge
    from abiscan.model.facts import CallSite
    from abiscan.model.gpu_architecture import GpuArchitecture
    from abiscan.rules import Rule
    from abiscan.source import SourceFile


class AnalysisContext:
    """The services of a run."""

    def __init__(self, options: ScanOptions) -> None:
        self.options = options
        self._checked_against: set[str] = set()
        # Set by callers that check the same files again without reading them.
        self.keeper: FactKeeper | None = None
        self._others: dict[PythonEnvironment, AnalysisContext] = {}

    def for_environment(self, environment: PythonEnvironment | None) -> AnalysisContext:
        """The services of this run for files of another environment; for None, this object."""
        if environment is None or environment == self.options.environment:
            return self
        if environment not in self._others:
            other = AnalysisContext(replace(self.options, environment=environment))
            other.keeper = self.keeper
            # Cached properties that do not depend on the environment.
            other.__dict__.update(index=self.index, demangler=self.demangler)
            self._others[environment] = other
        return self._others[environment]

    @cached_property
    def gpus(self) -> tuple[GpuArchitecture, ...]:
        """GPUs on which device code must run; empty if none are given."""
        if not self.options.gpus:
            return ()
        from abiscan.model.gpu_architecture import parse_architecture

        return tuple(gpu for stated in self.options.gpus if (gpu := parse_architecture(stated.value)) is not None)

    @cached_property
    def driver(self) -> int | None:
        """NVIDIA driver branch that must support them; None if none is given."""
        if self.options.driver is None:
            return None
        from abiscan.model.cuda_driver import driver_branch

        return driver_branch(self.options.driver.value)

    @cached_property
    def index(self) -> ReleaseIndex:
        """The shipped release index and the user's index: the releases that files are checked against."""
        return open_index(*filter(None, (self.options.user_index,)))

    @cached_property
    def full_index(self) -> ReleaseIndex:
        """The index including releases before 1.13, for causes and for `--torch`."""
        return with_earlier(self.index)

    @cached_property
    def demangler(self) -> Demangler:
        """The demangler of the run, with its cache."""
        return Demangler()

    def readable(self, name: str) -> str:
        """The demangled name; the name itself if no demangler accepts it."""
        return self.demangler.demangle(name).text or name

    def locations_of(self, sites: Mapping[str, Iterable[CallSite]]) -> dict[str, tuple[Location, ...]]:
        """Call sites as locations of the report: functions by their demangled names, without repetition."""
        found = {}
        for name, each in sites.items():
            places = (
                Location(
                    function=None if site.function is None else self.readable(site.function),
                    file=site.file,
                    line=site.line,
                    offset=site.offset,
                )
                for site in each
            )
            found[name] = tuple(dict.fromkeys(places))
        return found

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """All rules."""
        from abiscan.rules import load_rules

        return load_rules()

    @cached_property
    def rule_infos(self) -> tuple[RuleInfo, ...]:
        """Descriptions of all rules for the formats."""
        from abiscan.rules import rule_infos

        return rule_infos()

    @cached_property
    def target(self) -> TargetResolver:
        """The resolver of the target environment of the run and of each file."""
        options = self.options
        request = TargetRequest(
            torch=options.torch,
            environment=options.environment,
            python_named=options.python_named,
            gpus=options.gpus,
            driver=options.driver,
            files=options.settings.files,
        )
        return TargetResolver(request, lambda: self.index, lambda: self.full_index, self._read_archive)

    def known_versions(self, machine: str) -> tuple[str, ...]:
        """Distinct public versions of the known torch builds of an architecture, oldest first."""
        return tuple(dict.fromkeys(build.torch for build in self.index.builds(machine)))

    def _read_archive(self, path: str) -> ReleaseIndex:
        from pathlib import Path

        from abiscan.releases.add import read_archive

        cache = self.options.cache
        return read_archive(
            Path(self.options.settings.files.host(path)),
            None if cache is None else Path(cache),
            (lambda line: None) if self.options.progress is None else self.options.progress.at,
        )

    @cached_property
    def loader(self) -> Loader:
        """The loader of processes of the environment, after `import torch` if the target is installed there."""
        chosen = self.target.run_torch(own_key())
        torch = chosen.installed if chosen.installed is not None and chosen.installed.python is not None else None
        return Loader(self.options.settings, self.options.environment, torch)

    @cached_property
    def _source_trees(self) -> tuple[tuple[SourceFile, ...], tuple[InputError, ...]]:
        if not self.options.sources:
            return (), ()
        from pathlib import Path

        from abiscan.inputs import display_path
        from abiscan.source import scan_tree

        files: list[SourceFile] = []
        errors: list[InputError] = []
        cwd = self.options.settings.cwd
        for name in self.options.sources:
            root = Path(cwd, name)
            if not root.exists():
                raise UsageError(f"{name}: no such file or directory (--source)")
            found, unread = scan_tree(
                root, self.rules, lambda path: display_path(str(path), cwd), self.target.run_torch().target.version
            )
            files += found
            errors += unread
        return tuple(files), tuple(errors)

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        """The files of `--source` trees that have a finding."""
        return self._source_trees[0]

    @property
    def source_errors(self) -> tuple[InputError, ...]:
        """Read errors of `--source` trees."""
        return self._source_trees[1]

    def knowledge(self, machine: str) -> Knowledge:
        """The knowledge for the diagnosis of a text."""
        return self.knowledge_of(self.target.torch_for(machine), machine, here=True)

    def knowledge_of(self, torch: TargetTorch | None, machine: str, *, here: bool) -> Knowledge:
        """The knowledge for the diagnosis of a file of an architecture.

        Args:
            here: whether the file will be loaded on this machine; if not, libraries of this machine prove nothing.
        """
        from abiscan.diagnosis.knowledge import Knowledge

        return Knowledge(
            target=None if torch is None else torch.target,
            exports=None if torch is None else torch.exports,
            exact=torch is not None and torch.target.path is not None,
            releases=self.full_index,
            environment=self._machine_facts if here else None,
            machine=machine,
            from_source=torch is not None and torch.target.path is not None and self._is_without_label,
        )

    @cached_property
    def _is_without_label(self) -> bool:
        from abiscan.environment.installed_torch import is_wheel_without_label

        installed = self.target.installed
        return installed is not None and is_wheel_without_label(installed)

    @cached_property
    def _machine_facts(self) -> Environment | None:
        from abiscan.analysis.machine_facts import machine_facts

        environment = self.options.environment
        return None if environment is None else machine_facts(environment, self.loader)

    def notes(self) -> tuple[str, ...]:
        """Notes on the run as a whole."""
        found = list(self.target.run_notes)
        if "demangler" in self.__dict__ and not self.demangler.gnu_available:
            found.append("GNU's demangler was not found: names are demangled by LLVM's only")
        if self.gpus:
            from abiscan.analysis.kernels_on import notes_on_installed_torch, notes_on_released_torch

            found += (
                f"no GPU {gpu} (compute capability {gpu.capability}) is known: checked by its compute capability"
                for gpu in self.gpus
                if not gpu.is_listed
            )
            if self.target.installed is not None:
                found += notes_on_installed_torch(self.target.installed, self.gpus)
            for build in self.full_index.builds() if self._checked_against else ():
                if build.key in self._checked_against:
                    found += notes_on_released_torch(build, self.gpus)
        return tuple(found)

    def checked_against(self, torch: TargetTorch) -> None:
        """Record that a file was checked against a torch, for the notes on the GPUs of released builds."""
        if torch.build is not None:
            self._checked_against.add(torch.build)
