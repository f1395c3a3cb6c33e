"""Make abiscan/data/python_parameters.xz: the parameters of Python functions in each release of torch and packages
beside it.

    python tools/build_python_parameters.py WHEEL...

Only the sources (`.py`) in a wheel are read. What every release of a function has is not stored.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from build_python_names import TESTS, written_mask  # noqa: E402 - of this work tree, installed or not
from write_data import write_compressed  # noqa: E402

from abiscan.ownership.python_name_releases import COUNT, EXISTS, OPTIONAL, PARAMETERS  # noqa: E402

_INTERNAL = re.compile(
    r"^torch\.(?:_(?!tensor|utils|jit_internal|library)|ao|csrc|for_onnx|package|fx\.(?!_symbolic)|testing|utils\.(?:_(?!pytree)"
    r"|hipify|benchmark|tensorboard|viz|data\.datapipes|bottleneck|model_dump)|backends\._|jit\._|onnx\._|autograd\.(?!grad)"
    r"|distributed\.(?:_|pipelining|checkpoint|elastic|launcher)|export\.|profiler\.|cuda\._|xpu\._|nested\._|sparse\._)"
    r"|^transformers\.(?:agents|benchmark|cli|commands|distributed|exporters|kernels|onnx|pipelines|sagemaker|utils\.dummy_"
    r"|models\.\w+\.(?:convert|tokenization|image_processing|processing|feature_extraction|video_processing))"
    r"|^diffusers\.(?:modular_pipelines|experimental|utils\.dummy_)"
    r"|^flash_attn\.(?:cute|flash_attn_triton|fused_softmax|models|ops\.triton|pyproject)"
    r"|^huggingface_hub\.(?:inference|cli|keras_mixin|utils\.(?!_headers|_http))"
    r"|^pytorch_lightning\.(?:loops|plugins|strategies|accelerators|overrides|tuner|utilities|cli|core\.mixins|trainer\.connectors|profiler)"
    r"|^triton\.(?:_|backends|compiler|experimental|tools|profiler|runtime\.(?:interpreter|cache|driver))"
    r"|^(?:accelerate|peft|trl|torchvision)\.(?:utils\.(?!dataclasses|operations)|commands|extras|scripts|prototype)"
)
_PRIVATE = re.compile(r"(?:^|\.)_(?!_(?:init|call|new)__$)|^(?:TF|Flax)[A-Z]")
_PRIVATE_CALLED: Final = ("flash_attn",)
"""Packages of which others call private functions."""
_PASSING: Final = ("from_pretrained", "from_single_file", "from_config")
_MANY: Final = 1 << 20


class Signature(NamedTuple):
    """What a function takes.

    Attributes:
        keywords: names of parameters, and those that it takes out of **kwargs.
        required: those without a default.
        positional: how many positional arguments it takes.
        takes_any: whether any keyword is taken.
    """

    keywords: frozenset[str]
    required: frozenset[str]
    positional: int
    takes_any: bool

    @classmethod
    def of(cls, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Signature:
        """Read a definition."""
        every = node.args
        positional = [each.arg for each in (*every.posonlyargs, *every.args)]
        required = positional[: len(positional) - len(every.defaults)]
        required += [each.arg for each, value in zip(every.kwonlyargs, every.kw_defaults, strict=True) if value is None]
        keywords = {*positional, *(each.arg for each in every.kwonlyargs)}
        taken = set(_taken(node, every.kwarg.arg)) if every.kwarg and node.name in _PASSING else set()
        count = _MANY if every.vararg else len(positional)
        return cls(frozenset(keywords | taken), frozenset(required), count, bool(every.kwarg) and not taken)


def _taken(node: ast.AST, mapping: str) -> Iterator[str]:
    """Keys of `kwargs.pop("key")` and `kwargs.get("key")`."""
    for each in ast.walk(node):
        match each:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="pop" | "get"), args=[ast.Constant(value=str(key)), *_]
            ) if name == mapping:
                yield key


class Source:
    """The functions and dataclasses of a source file."""

    def __init__(self, text: str) -> None:
        self.functions: dict[str, Signature] = {}
        self.dataclasses: dict[str, tuple[dict[str, bool], list[str]]] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self._read(ast.parse(text).body, "")
            except (SyntaxError, ValueError):  # Python 2
                return

    def _read(self, body: Iterable[ast.stmt], prefix: str) -> None:
        for each in body:
            match each:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    if not any(re.search(r"overload|setter|'property'", ast.dump(one)) for one in each.decorator_list):
                        self.functions[prefix + each.name] = Signature.of(each)
                case ast.ClassDef() if not prefix:
                    self._read(each.body, f"{each.name}.")
                    if any("dataclass" in ast.dump(one) for one in each.decorator_list):
                        self._read_dataclass(each)
                case ast.If() | ast.Try() | ast.With():
                    for part in (each.body, getattr(each, "orelse", [])):
                        self._read(part, prefix)
                    for handler in getattr(each, "handlers", []):
                        self._read(handler.body, prefix)

    def _read_dataclass(self, each: ast.ClassDef) -> None:
        fields = {
            one.target.id: one.value is None
            for one in each.body
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        }
        bases = [one.id if isinstance(one, ast.Name) else getattr(one, "attr", "") for one in each.bases]
        self.dataclasses[each.name] = (fields, bases)


def read_release(wheel: Path, package: str, read: dict[tuple[str, int, int], Source]) -> dict[str, list[Signature]]:
    """The signatures of each function: `f`, `Class.method`.

    Args:
        read: cache of files by path, CRC-32 and size.
    """
    found: dict[str, list[Signature]] = defaultdict(list)
    dataclasses: dict[str, tuple[dict[str, bool], list[str]]] = {}
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            stem, _, suffix = entry.filename.rpartition(".")
            parts = stem.split("/")
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            if suffix != "py" or parts[0] != package or TESTS.search(name) or _INTERNAL.search(name):
                continue
            key = (entry.filename, entry.CRC, entry.file_size)
            if key not in read:
                read[key] = Source(archive.read(entry).decode("utf-8", "replace"))
            for function, signature in read[key].functions.items():
                found[function].append(signature)
            dataclasses.update(read[key].dataclasses)
    for each in dataclasses:
        fields = _fields(each, dataclasses, ())
        if fields and f"{each}.__init__" not in found:
            required = frozenset(name for name, is_required in fields.items() if is_required)
            found[f"{each}.__init__"].append(Signature(frozenset(fields), required, len(fields) + 1, takes_any=False))
    return found


def _fields(
    name: str, known: Mapping[str, tuple[dict[str, bool], list[str]]], seen: tuple[str, ...]
) -> dict[str, bool]:
    if name not in known or name in seen:
        return {}
    fields, bases = known[name]
    inherited = (_fields(base, known, (*seen, name)) for base in reversed(bases))
    return {key: value for each in (*inherited, fields) for key, value in each.items()}


def table(package: str, releases: Mapping[str, Mapping[str, list[Signature]]]) -> Iterator[str]:
    """The lines of one package: its releases, then `FUNCTION<tab>MASK<tab>NAMES`."""
    known = sorted(releases, key=Version)
    yield " ".join([f"[{package}]", *known])
    for function in sorted({each for release in releases.values() for each in release}):
        if _PRIVATE.search(function) and package not in _PRIVATE_CALLED:
            continue
        rows = list(_rows(function, [releases[each].get(function, []) for each in known]))
        if rows:
            for mask, names in rows:
                yield f"{function}\t{mask}\t{' '.join(names)}"


def _rows(function: str, by_release: list[list[Signature]]) -> Iterator[tuple[str, list[str]]]:
    there = tuple(map(bool, by_release))
    every = [each for release in by_release for each in release]
    names = {name for each in every for name in each.keywords if not name.startswith("_")} - {"self", "cls"}
    counts = sorted({each.positional for each in every} - {_MANY}) if "." not in function else []
    takes = {
        **{name: lambda each, name=name: each.takes_any or name in each.keywords for name in names},
        **{name + OPTIONAL: lambda each, name=name: name not in each.required for name in names},
        **{
            f"{COUNT}{count}": lambda each, count=count: each.positional >= count
            for count in (range(counts[0] + 1, counts[-1] + 1) if counts else ())
        },
    }
    by_mask: dict[tuple[bool, ...], list[str]] = defaultdict(list)
    for name, is_taken in takes.items():
        mask = tuple(any(map(is_taken, release)) for release in by_release)
        if mask != there and any(mask):
            by_mask[mask].append(name)
    if by_mask and not all(there):
        by_mask[there].append(EXISTS)
    for mask, found in sorted(by_mask.items()):
        yield written_mask(mask), sorted(found)


def main() -> None:
    """Read the wheels and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="+", type=Path)
    releases: dict[str, dict[str, Mapping[str, list[Signature]]]] = defaultdict(dict)
    read: dict[tuple[str, int, int], Source] = {}
    for wheel in parser.parse_args().wheels:
        name, version, _build, _tags = parse_wheel_filename(wheel.name)
        package = canonicalize_name(name).replace("-", "_")
        releases[package][version.base_version] = read_release(wheel, package, read)
    lines = [line for package in sorted(releases) for line in table(package, releases[package])]
    write_compressed(PARAMETERS, "\n".join(lines))


if __name__ == "__main__":
    main()
