"""Chooses the target environment of a file: torch, Python, GPU libraries and system.

`TORCH_SOURCES` lists the sources of the torch in order of precedence. Python and the other parts follow from the torch
and the declarations of the file (`file_target.target_with`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from abiscan.environment.installed_torch import InstalledTorch
from abiscan.errors import UnknownBuild
from abiscan.inputs import Artifact
from abiscan.model.target import TargetPart, TargetSource
from abiscan.releases import ReleaseIndex
from abiscan.releases.index import is_earlier
from abiscan.target.declared import Declared, declared_by
from abiscan.target.declared_release import find_declared_release, is_for_environment
from abiscan.target.file_target import FileTarget, TorchOfFile, target_with
from abiscan.target.run_torch import FALLBACK_MACHINE, RunTorch, find_run_torch
from abiscan.target.target_request import TargetRequest
from abiscan.target.torch_exports import TargetTorch, released_torch, torch_for_machine
from abiscan.wheel.container_facts import ContainerKind


class _Question(Struct, frozen=True):
    """The file whose torch is to be chosen."""

    artifact: Artifact
    declared: Declared
    machine: str


class TargetResolver:
    """Chooses the target environment of a run and of each file. Results are cached for the run.

    Args:
        index: opens the release index. `full_index` opens the one with the earlier releases too.
        read_archive: indexes a torch wheel or libtorch archive, by its path.
    """

    def __init__(
        self,
        request: TargetRequest,
        index: Callable[[], ReleaseIndex],
        full_index: Callable[[], ReleaseIndex],
        read_archive: Callable[[str], ReleaseIndex],
    ) -> None:
        self.request = request
        self._open_index, self._open_full_index, self._read_archive = index, full_index, read_archive
        self._of_run: RunTorch | None = None
        self._of_machine: dict[str, TargetTorch | None] = {}
        self._released: dict[str, TargetTorch] = {}

    @cached_property
    def _index(self) -> ReleaseIndex:
        return self._open_index()

    def run_torch(self, machine: str = FALLBACK_MACHINE, *, anywhere: bool = True) -> RunTorch:
        """The torch of the run. `machine` selects the architecture of a released version.

        Args:
            anywhere: whether a version with a label may be one that only other architectures have.

        Raises:
            UnknownBuild: `--torch` names no known torch.
        """
        if self._of_run is None:
            self._of_run = find_run_torch(
                self.request,
                self._open_index,
                machine,
                full_index=self._open_full_index,
                read_archive=self._read_archive,
                anywhere=anywhere,
            )
        return self._of_run

    @property
    def run_notes(self) -> tuple[str, ...]:
        """Notes on the torch of the run, if it was resolved."""
        return () if self._of_run is None else self._of_run.notes

    @property
    def installed(self) -> InstalledTorch | None:
        """The installed torch, if it is the torch of the run."""
        return None if self._of_run is None else self._of_run.installed

    def torch_for(self, machine: str) -> TargetTorch | None:
        """The torch of the run for files of an architecture; None if no build for it is known."""
        if machine not in self._of_machine:
            self._of_machine[machine] = torch_for_machine(
                self.run_torch(machine), machine, self._index, self.request.environment, self._open_full_index
            )
        return self._of_machine[machine]

    def index_around(self, torch: TargetTorch | None) -> ReleaseIndex:
        """The index that contains a torch: with the earlier releases if it is one of them."""
        earlier = torch is not None and is_earlier(torch.target.version, self._index)
        return self._open_full_index() if earlier else self._index

    def resolve(self, artifact: Artifact, machine: str, is_module: Callable[[], bool]) -> FileTarget:
        """Resolve the target environment of one file.

        Args:
            is_module: whether Python can import the file.

        Raises:
            UnknownBuild: `--torch` names no known torch.
        """
        request = self.request
        declared = declared_by(artifact.group.facts, _place_in_container(artifact), machine, is_module)
        question = _Question(artifact, declared, machine)
        chosen = next(found for source in TORCH_SOURCES if (found := source(self, question)) is not None)
        here = request.environment.version if request.environment is not None else None
        installed = chosen.torch is not None and chosen.torch.installed
        if not installed and not request.python_named:
            here = None  # libraries beside a release do not depend on the interpreter that runs abiscan
        releases = dict.fromkeys(build.torch for build in self.index_around(chosen.torch).builds(machine))
        return target_with(declared, chosen, request, here, releases=tuple(releases), machine=machine)

    def named_torch(self, question: _Question) -> TorchOfFile | None:
        """The torch of `--torch`."""
        named = self.request.torch
        if named in (None, "declared"):
            return None
        run, torch = self.run_torch(question.machine), self.torch_for(question.machine)
        # The build for the platform of the file may have another variant than that of the run.
        shown = (run if torch is None else torch).target.label
        return TorchOfFile(torch, TargetPart(shown, TargetSource.COMMAND_LINE, f"--torch {named}"))

    def environment_torch(self, question: _Question) -> TorchOfFile | None:
        """The installed torch, if the file is made for that environment."""
        chosen, environment = self.run_torch(question.machine), self.request.environment
        if chosen.installed is None or environment is None:
            return None
        artifact = question.artifact
        fits = is_for_environment(
            question.declared,
            chosen.installed,
            environment,
            question.machine,
            named=artifact.member is None,
            alone=artifact.group.facts.kind is ContainerKind.FILE,
        )
        if not fits:
            return None
        part = TargetPart(chosen.target.label, TargetSource.ENVIRONMENT, f"installed in {environment.label}")
        return TorchOfFile(self.torch_for(question.machine), part)

    def released_torch(self, question: _Question) -> TorchOfFile:
        """The newest known release that the file declares; without a declaration, the newest known release."""
        machine, index = question.machine, self._index
        try:
            release = find_declared_release(question.declared, index, machine)
            if release.build is None:
                # It declares releases older than the index, or no known release.
                index = self._open_full_index()
                release = find_declared_release(question.declared, index, machine)
        except UnknownBuild:
            return TorchOfFile(
                None, TargetPart("none", TargetSource.NEWEST_KNOWN, f"no torch build for {machine} is known")
            )
        if release.build is None:
            return release
        torch = None
        if release.part.source is TargetSource.NEWEST_KNOWN and self.run_torch(machine).build is not None:
            default = self.torch_for(machine)
            if default is not None and default.target.version == release.build.torch:
                # The target of the run has the note that no torch is installed.
                torch = default
        key = release.build.key
        if torch is None:
            if key not in self._released:
                self._released[key] = released_torch(index, release.build, self.request.environment)
            torch = self._released[key]
        return replace(release, torch=torch)


TORCH_SOURCES: Sequence[Callable[[TargetResolver, _Question], TorchOfFile | None]] = (
    TargetResolver.named_torch,
    TargetResolver.environment_torch,
    TargetResolver.released_torch,
)
"""The sources of a file's torch, in order of precedence. The last one always returns a torch."""


def _place_in_container(artifact: Artifact) -> str:
    """The path of a file in its container; the file name for a file from the command line, whose folders belong to the
    user."""
    if artifact.member is not None:
        return artifact.member.rsplit("!", 1)[-1]
    if artifact.group.facts.kind is ContainerKind.FILE:
        return artifact.path.rpartition("/")[2]
    return artifact.install_path or artifact.path.removeprefix(f"{artifact.group.facts.path}/")
