"""Read functions that torch.compile does not trace, and frames of tracebacks."""

from __future__ import annotations

import itertools
import keyword
import re
import sys
from typing import Final

from abiscan.diagnosis.catalogue.load_packages import is_file_of_package, is_module_of_package
from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.text.generated_modules import is_compiled_module, is_of_inductor
from abiscan.diagnosis.text.message_text import Hit
from abiscan.diagnosis.text.text_facts import is_shown, pattern_of, patterns_of

_FRAME_VALUES: Final = ("source_file", "source_line", "source_function")
VALUES: Final = (
    *("project", "base", "function", "library", "bound", "capsule", "module", "of_python", "of_framework", "method"),
    *("of_moe", "other_kernel", "names_moe", "of_random", "torch_file", "calls_bound", "callee", "as_imported"),
    *("reads_data", "other_binding", "outside"),
    *_FRAME_VALUES,
)
"""Values that readers of this module may add besides `name`."""

_LINES_OF_EXPLANATION, _LINES_OF_USER, _LINES_OF_TRACEBACK = 30, 60, 40
# Of CPython and of IPython: `Cell In[3], line 1`, `File ~/x/a.py:12, in f(x)`, `<ipython-input-3-1a2b> in <module>`.
_FRAME = re.compile(
    r'File "?([^"\n]{1,4096}?)"?(?:, line |:(?=\d{1,7}, in ))(\d{1,7})(?:, in (\S{1,256}))?'
    r"|((?:Cell |Input )In ?\[\d{1,6}\]|<ipython-input-\w{1,8}-\w{1,64}>|/tmp/ipython-input-[\w.-]{1,64})"
    r"(?:, line (\d{1,7})|,? in <)"
)
RECORD: Final = r"(?:PyCapsule|pybind11_detail_function_record_\w{1,128})"
"""The class of the object that a function bound by pybind11 belongs to: until 2.13, since 3.0."""
# Their compiled modules are bound from C++, too, and are not to be registered by users.
_FRAMEWORKS: Final = frozenset(("torch", "triton", "numpy", "scipy", "pandas"))
# A part of a name, behind that of a package: the class `Engine` of `pkg.core.Engine.run`.
_CLASS_OF_METHOD: Final = re.compile(r"(?<=\w)\.[A-Z]\w*[a-z]\w*\.\w+\Z")
_NAME_BEFORE: Final = 256  # characters
# The kernels that vLLM registers since 0.8.5 (rocm_aiter_fused_moe.py).
_OF_MOE: Final = re.compile(r"(?:ck_moe|asm_moe|fmoe)\w*")
# Classes of functions, which some releases print in place of a name.
_CLASSES: Final = frozenset(
    {"builtin_function_or_method", "cython_function_or_method", "instancemethod", "nb_func", "PyCapsule"}
)
_CLASS_OF_FUNCTION: Final = re.compile(r"(?<=\.)(?:nanobind\.)?(?:nb_func|(?:cython|builtin)_function_or_method)\.")
_OTHER_BINDINGS: Final = {"cython_function_or_method": "Cython", "nb_func": "nanobind"}
# Functions of aiter in Python, which call bound ones, and their modules (aiter/fused_moe.py, fused_moe_bf16_asm.py).
_PYTHON_OF_AITER: Final = {
    **dict.fromkeys(("fused_moe", "fused_moe_1stage", "fused_moe_2stages"), "aiter.fused_moe"),
    **dict.fromkeys(("asm_moe", "asm_moe_tkw1", "ck_moe_2stages", "moe_sorting_ck"), "aiter.fused_moe_bf16_asm"),
}


