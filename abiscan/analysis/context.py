"""What an analysis may use besides the file: target torch, loader, release index, rules, demanglers.

Each part is made when it is first needed, once for a run: a scan of one file that loads never opens a rule's text.
"""

from __future__ import annotations

import os
import sys
from functools import cached_property
from typing import TYPE_CHECKING

from abiscan.analysis.scan_options import ScanOptions
from abiscan.errors import UnknownBuild, UsageError
from abiscan.inputs import Artifact
from abiscan.loader import Loader
from abiscan.mangling import Demangler
from abiscan.model.finding import RuleInfo
from abiscan.model.report import InputError
from abiscan.model.setting import Source, Stated
from abiscan.releases import ReleaseIndex, open_index
from abiscan.releases.index import is_earlier, with_earlier
from abiscan.target.choice import ChosenTorch, choose
from abiscan.target.choose import belongs, choose_release
from abiscan.target.declared import Declared, declared_by
from abiscan.target.file_setting import FileSetting, TorchOfFile, setting_of
from abiscan.target.target_torch import TargetTorch, released_torch, torch_for_machine
from abiscan.wheel.metadata import ContainerKind

if TYPE_CHECKING:
    from abiscan.analysis.keep_facts import FactKeeper
    from abiscan.diagnosis import Environment, Knowledge
    from abiscan.model.gpu_architecture import GpuArchitecture
    from abiscan.rules import Rule
    from abiscan.source import SourceFile

_OWN_MACHINE = os.uname().machine if hasattr(os, "uname") else sys.platform


