"""The package catalogue of this version, from `abiscan/data/packages.json.gz`, which `tools/generate.py` generates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from msgspec.structs import replace

from abiscan.data import read_table
from abiscan.diagnosis.catalogue.package_row import Package, PackageCatalogue, Program, TorchLimit, Wheels
from abiscan.model import versions

# Words of a sentence in which a package is searched, and letters of a name that is no other word.
_MOST_WORDS: Final = 80
_FEWEST_LETTERS: Final = 5
_TORCH: Final = frozenset(("torch", "pytorch"))


@cache
def load_packages() -> PackageCatalogue:
    """Every row."""
    return read_table("packages.json.gz", PackageCatalogue)


@cache
def packages_by_name() -> Mapping[str, Package]:
    """The packages by their normalised names."""
    return {package.name: package for package in load_packages().package}


@cache
def torch_limits_by_name() -> Mapping[str, TorchLimit]:
    """The packages that allow one torch at most, by their names."""
    return {limit.name: limit for limit in load_packages().torch_limit}


@cache
def wheels_by_id() -> Mapping[str, Wheels]:
    """The wheels by their ids."""
    return {wheels.id: wheels for wheels in load_packages().wheels}


def wheels_of(package: Package) -> tuple[Wheels, ...]:
    """The rows of wheels of a package, for every platform."""
    rows = tuple(wheels_by_id()[each] for each in package.wheels)
    last = versions.order(package.last_torch)
    return rows if last is None else tuple(_until(last, row) for row in rows)


def _until(last: versions.Order, row: Wheels) -> Wheels:
    """A row without torches after the last one."""
    kept = {torch: known for torch, known in row.variants.items() if (versions.order(torch) or ())[:2] <= last}
    return row if len(kept) == len(row.variants) else replace(row, variants=kept)


@lru_cache(maxsize=256)  # of all symbols of a file
def program_of_text(text: str) -> Program | None:
    """The first kind of program without Python that a text or a path shows."""
    possible = (each for each in load_packages().program if any(word in text for word in each.words))
    shown = (each for each in possible if re.search(each.pattern, text, re.ASCII) is not None)
    return next((each for each in shown if not each.unless or re.search(each.unless, text, re.ASCII) is None), None)


@cache
def programs_by_id() -> Mapping[str, Program]:
    """The kinds of programs by their ids."""
    return {program.id: program for program in load_packages().program}


@cache
def _packages_by_module() -> Mapping[str, Package]:
    return {module.lower(): package for package in load_packages().package for module in package.modules}


@cache
def _packages_of_files() -> tuple[Package, ...]:
    return tuple(package for package in load_packages().package if package.files and not package.modules)


@lru_cache(maxsize=256)  # of all symbols of a file
def package_of_file(path: str, *, is_installed: bool = False) -> Package | None:
    """The package of a shared object, detected from its folders and name; None if unknown. torch-scatter for
    `.../site-packages/torch_scatter/_version_cuda.so` and `torch_scatter/_C.so`, flash-attn for
    `.../flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so`.

    Args:
        is_installed: whether the path is that of a member of a wheel, below site-packages.
    """
    *folders, base = path.replace("\\", "/").split("/")
    by_module = _packages_by_module()
    stem = base.partition(".")[0]
    # A build of a package that its files identify, in whatever folder.
    of_file = next((p for p in _packages_of_files() if stem and stem.startswith(p.files)), None)
    if of_file is not None:
        return of_file
    # A folder `_ext` is of no package; a module of that name is.
    packages = (at for at, each in enumerate(folders, start=1) if each.endswith("-packages"))
    below = next((folders[at:] for at in packages), folders if is_installed else ())
    # `other/deepspeed.so` is of the package `other`.
    own = (stem,) if not below or below[0].endswith(".egg") else ()
    for part in (*(each for each in reversed(folders) if not each.startswith("_")), *own):
        found = by_module.get(part.removesuffix(".libs").lower())
        if found is not None:
            return found
    return next((p for p in load_packages().package if stem and stem.startswith(p.files or ("\0",))), None)


def package_of_name(name: str) -> Package | None:
    """The package with a top-level module or distribution of that name; None if the catalogue has none."""
    normalised = name.lower().replace("_", "-")
    by_name = packages_by_name()
    return (
        _packages_by_module().get(name.lower())
        or _packages_by_module().get(normalised.replace("-", "_"))
        or by_name.get(normalised)
        or by_name.get(normalised.removesuffix("-full"))
        or _packages_by_repository().get(normalised)
    )


@cache
def _packages_by_repository() -> dict[str, Package]:
    """Repositories that are not named as their package: `tiny-cuda-nn`. A name of one word is also one of other
    things."""
    found: dict[str, Package] = {}
    for package in load_packages().package:
        for page in filter(None, (package.repository, package.checkout)):
            name = re.split(r"\.git|@|/?#", page)[0].rpartition("/")[2].lower().replace("_", "-")
            if "-" in name:
                found.setdefault(name, package)
    return found


def package_in_words(text: str) -> Package | None:
    """The first package that a sentence names in some way: `flash attention`, `detectron 2`, `TransformerEngine`."""
    words = [word.lower().replace("attention", "attn") for word in re.findall(r"[A-Za-z0-9]{1,40}", text)[:_MOST_WORDS]]
    runs = ("".join(words[at : at + count]) for at in range(len(words)) for count in (3, 2, 1))
    return next(filter(None, map(_packages_by_letters().get, runs)), None)


@cache
def _packages_by_letters() -> dict[str, Package]:
    names = {**_packages_by_module(), **packages_by_name()}
    letters = {re.sub(r"[^a-z0-9]", "", name.lower()): package for name, package in names.items()}
    return {name: package for name, package in letters.items() if len(name) >= _FEWEST_LETTERS and name not in _TORCH}


def is_module_of_package(module: str) -> bool:
    """Whether a top-level module belongs to a package of the catalogue."""
    return module.lower() in _packages_by_module()


def is_file_of_package(module: str) -> bool:
    """Whether a module (`spconv.core_cc`, `flash_attn_2_cuda`) is a shared object of a package, by its name."""
    first, _, base = module.rpartition(".")
    package = _packages_by_module().get(first.partition(".")[0].lower()) if first else package_of_file(module)
    return package is not None and bool(package.files) and base.startswith(package.files)


@cache
def packages_by_operators() -> Mapping[str, Package]:
    """The packages by the namespaces of their operators for torch: vllm for `_moe_C`."""
    return {namespace: package for package in load_packages().package for namespace in package.operators}


@cache
def packages_by_namespace() -> Mapping[str, Package]:
    """The packages by their top-level C++ namespaces."""
    return {namespace: package for package in load_packages().package for namespace in package.namespaces}