def skipped_function(hit: Hit, values: Values) -> Values:
    """The function that Dynamo skips: `name` (if not captured), `function`, `module` and `library` for an operator that
    replaces it, `of_python` if it is not to be registered (its module belongs to CPython, to torch or Triton, which is
    then `of_framework`, or it is a method of a class, then `method`), `bound` and `capsule` if it is bound from C++,
    `other_binding` if Dynamo's message shows that pybind11 does not bind it, `as_imported` if the module has the name
    that the user's code gives it, and the last frame of that code."""
    around = hit.word + hit.rest + hit.following(_LINES_OF_EXPLANATION)
    skipped = patterns_of("skipped_function")
    texts = (*((each, around) for each in skipped), (skipped[-1], hit.before[-_NAME_BEFORE:]))
    given = values.get("name")
    named = None if given else next(filter(None, (each.search(text) for each, text in texts)), None)
    name = given if named is None else ".".join(filter(None, named.groups()))
    found: dict[str, str] = {}
    if name is not None and name not in _CLASSES and _is_cut(name):
        name = None
    called = _called_in(_user_traceback(hit)) if name in _CLASSES else None
    if called is not None:
        name = _without_instance(called)
    elif name is None or name in _CLASSES:
        owner, retold = _retold_name(hit)
        name, values = retold or name, {**values, "module": owner} if owner else values
        found |= _unnamed(hit) if name is None or name in _OTHER_BINDINGS else {}
    name = (name or "").rstrip(".,")
    if (plain := _CLASS_OF_FUNCTION.sub("", name)) != name:
        name, found["other_binding"] = plain, "C"
    record = re.search(RECORD, name, re.ASCII)
    module = name[: record.start()].rstrip(".") if record is not None else name.rpartition(".")[0]
    if called and module and module.split(".")[0] not in sys.stdlib_module_names:
        found["as_imported"], module = module, ""  # it may have another name
    if not module and "module" in values:
        module = values["module"]
        name = f"{module}.{name}" if record is not None else name
    if (function := name.rsplit(".", 1)[-1]).isidentifier() and function not in _CLASSES:
        found["function"] = function
    if record is not None and name not in _CLASSES:
        found["capsule"] = record[0]
        if _OF_MOE.fullmatch(function):
            found["of_moe"] = function
        elif "moe" not in name:
            found |= {"other_kernel": function, "names_moe": ""}  # the text may name other functions, too
    elif given in _OTHER_BINDINGS or (named is not None and named.re in skipped[:2] and "." in name):
        found["other_binding"] = _OTHER_BINDINGS.get(given or "", "C")
    if record is not None and record[0] != "PyCapsule":
        name = f"{module}.{function}" if module else function
    library = module.split(".")[0]
    if library.isidentifier():
        found["library"] = library
    method = named[2] if named is not None and named.re is skipped[0] and "." in named[2].rstrip(".") else ""
    found |= _unregistrable(name, library, around, None if record is not None else method)
    if record is None and library in ("", "aiter") and function in _PYTHON_OF_AITER and "aiter" in hit.line + around:
        module, found["calls_bound"] = _PYTHON_OF_AITER[function], function
        name = function
    if module:
        found["module"] = module
    found["name"] = name or "Dynamo"
    retold = hit.preceding(_LINES_OF_RETELLING) + hit.before[-_NAME_BEFORE:] + around
    return {**found, **_bound(given or name, module, retold), **_user_frame(hit)}


def _unregistrable(name: str, library: str, around: str, method: str | None) -> dict[str, str]:
    """`of_python` and what shows that the function is not to be registered; nothing for others.

    Args:
        method: that the message names, or empty; None for a function that is bound from C++.
    """
    of_torch = pattern_of("skipped_file_of_torch").search(around)
    if library in sys.stdlib_module_names or of_torch is not None:
        return {"of_python": name, "torch_file": "" if of_torch is None else of_torch[1]}
    if library in _FRAMEWORKS:
        return {"of_python": name, "of_framework": library, "of_random": "random" * (".random." in name)}
    in_name = None if method is None else _CLASS_OF_METHOD.search(name)
    method = method or ("" if in_name is None else in_name[0][1:])
    return {"of_python": name, "method": method} if method else {}


def _bound(name: str, module: str, retold: str) -> dict[str, str]:
    """`bound`: the words that show that the function is bound from C++, else the module that is compiled."""
    is_compiled = is_compiled_module(module)
    found = next(filter(None, map(pattern_of("bound_function").search, (name, "" if is_compiled else retold))), None)
    if found is not None:
        return {"bound": found[0]}
    return {"bound": module} if is_compiled or is_file_of_package(module) else {}


