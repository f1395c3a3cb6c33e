"""Lines to paste, put together from what is known of the file and of the target."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from abiscan.diagnosis import install_commands
from abiscan.diagnosis.missing_name import MissingName
from abiscan.model import versions
from abiscan.model.dependency_specifiers import admits
from abiscan.model.python_version import PythonVersion
from abiscan.model.target import TorchBuild
from abiscan.model.versions import ReleaseRanges
from abiscan.releases.pythons import with_wheels

_SITE = re.compile(r"(?:site|dist)-packages/([^/]+)/")
# `NAME-1.0-py3.7-linux-x86_64.egg`, a folder of setup.py install.
_EGG = re.compile(r"-\d[^/]*-py\d[^/]*\.egg$")
# The oldest CPython that is maintained: what no release in a range has wheels for is worth a word.
_MAINTAINED = PythonVersion(3, 10)
_WORD = re.compile(r"[A-Za-z0-9_.+/@:~][A-Za-z0-9_.+/@:~-]{0,255}")
_DISTRIBUTION = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?", re.IGNORECASE)


def word(text: str, otherwise: str) -> str:
    """A name as it may stand in a command to paste; `otherwise` where it has anything that a shell would act upon.

    Names come from files and logs that nobody vouches for: what is in quotes in evidence must never reach a command.
    """
    return text if _WORD.fullmatch(text) else otherwise


def package(missing: MissingName) -> str | None:
    """The distribution that ships the file: by its metadata, else by its place; None where neither tells.

    `.../site-packages/torch_scatter/_version_cuda.so` is torch-scatter's. A module at the top of site-packages says
    nothing of its distribution's name, and a directory elsewhere nothing at all.
    """
    found = _SITE.search(missing.file.path.replace("\\", "/"))
    folder = None if found is None else _EGG.sub("", found[1].removesuffix(".libs"))
    name = missing.file.distribution or folder
    return normalised(name)


def normalised(name: str | None) -> str | None:
    """A project's name as the index spells it (PEP 503); None for what is none, or is no extension's."""
    if name is None or not _DISTRIBUTION.fullmatch(name) or name.lower() in ("torch", "lib", "build", "bin"):
        return None
    return re.sub(r"[-_.]+", "-", name).lower()


def rebuild(missing: MissingName, project: str | None = None) -> str:
    """Build the extension from source against the torch that is there, as one command.

    Args:
        project: what a message calls the extension, where nothing else tells.
    """
    if _is_of_android(missing):
        return _OF_ANDROID
    known = install_commands.find_package(missing, project)
    command = None if known is None else install_commands.build(known, missing)
    if command is not None:
        return command
    name = package(missing) or normalised(project)
    base = re.split(r"[/\\!]", missing.file.path)[-1]
    tree = f"in the source tree of {name or word(base, 'the extension')}"
    # A file by itself may be of no package: its own source tree is where it is built.
    gpu = any(soname.startswith(("libcudart", "libc10_cuda", "libtorch_cuda")) for soname in missing.file.needed)
    archs = ", and TORCH_CUDA_ARCH_LIST set to its GPU architectures" if gpu else ""
    return f"{_BUILD_TREE}  # {tree}, with {_torch(missing)} installed{archs}"


def reinstall(missing: MissingName, project: str | None = None, variant: str | None = None) -> tuple[str, ...]:
    """The ways to have the extension for the torch that is there: its wheel, else a build.

    Args:
        project: as of `rebuild`.
        variant: as of `install_commands.install`.
    """
    known = None if _is_of_android(missing) else install_commands.find_package(missing, project)
    ways = () if known is None else install_commands.install(known, missing, variant=variant)
    if ways:
        return ways
    release = other_release(missing)
    command = rebuild(missing, project)
    return (command,) if release is None else (release, f"or: {command}")


# Apps have torch from Maven, in their own folder.
_OF_ANDROID = "Take every native library of the app from one release of torch (org.pytorch:pytorch_android, ...)"


def _is_of_android(missing: MissingName) -> bool:
    return missing.file.path.startswith(("/data/app/", "/data/data/", "/data/user/"))


def _torch(missing: MissingName) -> str:
    """What has to be there when an extension is built: the target where it has a version."""
    target = missing.target
    if target is not None and versions.order(target.version) is not None:
        return missing.target_label
    return "the torch that it is for"


# What pip builds in a source tree against the torch that is installed.
_BUILD_TREE = "pip install --no-build-isolation --no-cache-dir --force-reinstall --no-deps ."


def other_release(missing: MissingName) -> str | None:
    """Where to look for a build of the extension that fits; None where nothing tells which project ships the file."""
    name = package(missing)
    if name is None:
        return None
    target = missing.target
    which = "the torch that is installed" if target is None else f"torch {versions.minor(target.version)}"
    label = _label(missing.file.distribution_version or "", target)
    return f"Install a release of {name} that is made for {which}{label}"


# `2.1.2+pt24cu121`, `2.7.4+cu12torch2.5cxx11abifalse`: the release in the label of a project's own version.
_TORCH_LABEL = re.compile(r"\+.*?(?P<word>pt|torch)(?P<release>\d+(?:\.\d+)*)")


def _label(version: str, target: TorchBuild | None) -> str:
    """How a project's versions would name the target, where its versions name their torch."""
    found = _TORCH_LABEL.search(version)
    if found is None or target is None:
        return ""
    minor = versions.minor(target.version)
    wanted = minor if "." in found["release"] else minor.replace(".", "")
    return f": its versions name their torch, look for {found['word']}{wanted}"


