"""Lines to paste, put together from what is known of the file and of the target."""

from __future__ import annotations

import re

from abiscan.diagnosis.missing_name import MissingName
from abiscan.model.versions import Windows

_SITE = re.compile(r"(?:site|dist)-packages/([^/]+)/")
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
    found = _SITE.search((missing.file_name or "").replace("\\", "/"))
    name = missing.distribution or (found[1].removesuffix(".libs") if found is not None else None)
    if name is None or not _DISTRIBUTION.fullmatch(name) or name.lower() in ("torch", "lib", "build", "bin"):
        return None
    return re.sub(r"[-_.]+", "-", name).lower()


def rebuild(missing: MissingName) -> str:
    """Build the extension from source against the torch that is there."""
    name = package(missing)
    if name is not None:
        return f"pip install --no-build-isolation --no-binary {name} --no-cache-dir --force-reinstall --no-deps {name}"
    base = re.split(r"[/\\!]", missing.file_name or "")[-1]
    if missing.file is None:
        of = f" ships {word(base, 'the file')}" if base else " failed to load"
        return (
            "pip install --no-build-isolation --no-binary PACKAGE --no-cache-dir --force-reinstall --no-deps PACKAGE"
            f"  # PACKAGE: what{of}"
        )
    # A file by itself may be of no package: its own source tree is where it is built.
    gpu = any(soname.startswith(("libcudart", "libc10_cuda", "libtorch_cuda")) for soname in missing.file.needed)
    archs = ", and TORCH_CUDA_ARCH_LIST set to its GPU architectures" if gpu else ""
    return (
        "pip install --no-build-isolation --no-cache-dir --force-reinstall --no-deps .  "
        f"# in the source tree of {word(base, 'the file')}, with {missing.target_label} installed{archs}"
    )


def torch_range(windows: Windows, newest_known: str | None) -> str:
    """A requirement that picks a release in one of the windows, the newest first: `"torch>=2.1.0,<=2.2.2"`."""
    first, last = windows[-1]
    if last == newest_known:
        return f'"torch>={first}"'
    return f'"torch=={first}"' if first == last else f'"torch>={first},<={last}"'


def install_torch(missing: MissingName, windows: Windows) -> str:
    """Install a torch that exports the name, and the file's other names where they are known."""
    windows = missing.knowledge.loads_on or windows
    newest = missing.known_versions[-1] if missing.known_versions else None
    return f"pip install {torch_range(windows, newest)}"


def rebuild_or_install(missing: MissingName, windows: Windows) -> str:
    """Both ways out: another extension, or another torch."""
    if not windows or missing.knowledge.loads_on == ():
        return rebuild(missing)
    return f"{rebuild(missing)}\nor: {install_torch(missing, windows)}"