def _is_cut(name: str) -> bool:
    """Whether a name ends in the object that the function belongs to: the text is cut off before its own name."""
    return re.fullmatch(RECORD, name.rstrip(".,").rpartition(".")[2], re.ASCII) is not None


# Before the name of a module or file.
_MODULES: Final = ("import ", "install ", "package ", "module ", "model ", "layer ")
_PLACES: Final = (" in ", " from ")


def retold_function(hit: Hit, values: Values) -> Values | None:
    """The same of a sentence; without a function, what `_unnamed` finds."""
    if is_shown("line_of_program", hit.line):
        return None
    owner, name = _retold_name(hit)
    if name:
        return skipped_function(hit, {**values, "name": name, **({"module": owner} if owner else {})})
    return {"name": "Dynamo", **_unnamed(hit)}


def _unnamed(hit: Hit) -> Values:
    """`how_to` and `function` for a text that names no function: if it asks how to register one, or says that it is
    bound from C++; not for aiter's, which vLLM chooses."""
    of_aiter = "aiter" in hit.line.lower()
    asks = is_shown("registers", hit.line)
    if not of_aiter:
        asks = asks or is_shown("asks_how", hit.line) or is_shown("bound_function", hit.line)
    return {"how_to": "yes", "function": "FUNCTION"} if asks else {}


def _retold_name(hit: Hit) -> tuple[str, str | None]:
    """The module, if it stands apart, and the function that a sentence names: the one with PyCapsule in its name, else
    the one that it calls a function, else one of a module, else one with an underscore. In the lines around it, only
    what they call a function."""
    worth, owner, name = _name_of_line(hit.before[-_SENTENCE:] + hit.word + hit.rest[:_SENTENCE])
    for line in f"{hit.following(_LINES_OF_RETELLING)}\n{hit.preceding(_LINES_OF_RETELLING)}".split("\n"):
        if worth or is_shown("line_of_program", line):
            continue
        if (other := _name_of_line(line[:_SENTENCE]))[0] >= _SAID:
            worth, owner, name = other
    return owner, name


def _name_of_line(line: str) -> tuple[int, str, str | None]:
    """The worth of the best name (0: there is none), its module and the name."""
    bound = pattern_of("name_in_binding").search(line)
    best: tuple[int, str, str | None] = (0, "", None) if bound is None else (_SAID, "", bound["name"])
    for found in itertools.islice(pattern_of("name_in_prose").finditer(line), _MOST_NAMES):
        owner, name = found["owner"] or "", found["name"].rstrip(".")
        if "_" in owner and (_is_other(name) or not ("_" in name or "." in name or found["kind"] or found["behind"])):
            owner, name = "", owner  # f_moe's Dynamo error, f_moe's output
        before = line[: found.start("name")].rstrip("`'\"")
        if _is_other(name) or is_module_of_package(name) or before.endswith(_MODULES):
            continue
        shaped = "_" in name or "." in name
        said = bool(found["kind"] or found["behind"]) if shaped else _is_marked(found)
        record = re.search(RECORD, name) is not None
        # A function of aiter may follow "in" and "from", too: its files and modules have other names.
        placed = before.endswith(_PLACES) and "aiter" not in line
        single = "_" in name and not placed and not is_shown("end_of_other_name", name)
        worth = 5 if record else _SAID if said else 3 if owner and "_" in name else 2 if "." in name else int(single)
        if worth > best[0]:
            best = (worth, owner if "." not in name and not _is_other(owner) else "", name)
    return best


def _is_other(name: str) -> bool:
    parts = name.split(".")
    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in parts):
        return True
    return any(pattern_of(fact).fullmatch(name) for fact in ("other_name", "name_of_object"))


def _is_marked(found: re.Match[str]) -> bool:
    """Whether a sentence calls a word a function, and not another one of its words: `"fwd" function`, `fwd()`, but not
    `call function`."""
    if found["kind"] and not found["kind"].isascii() and re.match(r" ?[A-Za-z]", found.string[found.end() :]) is None:
        return True
    marks = tuple("`'\":=\uff1a")
    return (found["said"] or "").endswith(marks) or (found["behind"] or " ").strip().startswith(("(", *marks))


_MOST_NAMES: Final = 200
_SAID: Final = 4  # worth of a name that a sentence calls a function
_LINES_OF_RETELLING: Final = 3
_SENTENCE: Final = 512  # characters


