"""Names for findings and modules that survive what should not matter.

A fingerprint is what a baseline and a code-scanning service remember. It must be the same after a rebuild, after code
moved inside the file, in another checkout, for another Python version's build of the same module, and whether a wheel
was scanned packed or unpacked. So it is made of the rule, the mangled name and the *module's name alone*, never of an
offset, a line, a size or a directory. Two modules of one name in different packages then share fingerprints; a
baseline tells them apart by `module_key` and by count (`gate/baseline.py`).
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import cache
from typing import Protocol

from abiscan.model.module_name import without_tag


class _Digest(Protocol):
    def hexdigest(self) -> str: ...


# auditwheel's `libgomp-a34b3233.so.1`, torchvision's `libjpeg.ceea7512.so.62`: eight hexadecimal digits of a hash.
_VENDOR_HASH = r"[-.][0-9a-f]{8}(?=\.so\b)"
_SO_VERSION = r"(?<=\.so)(?:\.\d+)+$"
_PACKAGES = r"(?:^|.*/)(?:site-packages|dist-packages)/"
# setuptools' build directory, and the `purelib`/`platlib` part of a wheel's data directory (PEP 427).
_BUILD_LIB = r"(?:^|.*/)build/lib(?:\.[^/]+)?/"
_WHEEL_DATA = r"^[^/]+\.data/(?:purelib|platlib|data)/"
_SDIST_ROOT = r"^[^/]+-\d[^/]*/"
_ARCHIVE = r"(?i)^(?P<name>.+?)-v?\d[^/]*\.(?:whl|conda|zip|tar(?:\.\w+)?|tgz|tbz2|txz)$"


def bare_name(path: str) -> str:
    """The file's name without what a rebuild changes: Python tags, a vendored library's hash, a soname's version.

    `pkg/_C.cpython-311-x86_64-linux-gnu.so` and `_C.abi3.so` are both `_C.so`; `libjpeg.ceea7512.so.62` is
    `libjpeg.so`.
    """
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    name = without_tag(name)
    if not name.endswith(".so"):
        name = re.sub(_SO_VERSION, "", name)
    stem = name.rpartition(".so")[0]
    return re.sub(_VENDOR_HASH, "", name) if "-" in stem or "." in stem else name


def module_key(path: str, member: str | None = None) -> str:
    """The module's place in its package where that is known, else its bare `bare_name`.

    A member of an archive and a file below `site-packages` or `build/lib...` have a place that no checkout changes
    (`torchvision/_C.so`); of any other file only the name is taken (`_C.so`).
    """
    inside: str | None = None
    if member is not None:
        # The innermost member of archives in archives is the one whose layout is a package's.
        inside = member.rsplit("!", 1)[-1].replace("\\", "/").lstrip("/")
        inside = re.sub(_SDIST_ROOT, "", re.sub(_WHEEL_DATA, "", inside))
    whole = inside if inside is not None else path.replace("\\", "/")
    for part, root in (("-packages/", _PACKAGES), ("build/lib", _BUILD_LIB)):
        match = re.match(root, whole) if part in whole else None
        if match is not None:
            inside = whole[match.end() :]
            break
    if inside is None or "/" not in inside:
        return bare_name(whole)
    return f"{inside.rsplit('/', 1)[0]}/{bare_name(inside)}"


def container_key(path: str) -> str:
    """The distribution that an archive's file name stands for, normalized as PEP 503 says; of others the file name.

    `dist/TorchVision-0.19.0-cp311-cp311-manylinux1_x86_64.whl` is `torchvision`.
    """
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    match = re.match(_ARCHIVE, name)
    return re.sub(r"[-_.]+", "-", match["name"]).lower() if match is not None else name


def fingerprint(rule: str, module: str, *details: str) -> str:
    """32 hexadecimal digits that name a finding.

    Args:
        rule: the rule's id.
        module: the file's path, member name or `module_key`; only its `bare_name` counts.
        details: what else tells two findings of one rule and module apart and survives a rebuild: the mangled name, a
            needed library's soname, a function's name. Never an offset or a line.
    """
    # Length prefixes, so that no two different tuples read the same.
    text = "".join(f"{len(part)}:{part}" for part in (rule, bare_name(module), *details))
    return _sha256()(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@cache
def _sha256() -> Callable[[bytes], _Digest]:
    """SHA-256 of the interpreter's own module where it has one: `hashlib` loads OpenSSL, which takes milliseconds."""
    for module in ("_sha2", "_sha256"):
        try:
            made: Callable[[bytes], _Digest] = importlib.import_module(module).sha256
        except (ImportError, AttributeError):
            continue
        return made
    import hashlib

    return hashlib.sha256