def torch_range(ranges: ReleaseRanges, newest_known: str | None) -> str:
    """A requirement that picks a release in one of the ranges, the newest first: `"torch>=2.1.0,<=2.2.2"`."""
    first, last = ranges[-1]
    if last == newest_known:
        return f'"torch>={first}"'
    return f'"torch=={first}"' if first == last else f'"torch>={first},<={last}"'


_INSTALL = re.compile(r'pip install "torch(?P<specifier>[^"]*)"')


def narrowed(fix: str, known: Sequence[str], admitted: Callable[[str], bool]) -> str:
    """A fix whose ways name no release of torch but those that are admitted.

    Args:
        known: public versions of the known releases, oldest first.
    """
    ways = []
    for way in fix.split("\nor: "):
        found = _INSTALL.search(way)
        named = [] if found is None else [v for v in known if admits(found["specifier"], (v,))]
        right = [version for version in named if admitted(version)]
        if found is not None and len(right) < len(named):
            if not right:
                continue
            text = torch_range(ReleaseRanges.of_known(known, right.__contains__), known[-1])
            way = f"{way[: found.start()]}pip install {text}{way[found.end() :]}"  # noqa: PLW2901
        ways.append(way)
    return "\nor: ".join(ways)


def install_torch(missing: MissingName, ranges: ReleaseRanges) -> str | None:
    """Install a torch that exports the name, and the file's other names where they are known; None where none does, or
    none that does has wheels for the CPython that is there."""
    if _is_of_android(missing):
        return None
    if missing.knowledge.loads_on is not None:
        ranges = missing.knowledge.loads_on
    if not ranges:
        return None
    newest = missing.known_versions[-1] if missing.known_versions else None
    command = None
    if missing.file.facts is None and ranges.last != newest and missing.target is not None:
        command = install_commands.install_torch(ranges.last, missing)
    command = command or f"pip install {torch_range(ranges, newest)}"
    newest_python = max(with_wheels(ranges.last), default=None)
    if newest_python is None or newest_python >= _MAINTAINED:
        return command
    python = missing.environment.python if missing.environment is not None else None
    if python is not None and python > newest_python:
        return None
    return f"{command}  # no wheels for CPython after {newest_python}"


def _cuda_variant(missing: MissingName) -> str:
    """The variant that pip installs of the release, which published extensions are built for; an example where the
    release is unknown."""
    releases, target = missing.knowledge.releases, missing.target
    builds = () if releases is None or target is None else releases.builds(missing.knowledge.machine)
    return next((b.variant for b in builds if target is not None and b.torch == target.version and b.cuda), "cu126")


def gpu_build(missing: MissingName, *, cuda: str = "") -> str:
    """Install the GPU build of the torch that is there, or the extension for the CPU build that it is.

    Args:
        cuda: its major release; "" for any.
    """
    torch = None if missing.target is None else missing.target.version
    command = (
        None
        if torch is None
        else install_commands.install_torch(torch, missing, cuda=cuda, variant="" if cuda else _cuda_variant(missing))
    )
    known = install_commands.find_package(missing)
    of_extension = () if known is None else install_commands.install(known, missing)[:1]
    first = command or "Install a CUDA build of torch (the wheel index of its variant, such as cu126)"
    return "\nor: ".join((first, *(of_extension or ("the CPU build of the extension",))))


def rebuild_or_install(missing: MissingName, ranges: ReleaseRanges) -> str:
    """The ways out: the build of the extension for this torch, another torch."""
    first, *ways = reinstall(missing)
    other = install_torch(missing, ranges)
    return "\n".join((first, *ways)) + ("" if other is None else f"\nor: {other}")


def by_release(ranges: ReleaseRanges, ways: str) -> str:
    """The question that decides where the torch is not known, and what to do for either reply.

    Args:
        ranges: the releases that export the name.
        ways: what to do where another one is there.
    """
    return (
        'python -c "import torch; print(torch.__version__)"  # which torch it is decides\n'
        f"{ranges.text()}: it exports the symbol; abiscan explain --torch VERSION shows what else it can be\n"
        f"another one: {ways}"
    )
