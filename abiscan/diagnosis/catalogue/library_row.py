"""The rows of `catalogue/libraries.toml` as values. The fields are its keys."""

# Annotations are not postponed: msgspec would compile each of them before it reads the first value.
from msgspec import Struct


class SystemLibrary(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A library of the system, and the packages that have it.

    Attributes:
        names: of its files without `.so` and what follows, or with it (`libmpi.so.40`); `*` stands for any end.
        headers: its headers, or their folders.
        product: name for messages.
        apt, dnf, conda, brew, pip: packages for a loader, several with blanks between; `{major}` is the first number
            behind `.so.`. Empty if none has it.
        apt_headers, dnf_headers: packages with its headers, where those are others.
        cmake: its name in CMake's find_package, if that is not `id`, in upper or lower case.
        first: the way that comes before any package, such as a submodule.
        note: what else to do, or another way.
    """

    id: str
    product: str
    names: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    apt: str = ""
    apt_headers: str = ""
    dnf: str = ""
    dnf_headers: str = ""
    conda: str = ""
    brew: str = ""
    pip: str = ""
    cmake: str = ""
    first: str = ""
    note: str = ""


class VersionedLibrary(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A library that versions its symbols.

    Attributes:
        file: its name up to `.so`.
        product: its name in prose.
        conda: its package on conda-forge; empty if there is none.
    """

    file: str
    product: str
    conda: str = ""