class AnalysisContext:
    """The services of a run."""

    def __init__(self, options: ScanOptions) -> None:
        self.options = options
        self._chosen: ChosenTorch | None = None
        self._torches: dict[str, TargetTorch | None] = {}
        self._released: dict[str, TargetTorch] = {}
        self._judged_on: set[str] = set()
        # Set by whoever wants to judge the same files again without reading them.
        self.keeper: FactKeeper | None = None

    @cached_property
    def gpus(self) -> tuple[GpuArchitecture, ...]:
        """Those on which device code must run; none where nobody asks."""
        if not self.options.gpus:
            return ()
        from abiscan.model.gpu_architecture import parse_architecture

        return tuple(gpu for stated in self.options.gpus if (gpu := parse_architecture(stated.value)) is not None)

    @cached_property
    def driver(self) -> int | None:
        """The branch of NVIDIA's driver that must serve them; None where nobody asks."""
        if self.options.driver is None:
            return None
        from abiscan.model.cuda_driver import driver_branch

        return driver_branch(self.options.driver.value)

    @cached_property
    def index(self) -> ReleaseIndex:
        """The shipped release index and the user's own: the releases on which files are judged."""
        return open_index(*self._user_index)

    @cached_property
    def history(self) -> ReleaseIndex:
        """The same with the releases before 1.13: whose names a missing one may be, and which a user may name."""
        return with_earlier(self.index)

    @property
    def _user_index(self) -> tuple[str, ...]:
        return () if self.options.user_index is None else (self.options.user_index,)

    @cached_property
    def demangler(self) -> Demangler:
        """One for the run: it keeps its answers."""
        return Demangler()

    def readable(self, name: str) -> str:
        """The text of a mangled name; the name itself where no demangler reads it."""
        return self.demangler.demangle(name).text or name

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
                history=lambda: self.history,
                within=self.options.within,
                read_archive=self._read_archive,
                files=self.options.settings.files,
            )
        return self._chosen

    def known_versions(self, machine: str) -> tuple[str, ...]:
        """Public versions of the known torch builds of an architecture, oldest first, each once."""
        return tuple(dict.fromkeys(build.torch for build in self.index.builds(machine)))

    def index_around(self, torch: TargetTorch | None) -> ReleaseIndex:
        """The index with the releases before and after a torch: with the earlier ones where it is one of them."""
        return self.history if torch is not None and is_earlier(torch.target.torch, self.index) else self.index

    def _read_archive(self, path: str) -> ReleaseIndex:
        from pathlib import Path

        from abiscan.releases.add import read_archive

        cache = self.options.cache
        return read_archive(
            Path(self.options.settings.files.host(path)),
            None if cache is None else Path(cache),
            (lambda line: None) if self.options.progress is None else self.options.progress.at,
        )

    def torch_for(self, machine: str) -> TargetTorch | None:
        """What files of an architecture are judged against; None where no build for it is known."""
        if machine not in self._torches:
            chosen = self.chosen(machine)
            self._torches[machine] = torch_for_machine(
                chosen, machine, self.index, self.options.environment, lambda: self.history
            )
        return self._torches[machine]

    def setting_of(self, artifact: Artifact, machine: str) -> FileSetting:
        """What one file is judged in.

        Raises:
            UnknownBuild: `--torch` names no torch.
        """
        options = self.options
        facts = artifact.group.facts
        declared = declared_by(facts, _place_inside(artifact), machine)
        chosen = self._torch_of(artifact, declared, machine)
        here = options.environment.version if options.environment is not None else None
        installed = chosen.torch is not None and chosen.torch.installed
        if artifact.member is not None and not installed and not options.python_named:
            here = None  # what a wheel's file finds beside a release does not depend on who asks
        return setting_of(
            declared,
            chosen,
            here,
            tuple(dict.fromkeys(build.torch for build in self.index_around(chosen.torch).builds(machine))),
            python_named=options.python_named,
            gpus=options.gpus,
            driver=options.driver,
        )

    def declared(self, artifact: Artifact, machine: str) -> Declared:
        """What a file declares of its setting."""
        return declared_by(artifact.group.facts, _place_inside(artifact), machine)

    def _torch_of(self, artifact: Artifact, declared: Declared, machine: str) -> TorchOfFile:
        options = self.options
        chosen = self.chosen(machine)
        target = chosen.target
        text = f"{target.torch}+{target.variant}"
        # Of a package with a build for each release, each is for its own, whichever of a range is the newest.
        in_folder = declared.torch is not None and declared.torch.source is Source.FOLDER
        ranged = options.torch is None and options.within is not None and not in_folder
        if options.torch not in (None, "declared") or ranged:
            said = f"--torch {options.torch}" if options.torch is not None else f"the required range {options.within}"
            return TorchOfFile(self.torch_for(machine), Stated(text, Source.COMMAND_LINE, said))
        if chosen.installed is not None and options.environment is not None:
            named = artifact.member is None
            alone = artifact.group.facts.kind is ContainerKind.FILE
            if belongs(declared, chosen.installed, options.environment, machine, named=named, alone=alone):
                because = f"installed in {options.environment.label}"
                return TorchOfFile(self.torch_for(machine), Stated(text, Source.ENVIRONMENT, because))
        index = self.index
        try:
            release = choose_release(declared, index, machine)
            if release.build is None:
                # It declares releases before those of the index, or none that there is.
                index = self.history
                release = choose_release(declared, index, machine)
        except UnknownBuild:
            return TorchOfFile(None, Stated("none", Source.NEWEST_KNOWN, f"no torch build for {machine} is known"))
        if release.build is None:
            return TorchOfFile(None, release.stated, release.note)
        torch = None
        if release.stated.source is Source.NEWEST_KNOWN and chosen.build is not None:
            default = self.torch_for(machine)
            if default is not None and default.target.torch == release.build.torch:
                # The run's own target, which says that no torch is installed.
                torch = default
        key = release.build.key
        if torch is None:
            if key not in self._released:
                self._released[key] = released_torch(index, release.build, options.environment)
            torch = self._released[key]
        return TorchOfFile(torch, release.stated, release.note, release.other_gpu)

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

        from abiscan.inputs import display_path
        from abiscan.source import scan_tree

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
        """Everything that the diagnosis of a text may rest on."""
        return self.knowledge_of(self.torch_for(machine), machine, here=True)

    def knowledge_of(self, torch: TargetTorch | None, machine: str, *, here: bool) -> Knowledge:
        """Everything that the diagnosis of a file of this architecture may rest on.

        Args:
            here: whether the file is to be loaded on this machine: what lies on it is no fact about another.
        """
        from abiscan.diagnosis import Knowledge

        return Knowledge(
            target=None if torch is None else torch.target,
            exports=None if torch is None else torch.exports,
            exact=torch is not None and torch.target.path is not None,
            releases=self.history,
            environment=self._machine_facts if here else None,
            machine=machine,
        )

    @cached_property
    def _machine_facts(self) -> Environment | None:
        from abiscan.analysis.machine_facts import machine_facts

        environment = self.options.environment
        return None if environment is None else machine_facts(environment, self.loader)

    def notes(self) -> tuple[str, ...]:
        """What a user should know of the run as a whole."""
        found = list(self._chosen.notes) if self._chosen is not None else []
        if "demangler" in self.__dict__ and not self.demangler.gnu_available:
            found.append("no C++ runtime is here for GNU's demangler: LLVM's alone read the names")
        if self.gpus:
            from abiscan.analysis.kernels_on import of_released, torchs_own

            found += (
                f"no GPU {gpu} (compute capability {gpu.capability}) is known: it is judged by its number"
                for gpu in self.gpus
                if not gpu.is_listed
            )
            if self._chosen is not None and self._chosen.installed is not None:
                found += torchs_own(self._chosen.installed, self.gpus)
            for build in self.history.builds() if self._judged_on else ():
                if build.key in self._judged_on:
                    found += of_released(build, self.gpus)
        return tuple(found)

    def judged_on(self, torch: TargetTorch) -> None:
        """A file for torch was judged against it: where it is a released build, what that runs on is the run's to
        say."""
        if torch.build is not None:
            self._judged_on.add(torch.build)


def _place_inside(artifact: Artifact) -> str:
    """Where a file lies in what it is shipped with; the name alone of one that was named itself: the folders above it
    are the user's own."""
    if artifact.member is not None:
        return artifact.member.rsplit("!", 1)[-1]
    if artifact.group.facts.kind is ContainerKind.FILE:
        return artifact.path.rpartition("/")[2]
    return artifact.install_path or artifact.path.removeprefix(f"{artifact.group.facts.path}/")
