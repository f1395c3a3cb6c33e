"""The rows of the table of vendors as values. The fields are the keys of `vendors.toml`."""

# Annotations are not postponed: msgspec would compile each of them before it reads the first value.
from msgspec import Struct

from abiscan.model.imports import Owner


class Vendor(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A library that other files are linked to.

    Attributes:
        library: file name without `lib`, `.so` and version.
        files: names of its other files, in the same form.
        product: name for messages.
        owner: owner of its names.
        distribution: the wheel that contains it, without the CUDA suffix; empty if there is none.
        conda: its package of conda-forge, if no wheel contains it.
        conda_of_nvidia: its package in NVIDIA's channel of conda, which has the number of the soname.
        starts: prefixes of its C names.
        capital: prefixes that a capital letter must follow (`cudaMalloc`, not `cudalib_init`).
        names: complete C names.
        linked_by_user: whether it is a CUDA library that callers must link themselves, as torch does not (nvtx,
            curand).
        with_torch: whether `import torch` loads it in CUDA builds, if it is a CUDA library.
        cuda_releases: pairs of a number in its soname and the major releases of CUDA that have it, if they differ.
        numbered_as_cuda: whether that number is the major release, since CUDA 11.
        every_cuda: whether the number is the same for every release of CUDA.
        has_versions: whether all of its symbols have a version, its soname.
        has_plugin: whether its accelerator has a plug-in for torch.
        framework: whether it is a framework of macOS.
    """

    library: str
    product: str
    owner: Owner
    distribution: str = ""
    conda: str = ""
    conda_of_nvidia: str = ""
    files: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()
    capital: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    linked_by_user: bool = False
    with_torch: bool = True
    cuda_releases: tuple[tuple[str, tuple[str, ...]], ...] = ()
    numbered_as_cuda: bool = False
    every_cuda: bool = False
    has_versions: bool = False
    has_plugin: bool = False
    framework: bool = False

    @property
    def cuda(self) -> bool:
        """Whether it is part of CUDA or versioned with it."""
        return self.owner is Owner.CUDA


class VendorTable(Struct, frozen=True, forbid_unknown_fields=True):
    """Every row of `vendors.toml`.

    Attributes:
        vendors: the first of two rows for one library is used.
        namespaces: top-level C++ namespace whose library is neither torch's nor, by default, the extension's -> its
            library; empty if that has headers alone.
        cuda_since: C names of CUDA -> the release that added them, if it is older than the first with known exports.
        distributions: requirements for CUDA toolkit libraries that some release on the package index satisfies.
    """

    vendors: tuple[Vendor, ...]
    namespaces: dict[str, str]
    cuda_since: dict[str, str]
    distributions: frozenset[str]


class IndexedVendors(VendorTable, frozen=True, forbid_unknown_fields=True):
    """The rows and their places by what is looked up, as in `abiscan/data/vendors.json`.

    Attributes:
        prefixes: prefix of C names -> place of the vendor, and whether a capital letter must follow.
        names: complete C name -> place of the vendor.
        beginnings: of prefixes and names, two characters: they reject nearly all other names quickly.
        lengths: of prefixes, the longest first.
        libraries: base name of a library file -> place of the vendor.
    """

    prefixes: dict[str, tuple[int, bool]]
    names: dict[str, int]
    beginnings: frozenset[str]
    lengths: tuple[int, ...]
    libraries: dict[str, int]
