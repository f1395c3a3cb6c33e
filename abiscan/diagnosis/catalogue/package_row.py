"""The rows of `catalogue/packages.toml`, `libraries.toml` and `torch_limits.toml` as values, and the whole package
catalogue. The fields are the keys."""

# Annotations are not postponed: msgspec would compile each of them before it reads the first value.
from typing import Literal

from msgspec import Struct


class _Row(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    pass


class Wheels(_Row, frozen=True, kw_only=True):
    """Wheels that a project publishes for releases of torch, and the pip command for them.

    Attributes:
        install: arguments of `pip install`, with places: `{name}`, `{release}` of the package, `{torch}` (2.8.1),
            `{minor}` (2.8), `{short}` (28), `{digits}` (281), `{variant}` (cu128), `{major}` of CUDA (12), `{abi}`
            (TRUE for the C++11 std::string), `{python}` (cp311), `{py}` (py311), `{platform}`. With a page (`-f`) and
            `--no-index`: pip would otherwise prefer a newer source on the package index, and build it.
        platforms: wheel platforms without a policy: `linux_x86_64`, `win_amd64`, `macosx`.
        variants: torch (minor or full version) -> variants with a wheel; `cu12` is every CUDA 12.
        releases: torch (minor or full version) -> release of the package; empty if one page covers all.
        pythons: first and last CPython with a wheel; empty if the same as for torch.
        with_torch: the command also names torch, so that pip resolves both.
        source: page or file with this information.
        date: of its last change, or of reading it if it has no date (YYYY-MM-DD).
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


class HipSource(_Row, frozen=True, kw_only=True):
    """A source of a package that compiles with HIP, for AMD and Hygon GPUs.

    Attributes:
        source: requirement for pip.
        torch, before_torch: first torch, and the first one that it does not compile with; empty if none is known.
        rocm, before_rocm: the same for ROCm.
        python: first CPython (`Requires-Python`); empty if every one of its torches has it.
        older_rocm: what comes of it with a release before `rocm` that compiles it, too; empty if none is known.
        environment: variables for a complete build; empty if they are those of the package.
        note: what else decides the source.
        because: how this was found.
        date: YYYY-MM-DD.
    """

    source: str
    torch: str = ""
    before_torch: str = ""
    rocm: str = ""
    before_rocm: str = ""
    python: str = ""
    older_rocm: str = ""
    environment: tuple[str, ...] = ()
    note: str = ""
    because: str = ""
    date: str = ""


class GpuCompiler(_Row, frozen=True, kw_only=True):
    """Whether the build of a package, with its `environment`, needs nvcc or hipcc.

    Attributes:
        needed: `always`; `with-gpu-torch`: if torch has CUDA (`find_package(Torch)` of CMake then fails without nvcc);
            `if-found`: the build leaves GPU code out if it finds none; `never`.
        source: file of the package with this information.
        date: of reading it (YYYY-MM-DD).
    """

    needed: Literal["always", "with-gpu-torch", "if-found", "never"]
    source: str
    date: str


class RequiredTorch(_Row, frozen=True, kw_only=True):
    """The torch that the metadata of a package requires.

    Attributes:
        release: of the package; empty if each of its recent ones requires the same.
        requirement: for pip (`torch>=2.14.0`); empty if it requires none.
        source: file of the package with this information.
        date: of reading it (YYYY-MM-DD).
    """

    release: str = ""
    requirement: str
    source: str
    date: str


class OperatorRelease(_Row, frozen=True, kw_only=True):
    """The first release of a package that registers the functions of its compiled modules as operators of torch.

    Attributes:
        release: of the package.
        torch: first torch that it registers them with; empty for any.
        call: functions of the package to call in place of the bound ones; empty if each has one of its own name.
        callers: packages that called the bound functions -> their first release that calls the operators.
        source: file with this information.
        date: of reading it (YYYY-MM-DD).
    """

    release: str
    torch: str = ""
    call: str = ""
    callers: dict[str, str] = {}
    source: str
    date: str


class FormerName(_Row, frozen=True, kw_only=True):
    """The distribution that has the older releases of a package.

    Attributes:
        name: of the distribution, in the catalogue.
        before: the first release under the new name.
    """

    name: str
    before: str


class WithoutFile(_Row, frozen=True, kw_only=True):
    """Releases of a package that do not have some of its shared objects.

    Attributes:
        files: prefixes of these.
        command: that installs such a release.
    """

    files: tuple[str, ...]
    command: str


class Unsupported(_Row, frozen=True, kw_only=True):
    """Platforms that a package has no builds for, and that its source does not compile on.

    Attributes:
        platforms: of wheels, without a policy.
        source: page or file of the package with this information.
        date: of reading it (YYYY-MM-DD).
    """

    platforms: tuple[str, ...]
    source: str
    date: str


class KnownFailure(_Row, frozen=True, kw_only=True):
    """Why builds of a package fail, for texts that do not have the compiler's message.

    Attributes:
        cause: its id.
        torch: first torch that it fails with; empty if it does not depend on torch.
        because: sentence.
        source: file of the package, or thread, with this information.
        date: of its change, or of reading it (YYYY-MM-DD).
    """

    cause: str
    torch: str = ""
    because: str
    source: str
    date: str


class Package(_Row, frozen=True, kw_only=True):
    """A package of extensions.

    Attributes:
        name: of the distribution, normalised (PEP 503).
        modules: folders and modules in site-packages.
        files: prefixes of its shared objects, if the folder does not identify it.
        namespaces: of its C++ names.
        operators: namespace of its operators for torch -> the module with the library that registers them.
        registers: since when its functions are operators that torch.compile does not trace; None if they are not.
        wheels: ids of wheels outside of the package index.
        last_torch: the last of the torches of these rows (minor version) that it has wheels for; empty for all of them.
        sdist: the newest release on the package index has its source.
        for_older_torch: first torch that its newest release compiles with -> the last release for an older torch.
        hip: its sources that compile with HIP, best first; empty if the newest release does, or nothing is known.
        rocm_wheels: page with wheels for ROCm of another project.
        repository: source repository for pip, if the index has no source.
        environment: variables for a complete build.
        npu_environment: such variables, where torch is that of Ascend NPUs.
        gpu_compiler: whether this build needs nvcc or hipcc; None if unknown.
        checkout: source repository with a tag for each release, for edits, or with files that the source on the index
            lacks.
        checkout_tag: the tag of a release there, `vRELEASE`; empty if its releases have none.
        checkout_folder: the folder of the package there, if it is not the root.
        checkout_environment: variables for a complete build of a checkout.
        checkout_steps: commands that precede the build of a checkout, beside the installed torch.
        checkout_steps_since: first release -> its such commands, oldest first; checkout_note is for an unknown one.
        checkout_note: what else the build of a checkout needs, or other releases.
        without: releases of it without some of its shared objects; None if all have them.
        force_build: variables for a build that would fetch a wheel for a release of torch.
        tags: torch (minor) -> tag of the repository whose changes list it.
        requires: packages to install before a build without isolation.
        uses: packages of this catalogue that it imports, which must be built for the same torch.
        requires_torch: what its metadata require of torch; None if that was not read.
        imports: packages of its `Requires-Dist` that its import needs besides torch, which `--no-deps` leaves out.
        fetches_wheel: its build first looks for the wheel for the installed torch.
        upgrade: its wheels on the package index require their torch: the newest fits the newest.
        any_variant: its wheels do not depend on torch's variant.
        unsupported: platforms that it is not for; None if none is known.
        cuda_only: it works with GPUs of NVIDIA alone, and is not built for a CPU build of torch.
        nightly: page with this information: the index of torch's nightly builds has its own; empty if it has none.
        ended: no wheels for a newer torch than those of its rows are published any more.
        same_release: page of its release for torch `{minor}`, which has that number, too.
        optional: programs use it only if it is installed, and work without it; the page with this information.
        works_unbuilt: what most of it does without its compiled modules; pip installs it so from the index.
        needs_no_torch: it does not link torch.
        cuda: variant or major release of CUDA (`cu124`, `cu12`) -> requirement for pip, if its builds are for a CUDA
            and not for a torch.
        pages: platform, as of wheels -> page of its wheels that pip cannot search.
        conda: requirement for conda, if it is on no other index.
        conda_forge: its name on conda-forge, where it is built for the torch there.
        command: install command, if neither pip nor conda has it.
        images: torch (minor) -> release of nvcr.io/nvidia/pytorch with a build of it.
        own_torch: who distributes the torch that it is built for, and where from; empty for the torch of PyTorch.
        architectures: how its build takes the GPUs, if not by TORCH_CUDA_ARCH_LIST: a variable (`{digits}` is 86,
            `{capability}` 8.6), or the file that lists them.
        architectures_source: file of the package with this information.
        guide: page with the steps of a build that pip cannot run.
        former: the distribution with its compiled modules before some release.
        namesake: page that shows that the distribution of this name on the package index is another project.
        known_failures: why its builds fail.
    """

    name: str
    modules: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    operators: dict[str, str] = {}
    registers: OperatorRelease | None = None
    wheels: tuple[str, ...] = ()
    last_torch: str = ""
    sdist: bool = False
    for_older_torch: dict[str, str] = {}
    hip: tuple[HipSource, ...] = ()
    rocm_wheels: str = ""
    repository: str = ""
    environment: tuple[str, ...] = ()
    npu_environment: tuple[str, ...] = ()
    gpu_compiler: GpuCompiler | None = None
    checkout: str = ""
    checkout_tag: str = ""
    checkout_folder: str = ""
    checkout_environment: tuple[str, ...] = ()
    checkout_steps: tuple[str, ...] = ()
    checkout_steps_since: dict[str, tuple[str, ...]] = {}
    checkout_note: str = ""
    without: WithoutFile | None = None
    force_build: tuple[str, ...] = ()
    tags: dict[str, str] = {}
    requires: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    requires_torch: RequiredTorch | None = None
    imports: tuple[str, ...] = ()
    fetches_wheel: bool = False
    upgrade: bool = False
    any_variant: bool = False
    unsupported: Unsupported | None = None
    cuda_only: bool = False
    nightly: str = ""
    ended: bool = False
    same_release: str = ""
    optional: str = ""
    works_unbuilt: str = ""
    needs_no_torch: bool = False
    cuda: dict[str, str] = {}
    pages: dict[str, str] = {}
    conda: str = ""
    conda_forge: str = ""
    command: str = ""
    images: dict[str, str] = {}
    own_torch: str = ""
    architectures: str = ""
    architectures_source: str = ""
    guide: str = ""
    former: FormerName | None = None
    namesake: str = ""
    known_failures: tuple[KnownFailure, ...] = ()


class Program(_Row, frozen=True, kw_only=True):
    """Programs of another language that load libtorch, which pip does not install.

    Attributes:
        words: each match of the pattern contains one of these, which are found without it.
        pattern: in the path of a file or in a text; bounded.
        unless: not in that text.
        shows: command that prints the release of libtorch; empty if there is none.
        release: which release fits. Places: `{torch}`, and `{archive}`, the page or address of the archive.
        build: command that builds or installs the program for it.
        abi: how to build for the other std::string; empty if the archive decides.
        library_path: command that lets the loader find libtorch, if that is not in a folder libtorch/lib.
        from_source: command that compiles its C++ library on this system; empty if `build` does.
        old_glibc: command that installs a libtorch for glibc 2.17; empty if there is none.
        source: page with this information.
        date: YYYY-MM-DD.
    """

    id: str
    words: tuple[str, ...]
    pattern: str
    unless: str = ""
    shows: str = ""
    release: str
    build: str
    abi: str = ""
    library_path: str = ""
    from_source: str = ""
    old_glibc: str = ""
    source: str = ""
    date: str = ""


class SystemLibrary(_Row, frozen=True, kw_only=True):
    """A library of the system, and the packages that have it.

    Attributes:
        names: of its files without `.so` and what follows, or with it (`libmpi.so.40`), and of its DLLs; `*` stands for
            any part.
        headers: its headers, or their folders.
        product: name for messages.
        apt, dnf, conda, brew, pip: packages for a loader, several with blanks between; `{major}` is the first number
            behind `.so.`. Empty if none has it.
        apt_headers, dnf_headers: packages with its headers, where those are others.
        cmake: its name in CMake's find_package, if that is not `id`, in upper or lower case.
        first: the way that comes before any package, such as a submodule.
        jetson: how it is installed on a Jetson, where that is another way.
        nix: its attribute in nixpkgs, with the output that has the file.
        note: what else to do, or another way.
        windows: this on Windows.
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
    jetson: str = ""
    nix: str = ""
    note: str = ""
    windows: str = ""


class VersionedLibrary(_Row, frozen=True, kw_only=True):
    """A library that versions its symbols.

    Attributes:
        file: its name up to `.so`.
        product: its name in prose.
        conda: its package on conda-forge; empty if there is none.
    """

    file: str
    product: str
    conda: str = ""


class TorchLimit(_Row, frozen=True, kw_only=True):
    """A package with releases that allow one torch at most: a row of `torch_limits.toml`.

    Attributes:
        install: requirement for pip, without a release.
        releases: newest torch that a release allows -> the newest such release that was read.
        source: page with this information.
        date: of reading it (YYYY-MM-DD).
    """

    name: str
    install: str
    releases: dict[str, str]
    source: str = ""
    date: str = ""


class PackageCatalogue(_Row, frozen=True, kw_only=True):
    """Every row, as in `abiscan/data/packages.json.gz`.

    Attributes:
        version: beginning of a symbol version -> the library that defines it; the first counts.
    """

    wheels: tuple[Wheels, ...] = ()
    package: tuple[Package, ...] = ()
    library: tuple[SystemLibrary, ...] = ()
    program: tuple[Program, ...] = ()
    torch_limit: tuple[TorchLimit, ...] = ()
    version: dict[str, VersionedLibrary] = {}
