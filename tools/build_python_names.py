"""Make abiscan/data/python_names.xz: the Python modules and names of each release of torch and packages beside it.

    python tools/build_python_names.py WHEEL...

Only the sources (`.py`, `.pyi`) in a wheel are read, and the strings of libtorch_python. A wheel of any platform will
do, one per release (of torch for macOS: its linker keeps each string). NumPy is imported, by the Python of its wheel.
Packages without a wheel stay as they are. Names that some release of the package lacks are stored.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import re
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from write_data import write_compressed  # noqa: E402 - of this work tree, installed or not

from abiscan.data import read_compressed  # noqa: E402
from abiscan.ownership.python_name_releases import FILE, MODULE  # noqa: E402

TESTS = re.compile(
    r"(?:^|\.)(?:tests?|test_utils|testing|testing_utils|_internal|conftest|benchmarks?|commands|_vendor)(?:\.|$)"
)
# Modules that no other project imports, or that have the same names in every release in which they are.
_INTERNAL = re.compile(
    r"^torch\.(?:_inductor|_dynamo|_refs|_decomp|_prims|_functorch|_export|_subclasses|_numpy|_lazy|_library|_logging"
    r"|_higher_order_ops|_C|_strobelight|ao|csrc|export|for_onnx|masked|monitor|onnx|package|profiler|quantization)\."
    r"|^torch\.(?:_C$|_meta_registrations|_VF|_masked|contrib|legacy|nn\.(?:intrinsic|qat|quantized)|jit\._|fx\.\w+\.|distributions|sparse|utils\.(?:hipify|benchmark|tensorboard|viz)"
    r"|distributed\.(?:_|\w+\.\w+\.|\w+\._))"
    r"|^transformers\.(?:models\.\w+\.(?!modeling_(?!tf_|flax_))|utils\.dummy_"
    r"|(?:agents|benchmark|cli|distributed|exporters|kernels|onnx|pipelines|quantizers|sagemaker)\.)"
    r"|^diffusers\.(?:modular_pipelines|(?:pipelines|loaders|schedulers|quantizers|hooks|guiders)\.|utils\.dummy_)"
    r"|^(?:pytorch_lightning|torchmetrics)\.\w+\.|^(?:accelerate|peft|timm|torchvision)(?:\.\w+){3}"
    r"|^huggingface_hub\.(?:inference|cli|keras_mixin)"
    r"|^timm\.models\.(?!layers|registry|helpers|factory|_)"
    r"|^flash_attn\.(?:cute|flash_attn_triton_amd|models)\.|^mmdet(?:3d)?(?:\.\w+){3}"
    r"|^triton\.(?:_|profiler\.|experimental\.|compiler\.make_launcher|runtime\._|tools\.(?:compile|link))"
    r"|^torchao\.(?!(?:quantization(?:\.(?:quant_api|utils))?|float8|dtypes|utils)$)|^torchtext\.(?:prototype|experimental|datasets|models)"
)
# In these, and in modules below `a.b.c`, only functions and classes that the newest release lacks are stored: there are
# too many others.
_MANY = re.compile(
    r"(?:transformers\.(?:models|integrations)|diffusers\.(?:pipelines|loaders|schedulers)|torchmetrics\.functional)(?:\.|$)"
    r"|\w+(?:\.\w+){3}"
)
_CONSTANT = re.compile(r"[A-Z0-9_]+|_\w+|logger")
_OTHERS = re.compile(r"__|(?:TF|Flax)[A-Z]")
_TENSOR: Final = ("Tensor", "TensorBase", "_TensorBase")
_BOUND: Final = "torch._C"
_USED_OF_BOUND = re.compile(r"(?<!\w)_C\.(\w{3,96})(?!\w|\.)")
_STRING = re.compile(rb"(?<=\0)(?:torch\.)?(?:_C\.)?([A-Za-z_]\w{2,95})(?=\0)")

_IMPORTED: Final = "numpy"
# Prints the names of each module; most that are deprecated are in no dir(), but in tables of __init__.py.
_LIST_NAMES: Final = """
import importlib, json, pathlib, pkgutil, re, sys, types, warnings
warnings.simplefilter("ignore")
import numpy
others = re.compile(r"[.](_.*|tests?|testing|conftest|setup|distutils|f2py|typing|polynomial|fft|ma)([.]|$)|_tests?$")
words = set(re.findall(r"\\w{2,64}", pathlib.Path(numpy.__file__).read_text()))
found = {}
for name in ["numpy", *(each.name for each in pkgutil.walk_packages(numpy.__path__, "numpy.", lambda name: None))]:
    found[name] = []
    if not others.search(name):
        try:
            module = importlib.import_module(name)
        except (ImportError, OSError):  # a script of NumPy's build, without its sources
            continue
        names = set(dir(module)) | (words if name == "numpy" else set())
        if name.startswith("numpy.core"):  # passes names on to numpy._core
            names |= set(dir(sys.modules.get("numpy._core" + name[10:])))
        for each in sorted(names):
            try:
                is_name = not isinstance(getattr(module, each), types.ModuleType)
            except (AttributeError, RuntimeError):
                continue
            if is_name and not each.startswith("_"):
                found[name].append(each)
