"""Stable identities of findings and modules.

Baselines and code-scanning services store fingerprints. A fingerprint must be the same after a rebuild, after code
moved inside the file, in another checkout, in the build for another Python, and for a packed or unpacked wheel. So it
is made of the rule, the mangled name and the name of the module alone, never of an offset, line, size or directory.
Modules of one name in different packages share fingerprints; a baseline distinguishes them by `module_key` and by count
(`gate/baseline.py`).
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
# delvewheel's `msvcp140-23ebcc0b37c8e3d074511f362feac48b.dll`: 32.
_VENDOR_HASH = r"[-.][0-9a-f]{8}(?:[0-9a-f]{24})?(?=\.(?:so|dll|dylib)\b)"
_SO_VERSION = r"(?<=\.so)(?:\.\d+)+$"
_PACKAGES = r"(?:^|.*/)(?:site-packages|dist-packages)/"
# Build directory of setuptools, and `purelib`/`platlib` in the data directory of a wheel (PEP 427).
_BUILD_LIB = r"(?:^|.*/)build/lib(?:\.[^/]+)?/"
_WHEEL_DATA = r"^[^/]+\.data/(?:purelib|platlib|data)/"
_SDIST_ROOT = r"^[^/]+-\d[^/]*/"
_ARCHIVE = r"(?i)^(?P<name>.+?)-v?\d[^/]*\.(?:whl|conda|zip|tar(?:\.\w+)?|tgz|tbz2|txz)$"


def bare_name(path: str) -> str:
    """The file name without the parts that a rebuild changes: Python tags, hash of a vendored library, soname version.

    `pkg/_C.cpython-311-x86_64-linux-gnu.so` and `_C.abi3.so` are both `_C.so`; `libjpeg.ceea7512.so.62` is
    `libjpeg.so`.
    """
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    name = without_tag(name)
    if not name.endswith(".so"):
        name = re.sub(_SO_VERSION, "", name)
    stem = name.rpartition(".so" if ".so" in name else ".")[0]
    return re.sub(_VENDOR_HASH, "", name) if "-" in stem or "." in stem else name


def module_key(path: str, member: str | None = None) -> str:
    """The path of a module in its package, if known; else its `bare_name`.

    Members of archives and files below `site-packages` or `build/lib...` have a path that does not depend on the
    checkout (`torchvision/_C.so`); other files have only a name (`_C.so`).
    """
    inside: str | None = None
    if member is not None:
        # In nested archives, the innermost member has the layout of a package.
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
    """The distribution name in the file name of an archive, normalized (PEP 503); of other files the file name.

    `dist/TorchVision-0.19.0-cp311-cp311-manylinux1_x86_64.whl` is `torchvision`.
    """
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    match = re.match(_ARCHIVE, name)
    return re.sub(r"[-_.]+", "-", match["name"]).lower() if match is not None else name


def fingerprint(rule: str, module: str, *details: str) -> str:
    """The identity of a finding: 32 hexadecimal digits.

    Args:
        rule: id of the rule.
        module: path, member name or `module_key` of the file; only its `bare_name` is used.
        details: further parts that distinguish findings of one rule and module and survive a rebuild: the mangled name,
            the soname of a needed library, a function name. Never an offset or a line.
    """
    # Length prefixes make the encoding injective.
    text = "".join(f"{len(part)}:{part}" for part in (rule, bare_name(module), *details))
    return _sha256()(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@cache
def _sha256() -> Callable[[bytes], _Digest]:
    """SHA-256 from the interpreter's built-in module, if there is one: `hashlib` loads OpenSSL, which takes
    milliseconds."""
    for module in ("_sha2", "_sha256"):
        try:
            made: Callable[[bytes], _Digest] = importlib.import_module(module).sha256
        except (ImportError, AttributeError):
            continue
        return made
    import hashlib

    return hashlib.sha256
