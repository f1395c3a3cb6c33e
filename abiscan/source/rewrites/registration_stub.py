"""Generates a Python module that registers functions, which only pybind11 binds, as torch operators.

Unknown parts are NotImplementedError: shape and dtype of a result. A function without a result only needs `return
None`. API: torch.library.custom_op (torch 2.4 and later), which does not accept annotations as strings."""

from __future__ import annotations

import keyword
import posixpath
import re

from msgspec.structs import replace

from abiscan.source.pybind_functions import Keyword, Parameter, PybindFunction, PybindSignature

# C++ type, without namespaces, const and references -> annotation for torch.library.infer_schema.
_SCALARS = {
    "Tensor": "torch.Tensor",
    "bool": "bool",
    "double": "float",
    "float": "float",
    "string": "str",
    "string_view": "str",
    "ScalarType": "torch.dtype",
    "Device": "torch.device",
    "TensorList": "List[torch.Tensor]",
    "IntArrayRef": "List[int]",
    **dict.fromkeys(("short", "int", "long", "size_t"), "int"),
    **dict.fromkeys(("int64_t", "int32_t", "int16_t", "int8_t", "uint64_t", "uint32_t", "uint16_t", "uint8_t"), "int"),
}
_NAMESPACES = frozenset({"std", "at", "c10", "torch", "::", "&", "unsigned", "typename"})
_HEAD = '''"""Operators for what {source} binds by pybind11, so that torch.compile can trace calls of it.

Written by `abiscan fix` as a beginning. Import `{module}` as it is imported elsewhere; compare `mutates_args`
with what each function writes to ("unknown": any of its tensors; an argument that is written to and not named gives
wrong results); write what a result looks like where a fake implementation raises.
"""

from typing import List, Optional, Tuple

import torch

import {module} as _bound
'''


# Placeholder for an unknown module name, and the comment about it.
UNKNOWN_MODULE = "MODULE_NAME"
_UNNAMED = """# The name of the module is unknown: no setup.py or CMakeLists.txt names the module of this source.
# Edit line {line}: replace MODULE_NAME with the name that Python imports.
"""


def module_name(setup: str, source: str) -> str | None:
    """The module that a setup.py builds from a source: `CUDAExtension("name", ["source"])`, or the only module; None if
    unknown.

    Args:
        setup: text of setup.py.
        source: path of the source.
    """
    named = list(re.finditer(r"Extension\(\s*(?:name\s*=\s*)?[\"']([A-Za-z_][\w.]{0,200})[\"']", setup))
    # Classes derived from Extension, and calls of its constructor, build nothing.
    others = re.findall(r"class \w+\([\w.]*Extension\(?|Extension\.__init__\(", setup)
    made = setup.count("Extension(") - sum("Extension(" in other for other in others)
    if len({match[1] for match in named}) == 1 and made == len(named):
        return named[0][1]  # its sources may come from a glob
    # Several modules may have an `interface.cpp`: take the one with the longest matching end of the path, if it is
    # unique.
    lengths = [
        _named_end(setup[match.end() : match.end() + 20_000].partition("Extension(")[0], source) for match in named
    ]
    best = max(lengths, default=0)
    return named[lengths.index(best)][1] if best and lengths.count(best) == 1 else None


def module_of_cmake(text: str, source: str) -> str | None:
    """The module that a CMakeLists.txt builds from a source: `pybind11_add_module(name source...)`, or the only module.

    Args:
        source: path of the source.
    """
    commands = r"(?im)^\s*(?:pybind11_add_module|python3?_add_library)\s*\(\s*([A-Za-z_]\w{0,200})\b([^)]{0,20000})"
    made = re.findall(commands, text)
    naming = [name for name, sources in made if posixpath.basename(source) in sources]
    found = {*naming} or {name for name, _sources in made}
    return found.pop() if len(found) == 1 else None


def _named_end(sources: str, path: str) -> int:
    """Number of parts at the end of a path, including the file name, that are quoted in the text."""
    parts = path.split("/")
    given = re.findall(r"[\"']([^\"'\n]{1,300})[\"']", sources)
    best = 0
    for each in given:
        names = posixpath.normpath(each).lstrip("./").split("/")
        if len(names) <= len(parts) and parts[-len(names) :] == names:
            best = max(best, len(names))
    return best


def registration_stub(source: str, module: str | None, functions: list[PybindFunction]) -> str | None:
    """The text of the Python module; None if no function can be registered.

    Args:
        source: path of the file that binds them, for the text.
        module: import name; None if unknown.
        functions: functions on tensors, each with its signature.
    """
    head = _HEAD
    # The last part alone (`_C`, `csrc`) is common to many packages.
    namespace = re.sub(r"\W", "_", module or posixpath.splitext(source)[0])
    if module is None:
        module = UNKNOWN_MODULE
        place = (_UNNAMED + _HEAD).partition("import {module} as")[0].count("\n") + 1
        head = _UNNAMED.format(line=place) + _HEAD
    written: list[str] = []
    left: list[str] = []
    for function in {each.name: each for each in functions}.values():
        text = _function(namespace, function)
        if text is None:
            left.append(f"#   {function.name}")
        else:
            written.append(text)
    if not written:
        return None
    tail = ["\n# Not written, as they take or return what an operator cannot:", *left] if left else []
    return "\n".join([head.format(source=source, module=module), *written, *tail]).rstrip() + "\n"