print(json.dumps(found))
"""


class Module:
    """What one source file defines."""

    def __init__(self, name: str, text: str, *, is_package: bool) -> None:
        self.names: set[str] = set()
        self.stars: list[str] = []
        self.members: dict[str, set[str]] = defaultdict(set)
        self.late: set[str] = set()
        self.used: set[str] = set(_USED_OF_BOUND.findall(text)) if name.startswith("torch.") else set()
        self.exported: list[str] | None = None
        self._package = name if is_package else name.rpartition(".")[0]
        self._root = name.partition(".")[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(SyntaxError):  # Python 2
                tree = ast.parse(text)
                self._read(tree.body)
                # An __init__.py may import by names in tables when they are first used.
                self.late = set(_strings([tree])) if is_package and "." not in name else set()

    def _read(self, body: Iterable[ast.stmt]) -> None:
        for each in body:
            match each:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.names.add(each.name)
                case ast.ClassDef():
                    self.names.add(each.name)
                    self._read_class(each)
                case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                    self._read_assignment(each)
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="__all__")), args=args)):
                    self.exported = [*(self.exported or ()), *_strings(args)]
                case ast.Import():
                    self.names.update(a.asname for a in each.names if a.asname and a.name.startswith(self._root))
                case ast.ImportFrom():
                    self._read_import(each)
                case ast.If() | ast.For() | ast.While() | ast.With() | ast.Try():
                    for part in (each.body, getattr(each, "orelse", []), getattr(each, "finalbody", [])):
                        self._read(part)
                    for handler in getattr(each, "handlers", []):
                        self._read(handler.body)

    def _read_import(self, each: ast.ImportFrom) -> None:
        source = each.module or ""
        if each.level:
            parts = self._package.split(".")
            source = ".".join([*parts[: len(parts) - each.level + 1], *([source] if source else [])])
        if source.partition(".")[0] != self._root:
            return
        for alias in each.names:
            if alias.name == "*":
                self.stars.append(source)
            else:
                self.names.add(alias.asname or alias.name)

    def _read_assignment(self, each: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        targets = each.targets if isinstance(each, ast.Assign) else [each.target]
        for target in (node for one in targets for node in ast.walk(one)):
            if isinstance(target, ast.Name):
                self.names.add(target.id)
        written = {target.id for target in targets if isinstance(target, ast.Name)}
        if each.value is not None and "__all__" in written:
            self.exported = [*(self.exported or ()), *_strings([each.value])]

    def _read_class(self, each: ast.ClassDef) -> None:
        for one in each.body:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                self.members[each.name].add(one.name)
            elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                self.members[each.name].add(one.target.id)
            elif isinstance(one, ast.Assign):
                self.members[each.name].update(t.id for t in one.targets if isinstance(t, ast.Name))


def _strings(nodes: Iterable[ast.AST]) -> list[str]:
    return [
        one.value
        for node in nodes
        for one in ast.walk(node)
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value.isidentifier()
    ]


class Release:
    """The scopes of a release and the names in each: modules, and the class torch.Tensor."""

    def __init__(self, wheel: Path, package: str, read: dict[tuple[str, int, int], Module]) -> None:
        """Read a wheel.

        Args:
            read: cache of files by path, CRC-32 and size: most are the same in consecutive releases.
        """
        self._modules: dict[str, list[Module]] = defaultdict(list)
        self.scopes: dict[str, set[str]] = defaultdict(set)
        self.strings: set[str] = set()
        if package == _IMPORTED:
            self._import(wheel)
            return
        with zipfile.ZipFile(wheel) as archive:
            for entry in archive.infolist():
                stem, _, suffix = entry.filename.rpartition(".")
                parts = stem.split("/")
                if suffix not in ("py", "pyi") or parts[0] != package or not all(map(str.isidentifier, parts)):
                    continue
                is_package = parts[-1] == "__init__"
                name = ".".join(parts[:-1] if is_package else parts)
                if TESTS.search(name):
                    continue
                key = (entry.filename, entry.CRC, entry.file_size)
                if key not in read:
                    read[key] = Module(name, archive.read(entry).decode("utf-8", "replace"), is_package=is_package)
                self._modules[name].append(read[key])
            # Compiled modules.
            for member in archive.namelist():
                if found := re.fullmatch(rf"({package}(?:/\w+)*)(?:\.[\w-]+)?\.(?:so|pyd)", member):
                    self._modules.setdefault(found[1].replace("/", "."), [])
                if re.fullmatch(r"torch/lib/libtorch_python\.\w+", member):
                    self.strings = {each.decode() for each in _STRING.findall(archive.read(member))}
        for name in sorted(self._modules):
            if not _INTERNAL.search(name):
                self._add(name, package)

    def _import(self, wheel: Path) -> None:
        tag = next(iter(parse_wheel_filename(wheel.name)[3])).interpreter
        with tempfile.TemporaryDirectory() as folder:
            zipfile.ZipFile(wheel).extractall(folder)
            command = [f"python{tag[2]}.{tag[3:]}", "-c", _LIST_NAMES]
            listed = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True).stdout
        for name, names in json.loads(listed).items():
            self.scopes[name].update(names)
            head, _, tail = name.rpartition(".")
            self.scopes[head] |= {tail, tail + MODULE} if head else set()
        self.scopes.pop("", None)

    def _add(self, name: str, package: str) -> None:
        self.scopes[name] |= self._visible(name, frozenset())
        head, _, tail = name.rpartition(".")
        if head:
            self.scopes[head] |= {tail, tail + MODULE}
        if name == "torch":
            for each in ("torch._C", "torch._C._VariableFunctions"):
                self.scopes[name] |= {one for one in self._visible(each, frozenset()) if not one.startswith("_")}
            sources = [
                m for each in ("torch", "torch._C", "torch.tensor", "torch._tensor") for m in self._modules[each]
            ]
            self.scopes["torch.Tensor"] = {one for m in sources for owner in _TENSOR for one in m.members[owner]}
            self.scopes[_BOUND] = self._visible(_BOUND, frozenset())
            self.scopes[_BOUND] |= {one for each in self._modules.values() for m in each for one in m.used}
        if name == package and name != "torch":
            self.scopes[name] |= {one for each in self._modules[name] for one in each.late}
            if "define_import_structure" in self.scopes[name]:  # transformers
                models = (
                    m for other, each in self._modules.items() if other.startswith(f"{package}.models.") for m in each
                )
                self.scopes[name] |= {one for each in models for one in each.exported or ()}

    def _visible(self, name: str, seen: frozenset[str]) -> set[str]:
        found: set[str] = set()
        for each in self._modules.get(name, ()):
            found |= each.names
            for star in each.stars:
                if star not in seen:
                    names = self._visible(star, seen | {name})
                    listed = next((m.exported for m in self._modules.get(star, ()) if m.exported), None)
                    found |= names & set(listed) if listed else {one for one in names if not one.startswith("_")}
        return found


def table(package: str, releases: Mapping[str, Release]) -> Iterator[str]:
    """The lines of one package: its releases, then `SCOPE<tab>MASK<tab>NAMES`."""
    known = sorted(releases, key=Version)
    yield " ".join([f"[{package}]", *known])
    # Stubs lack names that the compiled module has, and keep removed ones; that of macOS has none of CUDA.
    bound = {name for each in releases.values() for name in each.scopes.get(_BOUND, ())}
    compiled = {name for each in releases.values() for name in each.strings}
    for each in releases.values() if bound else ():
        each.scopes[_BOUND] = each.scopes[_BOUND] - compiled | bound & each.strings
    scopes = sorted({scope for each in releases.values() for scope in each.scopes})
    # Names that others define.
    common = {
        n for each in releases.values() for scope, names in each.scopes.items() if not _MANY.match(scope) for n in names
    }
    for scope in scopes:
        there = tuple(scope in releases[each].scopes for each in known)
        by_mask: dict[tuple[bool, ...], list[str]] = defaultdict(list)
        for name in sorted({name for each in releases.values() for name in each.scopes.get(scope, ())}):
            mask = tuple(name in releases[each].scopes.get(scope, ()) for each in known)
            is_module = name.endswith(MODULE)
            is_minor = (
                not is_module and _MANY.match(scope) and (mask[-1] or name in common or _CONSTANT.fullmatch(name))
            )
            if mask != there and not is_minor and not _OTHERS.match(name):
                by_mask[mask].append(name)
        for mask, names in sorted(by_mask.items()):
            names = [each for each in names if each + MODULE not in names]  # noqa: PLW2901
            yield f"{scope}\t{written_mask(mask)}\t{' '.join(names)}"


def written_mask(mask: tuple[bool, ...]) -> str:
    """Format a mask for `mask_of`: `0-4,7`."""
    runs: list[list[int]] = []
    for at, has in enumerate(mask):
        if has and runs and runs[-1][1] == at - 1:
            runs[-1][1] = at
        elif has:
            runs.append([at, at])
    return ",".join(f"{first}-{last}" if first != last else f"{first}" for first, last in runs)


def main() -> None:
    """Read the wheels and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="+", type=Path)
    releases: dict[str, dict[str, Release]] = defaultdict(dict)
    read: dict[tuple[str, int, int], Module] = {}
    for wheel in parser.parse_args().wheels:
        name, version, _build, _tags = parse_wheel_filename(wheel.name)
        package = canonicalize_name(name).replace("-", "_")
        releases[package][version.base_version] = Release(wheel, package, read)
    parts = dict(re.findall(r"(?ms)^\[(\w+)(\] .*?)(?=\n\[|\Z)", read_compressed(FILE)))
    tables = {package: f"[{package}{rest}" for package, rest in parts.items()}
    tables |= {package: "\n".join(table(package, releases[package])) for package in releases}
    write_compressed(FILE, "\n".join(tables[package] for package in sorted(tables)))


if __name__ == "__main__":
    main()
