"""The rows of the package catalogue as values: the fields here are the keys of `catalogue/packages.toml`."""

from __future__ import annotations

from msgspec import Struct


class _Row(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    pass


class Wheels(_Row, frozen=True, kw_only=True):
    """Wheels that a project publishes for releases of torch, and how pip is given one.

    Attributes:
        install: what follows `pip install`, with places: `{name}`, `{release}` of the package, `{torch}` (2.8.1),
            `{minor}` (2.8), `{short}` (28), `{digits}` (281), `{variant}` (cu128), `{major}` of CUDA (12), `{abi}`
            (TRUE for the new std::string), `{python}` (cp311), `{py}` (py311), `{platform}`.
        platforms: as wheel tags name them, without a policy: `linux_x86_64`, `win_amd64`, `macosx`.
        variants: torch (minor or full version) -> variants of it that have a wheel; `cu12` is every CUDA 12.
        releases: torch (minor or full version) -> release of the package; empty where one page serves all.
        pythons: the first and the last CPython that have a wheel; empty where every one that this torch has does.
        with_torch: torch itself is named, so that pip resolves both.
        source: page or file that says so.
        date: when that was last changed, or read where it carries no date (YYYY-MM-DD).
    """

    id: str
    install: str
    platforms: tuple[str, ...]
    variants: dict[str, tuple[str, ...]]
    releases: dict[str, str] = {}
    pythons: tuple[str, ...] = ()
    with_torch: bool = False
    source: str = ""
    date: str = ""


class Package(_Row, frozen=True, kw_only=True):
    """A package of extensions.

    Attributes:
        name: of the distribution, normalised (PEP 503).
        modules: folders in site-packages, and modules there.
        files: how the names of its shared objects begin, where the folder does not tell.
        namespaces: of its C++ names.
        wheels: ids of wheels, beside those of the package index.
        sdist: the newest release on the package index has its source.
        repository: what pip can build it from, where it has none there.
        environment: variables for a build with everything in it.
        requires: what has to be installed before it is built without isolation.
        fetches_wheel: its build looks for the wheel of the installed torch first.
        upgrade: its wheels on the package index are for the torch that they require: the newest fits the newest.
        any_variant: its wheels do not depend on torch's variant.
        needs_no_torch: it links nothing of torch.
        conda: requirement for conda, where it is on no other index.
        command: what installs it, where that is neither pip nor conda.
    """

    name: str
    modules: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    wheels: tuple[str, ...] = ()
    sdist: bool = False
    repository: str = ""
    environment: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    fetches_wheel: bool = False
    upgrade: bool = False
    any_variant: bool = False
    needs_no_torch: bool = False
    conda: str = ""
    command: str = ""


class PackageCatalogue(_Row, frozen=True, kw_only=True):
    """Every row, as `abiscan/data/packages.json` has them."""

    wheels: tuple[Wheels, ...] = ()
    package: tuple[Package, ...] = ()