def _function(namespace: str, function: PybindFunction) -> str | None:
    signature = function.signature
    if signature is None or not function.name.isidentifier() or keyword.iskeyword(function.name):
        return None
    # With the parameter names of the definition, calls by keyword or with defaults keep working.
    keywords = function.keywords if len(function.keywords) == len(signature.parameters) else ()
    named = [replace(each, name=word.name) for each, word in zip(signature.parameters, keywords, strict=False)]
    taken = [_annotated(number, each) for number, each in enumerate(named or signature.parameters)]
    result = _result(signature)
    if result is None or None in taken:
        return None
    names = [each.partition(":")[0] for each in taken if each is not None]
    for number in range(len(keywords) - 1, -1, -1):
        default = _default(keywords[number])
        if default is None:
            break  # Python allows no default before a parameter without one
        taken[number] = f"{taken[number]} = {default}"
    if len(set(names)) < len(names):
        return None
    fake = "return None" if result == "None" else _RAISE.format(name=function.name)
    return _TEMPLATE.format(
        namespace=namespace,
        name=function.name,
        mutates=_mutated(signature, names),
        parameters=", ".join(each for each in taken if each is not None),
        names=", ".join(names),
        result=result,
        call="" if result == "None" else "return ",
        fake=fake,
    )


def _mutated(signature: PybindSignature, names: list[str]) -> str:
    """The value of `mutates_args`: the tensors that are non-const references, if all others are const; else unknown."""
    tensors = [(each, name) for each, name in zip(signature.parameters, names, strict=True) if "Tensor" in each.type]
    if len(tensors) < sum("tensor" in word.lower() for each in signature.parameters for word in each.type):
        return '"unknown"'  # lists of tensors
    written = [name for each, name in tensors if not each.const and "&" in each.type]
    if any(not each.const and "&" not in each.type for each, _name in tensors):
        return '"unknown"'  # a copied tensor shares its data
    if written and not _returns_nothing(signature):
        return '"unknown"'
    return "{" + ", ".join(f'"{name}"' for name in written) + "}" if written else "()"


def _returns_nothing(signature: PybindSignature) -> bool:
    return signature.result[-1:] == ("void",)


_RAISE = 'raise NotImplementedError("{name}: return empty tensors of the shapes and dtypes of the result")'
_TEMPLATE = """
@torch.library.custom_op("{namespace}::{name}", mutates_args={mutates})
def {name}({parameters}) -> {result}:
    {call}_bound.{name}({names})


@{name}.register_fake
def _({parameters}):
    {fake}
"""


_NUMBER = re.compile(r"(\d[\d.]*(?:[eE][+-]?\d+)?|\.\d+)[fFlLuU]{0,3}")
_WORDS = {"true": "True", "false": "False", "nullptr": "None", "nullopt": "None", "none": "None"}


def _default(keyword: Keyword) -> str | None:
    """A C++ default as Python; None if there is none, or it is no literal."""
    words = [word for word in keyword.default or () if word not in ("py", "pybind11", "std", "c10", "::", "(", ")")]
    sign = "-" if words[:1] == ["-"] else ""
    word = "".join(words[1:] if sign else words)
    number = _NUMBER.fullmatch(word)
    if number is not None:
        return f"{sign}{number[1]}"
    if sign or len(words) != 1:
        return None
    return word if re.fullmatch(r'"[^"\\]*"', word) else _WORDS.get(word)


def _annotated(number: int, parameter: Parameter) -> str | None:
    annotation = _annotation(parameter.type)
    name = parameter.name if parameter.name.isidentifier() else f"argument_{number}"
    if keyword.iskeyword(name) or name in ("torch", "_bound"):
        name = f"{name}_"
    return None if annotation is None else f"{name}: {annotation}"


def _result(signature: PybindSignature) -> str | None:
    words = [word for word in signature.result if word not in _NAMESPACES and not word.isupper()]
    if words[-1:] == ["void"]:
        return "None"
    if words[:2] == ["tuple", "<"] and words[-1] == ">":
        parts = [_annotation(part) for part in _parts(words[2:-1])]
        return None if None in parts else f"Tuple[{', '.join(part for part in parts if part is not None)}]"
    annotation = _annotation(tuple(words))
    return annotation if annotation in ("torch.Tensor", "List[torch.Tensor]", "int", "float", "bool") else None


def _parts(words: list[str]) -> list[tuple[str, ...]]:
    parts: list[list[str]] = [[]]
    level = 0
    for word in words:
        level += (word == "<") - (word == ">")
        if word == "," and level == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return [tuple(part) for part in parts]


def _annotation(written: tuple[str, ...]) -> str | None:
    words = [word for word in written if word not in _NAMESPACES]
    if len(words) == 1:
        return _SCALARS.get(words[0])
    if words in (["long", "long"], ["long", "int"], ["short", "int"]):
        return "int"
    if len(words) > 3 and words[1] == "<" and words[-1] == ">":
        inner = _annotation(tuple(words[2:-1]))
        # torch.library.infer_schema accepts no list of lists, nor of optional lists.
        if inner is None or (words[0] != "optional" and inner.startswith(("List", "Optional[List"))):
            return None
        if words[0] == "optional":
            return f"Optional[{inner}]"
        if words[0] in ("vector", "ArrayRef"):
            return f"List[{inner}]"
    return None