def last_frame(hit: Hit, _values: Values) -> Values:
    """The last frame of the traceback above."""
    return _frame(_frames(hit.preceding(_LINES_OF_TRACEBACK)))


def generated_frame(hit: Hit, _values: Values) -> Values | None:
    """The same; applies if it is in a module generated by TorchInductor, in Inductor or Triton, or if there is no
    frame. `outside` if it is in the function `call` of such a module, which runs its kernels."""
    frames = _frames(hit.preceding(_LINES_OF_TRACEBACK))
    if frames and not is_of_inductor(frames[-1][0]):
        return None
    found = _frame(frames)
    return {**found, "outside": "call"} if found.get("source_function") == "call" else found


def _user_traceback(hit: Hit) -> str:
    """The traceback of the compiled program that follows Dynamo's message; empty if there is none."""
    begin, _, rest = hit.following(_LINES_OF_USER).partition("ser code traceback:")
    rest = rest or begin.partition("from user code")[2]
    return rest.partition("Graph break")[0]


def _user_frame(hit: Hit) -> Values:
    """The last frame of the compiled program."""
    return _frame(_frames(_user_traceback(hit)))


def called_object(hit: Hit, _values: Values) -> Values:
    """What the last line of the compiled program calls (`name`, and `callee` if it is clear), and its frame."""
    callee = _called_in(_user_traceback(hit))
    return {"name": callee or "Dynamo", **({"callee": callee} if callee else {}), **_user_frame(hit)}


_CODE: Final = re.compile(
    r'File "?[^"\n]{1,4096}?"?, line \d{1,7}[^\n]{0,256}\n(?P<code>[^\n]{1,4096})(?:\n(?P<marks>[^\n^]{0,4096})\^)?'
)
# Functions that give a kernel a tensor's data: the kernel is in the function that calls them.
_HANDS_OVER: Final = frozenset(("from_dlpack", "to_dlpack", "__dlpack__", "data_ptr"))
_CALL: Final = re.compile(r"(?<![\w.])(?<!def )[A-Za-z_]\w{0,127}(?:\.\w{1,127}){0,8}(?=\()")


def kernel_of_frame(hit: Hit, _values: Values) -> Values | None:
    """What `skipped_function` reads of the function that the last line of the traceback above calls; None if it is
    unclear, a function of torch, or hands the data of a tensor to the kernel."""
    callee = _called_in(hit.preceding(_LINES_OF_TRACEBACK))
    if callee is None or callee.rpartition(".")[2] in _HANDS_OVER:
        return None
    found = dict(skipped_function(hit, {"name": _without_instance(callee)}))
    if "function" not in found or "of_python" in found:
        return None
    module = found.pop("module", "")
    return {"bound": "C", "reads_data": "yes", "as_imported": module, **found}


def _without_instance(callee: str) -> str:
    """The last part of a name behind `self`, which no import has."""
    return callee.rpartition(".")[2] if callee.startswith(("self.", "cls.")) else callee


def _called_in(traceback: str) -> str | None:
    """The call that CPython 3.11 and later mark in the last frame of a traceback, else the only call of its line."""
    frames = list(itertools.islice(_CODE.finditer(traceback), _MOST_NAMES))
    if not frames:
        return None
    code, marks = frames[-1]["code"], frames[-1]["marks"]
    if marks is not None:
        # CPython 3.13 marks the name of a call with `~`, and its arguments with `^`.
        start = len(marks.rstrip("~")) if code[len(marks) :].startswith("(") else len(marks)
        called = _CALL.match(code, start)
        return called[0] if called else None
    calls = _CALL.findall(code)
    return calls[0] if len(calls) == 1 else None


def _frames(traceback: str) -> list[tuple[str, ...]]:
    """File, line and function of each frame; of a cell its name as the file."""
    found = _FRAME.findall(traceback)
    return [(file or cell, line or line_of_cell, function) for file, line, function, cell, line_of_cell in found]


def _frame(frames: list[tuple[str, ...]]) -> Values:
    return {name: text for name, text in zip(_FRAME_VALUES, frames[-1], strict=True) if text} if frames else {}
