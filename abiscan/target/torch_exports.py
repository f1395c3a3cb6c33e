"""The torch that files of one architecture are checked against, with its exports."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from abiscan.binary import open_binary
from abiscan.environment.python import PythonEnvironment
from abiscan.errors import UnknownBuild
from abiscan.model.platforms import file_key, system_of
from abiscan.model.target import TorchBuild, TorchKind
from abiscan.ownership.torch_names import accelerator_of
from abiscan.releases import Build, ReleaseIndex
from abiscan.releases.exports import InstalledExports, ReleasedExports, TargetExports
from abiscan.target.run_torch import RunTorch, find_run_torch, released_target
from abiscan.target.target_request import TargetRequest


class TargetTorch(Struct, frozen=True):
    """The torch that files of one architecture are checked against.

    Attributes:
        exports: its exports by name.
        installed: whether it is installed in an environment with a known interpreter, so that the loader can be
            predicted.
        note: why it is another than the target of the run.
        build: its key in the release index, if it is checked as a released build.
    """

    target: TorchBuild
    exports: TargetExports
    installed: bool
    note: str | None = None
    build: str | None = None

    def lacks(self, soname: str) -> bool:
        """Whether it lacks a library."""
        name = file_key(soname)
        return name not in self.exports.sonames and not (self.exports.stands_for_cuda and accelerator_of(name))


def torch_for_machine(
    chosen: RunTorch,
    machine: str,
    index: ReleaseIndex,
    environment: PythonEnvironment | None,
    full_index: Callable[[], ReleaseIndex] | None,
) -> TargetTorch | None:
    """The chosen torch for files of its own architecture, or the same release for another architecture; None if no
    build for that architecture is known."""
    if chosen.target.machine == machine:
        if chosen.installed is not None:
            files = chosen.installed.files
            on_disk = InstalledExports(
                chosen.installed.libraries,
                lambda path: open_binary(files.host(path), path),
                released=_released_names(chosen.target, index),
            )
            # Without a known interpreter there is no process to predict.
            opens = chosen.installed.python is not None and chosen.installed.python.executable is not None
            return TargetTorch(chosen.target, on_disk, installed=opens)
        assert chosen.build is not None
        exports = ReleasedExports(chosen.index or index, chosen.build)
        return TargetTorch(chosen.target, exports, installed=False, build=chosen.build.key)
    try:
        spec = chosen.spec or chosen.target.version
        other = find_run_torch(TargetRequest(spec, environment), lambda: index, machine, full_index=full_index)
    except UnknownBuild:
        return None
    assert other.build is not None
    note: str | None = (
        f"the file is for {machine}, the target torch for {chosen.target.machine}: checked against the released "
        f"build {other.build.key}"
    )
    if chosen.target.kind is TorchKind.RELEASE and system_of(machine) is not system_of(chosen.target.machine or ""):
        note = None  # the same on every system
    exports = ReleasedExports(other.index or index, other.build)
    return TargetTorch(other.target, exports, installed=False, note=note, build=other.build.key)


def released_torch(index: ReleaseIndex, build: Build, environment: PythonEnvironment | None) -> TargetTorch:
    """A released build as a target."""
    exports = ReleasedExports(index, build)
    return TargetTorch(released_target(build, environment), exports, installed=False, build=build.key)


def _released_names(target: TorchBuild, index: ReleaseIndex) -> Callable[[str, int], tuple[str, ...]] | None:
    """Names by prefix from the index, if it has a build of the target's revision."""
    machine = target.machine or ""
    if target.git_revision is None or not any(
        build.git_revision == target.git_revision for build in index.builds(machine)
    ):
        return None
    return lambda prefix, limit: tuple(index.prefix(prefix, machine, limit))
