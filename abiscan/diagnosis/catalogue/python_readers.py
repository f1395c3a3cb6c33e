"""Values of Python messages that no pattern can capture: names of compiled modules, functions that Dynamo
skips."""

from __future__ import annotations

import itertools
import keyword
import re
import sys
from typing import Final

from abiscan.diagnosis.catalogue.load_packages import (
    is_file_of_package,
    is_module_of_package,
    package_of_name,
    packages_by_name,
)
from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.generated_modules import is_of_inductor
from abiscan.diagnosis.messages.message_text import Hit
from abiscan.diagnosis.messages.packaged_torch import find_other_build
from abiscan.diagnosis.messages.source_builds import built_packages, denies_source_build, named_packages
from abiscan.diagnosis.messages.text_facts import is_shown, pattern_of, patterns_of
from abiscan.diagnosis.messages.text_facts import values as names_of
from abiscan.ownership.python_name_releases import COUNT, MODULE, OPTIONAL, PARAMETERS, find_names, names_of_packages

_FRAME_VALUES: Final = ("source_file", "source_line", "source_function")
VALUES: Final = (
    *("project", "base", "for_python", "function", "library", "bound", "capsule", "module", "said", "of_python"),
    *("of_framework", "method", "torch_file", "package", "about", "origin", "how_to", "calls_bound", "callee"),
    *("as_imported", "reads_data", "parameter", "parameter_of", "is_exact"),
    *("other_binding", "outside", "missing_module", *_FRAME_VALUES),
)
"""Values that readers of this module may add besides `name`."""

# Of CPython and of IPython: `Cell In[3], line 1`, `File ~/x/a.py:12, in f(x)`, `<ipython-input-3-1a2b> in <module>`.
_FRAME = re.compile(
    r'File "?([^"\n]{1,4096}?)"?(?:, line |:(?=\d{1,7}, in ))(\d{1,7})(?:, in (\S{1,256}))?'
    r"|((?:Cell |Input )In ?\[\d{1,6}\]|<ipython-input-\w{1,8}-\w{1,64}>|/tmp/ipython-input-[\w.-]{1,64})"
    r"(?:, line (\d{1,7})|,? in <)"
)
_LINES_OF_COMMANDS = 4
_FURTHER_COMMANDS = re.compile(r"(?:\n[ \t$>`]{0,8}(?:python3? -m )?pip3? install [^\n]{1,240}){1,4}")
_LINES_OF_EXPLANATION, _LINES_OF_USER, _LINES_OF_TRACEBACK, _LINES_OF_REPORT = 30, 60, 40, 40
RECORD: Final = r"(?:PyCapsule|pybind11_detail_function_record_\w{1,128})"
"""The class of the object that a function bound by pybind11 belongs to: until 2.13, since 3.0."""
# Their compiled modules are bound from C++, too, and are not to be registered by users.
_FRAMEWORKS: Final = frozenset(("torch", "triton"))
_NAME_BEFORE: Final = 256  # characters
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


def _is_compiled(module: str) -> bool:
    return pattern_of("compiled_module").fullmatch(module) is not None


def compiled_module(hit: Hit, values: Values) -> Values | None:
    """The module `name`, imported from `package` if given, with its first and last part (`project`, `base`) and the
    CPython of its file (`for_python`). Applies to modules outside of torch with the name of a compiled one, or with a
    known file."""
    name, package = values["name"], values.get("package")
    if package is not None:
        if not _is_compiled(name):
            return None
        name = f"{package}.{name}"
    base = name.rpartition(".")[2]
    file = re.search(rf"\b{re.escape(base)}\.(?:cpython-|cp)(\d)(\d{{1,2}})", hit.preceding() + hit.following())
    compiled = (_is_compiled(name) or is_file_of_package(name)) and not name.startswith("torch.")
    if name == "torch" or not (compiled or file):
        return None
    found = {"name": name, "project": name.partition(".")[0], "base": base}
    return found if file is None else {**found, "for_python": f"{file[1]}.{file[2]}"}


def package_module(_hit: Hit, values: Values) -> Values | None:
    """`project` of the module `name`, if it is a Python module of a package of the catalogue, not a compiled one."""
    name = values["name"]
    project = name.partition(".")[0]
    compiled = _is_compiled(name) and name != project
    return {"project": project} if is_module_of_package(project) and not compiled else None


_WORD = re.compile(r"(?<![\w./-])[A-Za-z][\w-]{1,40}(?![\w/]|\.\w)", re.ASCII)


def package_in_prose(hit: Hit, _values: Values) -> Values | None:
    """`project`: the only package, besides torch, that the line names; the catalogue has its wheels by torch."""
    found = filter(None, map(package_of_name, _WORD.findall(hit.line)))
    packages = {package.name: package for package in found if package.name != "torch"}
    package = next(iter(packages.values())) if len(packages) == 1 else None
    return {"project": package.name} if package is not None and package.wheels and not package.needs_no_torch else None


def failed_package(hit: Hit, _values: Values) -> Values | None:
    """`project`: the only package that the line names, if the catalogue knows why its builds fail."""
    names = named_packages(hit.line)
    package = packages_by_name()[names[0]] if len(names) == 1 else None
    return {"project": package.name} if package is not None and package.known_failures else None


def importing_package(hit: Hit, values: Values) -> Values | None:
    """`package`: the one of the value `module`, which lacks the name, and `project`: the package of the last frame
    that imports it. None for a package that does not find a name of its own, and for those that have nothing to do with
    torch."""
    package = values["module"].partition(".")[0]
    last = _package_of_last_frame(hit)
    known = is_shown("package_beside_torch", package) or package_of_name(package) or (last and package_of_name(last))
    if last == package or package in sys.stdlib_module_names or not known:
        return None
    return {"package": package, "project": last} if last else {"package": package}


def python_name(hit: Hit, values: Values) -> Values | None:
    """`module` and `name`, which some releases of its `package` lack; of a missing module the outermost such one. Then
    `project` as for `importing_package`. None if every release has it, or none."""
    is_module = hit.word.startswith("No module")
    module, name = values.get("module") or _imported_module(hit), values["name"]
    if is_module:
        module, _, name = name.rpartition(".")
    if module == "Tensor":
        module = "torch.Tensor"
    names = find_names(module)
    if names is None:
        return None
    while is_module and not names.ranges(module, name + MODULE) and "." in module:
        module, _, name = module.rpartition(".")
    package = names.package
    last = _package_of_last_frame(hit)
    if not names.ranges(module, name + MODULE * is_module) or (
        last == package and "module '" not in hit.word and "attribute" not in hit.word
    ):
        return None
    found = {"module": module, "name": name, "package": package, **({"missing_module": "yes"} if is_module else {})}
    return {**found, "project": last} if last and last != package else found


_IMPORT_FROM: Final = re.compile(r"(?<![^\n>]) {0,64}from ([A-Za-z][\w.]{1,250}) import ")


def _imported_module(hit: Hit) -> str:
    """The module of the import statement before a message that names none (CPython before 3.7)."""
    found = _IMPORT_FROM.findall(hit.preceding(3))
    return found[-1] if found else ""


def _package_of_last_frame(hit: Hit) -> str:
    frames = names_of("module_of_frame", hit.preceding(_LINES_OF_TRACEBACK))
    return frames[-1] if frames else ""


def caller_of_function(hit: Hit, _values: Values) -> Values | None:
    """`project`: the package of the last frame, which calls a function. None if it is neither in the catalogue nor a
    package beside torch."""
    last = _package_of_last_frame(hit)
    if not last:
        return {}
    return {"project": last} if package_of_name(last) or is_shown("package_beside_torch", last) else None


_MOST_METHODS: Final = 3
_PASSING: Final = "PreTrainedModel.from_pretrained"
"""Passes keywords that it does not take to the class of the model."""
_NAME_IN_TEXT: Final = re.compile(r"(?<![\w-])[A-Za-z][\w-]{1,64}", re.ASCII)
_OF_MODEL: Final = re.compile(r"[A-Za-z0-9]{1,96}(?:Model|For[A-Z][A-Za-z0-9]{2,64})\.__init__")


def parameter(hit: Hit, values: Values) -> Values | None:
    """`package`, `parameter_of` and `parameter` of a call that only some releases of the package accept; `is_exact` if
    the text names the function. None if it is unclear, or if every release accepts the call."""
    function, given = values["function"], values.get("given")
    name = f"{COUNT}{given}" if given else values["name"] + OPTIONAL * ("required" in hit.word)
    text = hit.preceding(_LINES_OF_TRACEBACK) + hit.line + hit.following(_LINES_OF_COMMANDS)
    wanted = ".".join(function.split(".")[-2:])
    found = _functions_with(wanted, name)
    is_keyword = not given and not name.endswith(OPTIONAL)
    of_model = _OF_MODEL.fullmatch(wanted) is not None or (wanted == "__init__" and "from_pretrained" in text)
    if not found and is_keyword and of_model:
        found = _functions_with(_PASSING, name)
    exact = [each for each in found if each[1] == wanted]
    candidates = exact or found
    words = {each.replace("-", "_") for each in _NAME_IN_TEXT.findall(text)}
    shown = [each for each in candidates if each[0] in words]
    chosen = shown or candidates
    if exact:
        # Any project may have a function `save`, with other arguments, and other packages a class of this name.
        is_named = re.search(r"\w[._]\w", wanted) is not None
        is_clear = (is_named or is_keyword) if shown else is_named and not words & names_of_packages(PARAMETERS).keys()
    else:
        # Other classes have a method of this name; their parameters that never changed are not in the table.
        named = [each for each in chosen if each[1].partition(".")[0] in words]
        chosen = named or chosen
        is_clear = bool(named) or chosen == [("transformers", _PASSING)]
    if not is_clear or len({package for package, _ in chosen}) != 1 or len(chosen) > (1 if exact else _MOST_METHODS):
        return None
    package, owner = chosen[0]
    values = {"package": package, "parameter_of": owner, "parameter": name}
    return {**values, "is_exact": "yes"} if exact else values


def _functions_with(function: str, name: str) -> list[tuple[str, str]]:
    """Package and function, or method, that takes a parameter in some releases only."""
    tables = names_of_packages(PARAMETERS).items()
    return [(package, each) for package, names in tables for each in names.functions_with(function, name)]


def known_package(_hit: Hit, values: Values) -> Values | None:
    """None, unless the package `project` is in the catalogue."""
    package = package_of_name(values["project"])
    return None if package is None or package.name == "torch" else {}


def module_file(_hit: Hit, values: Values) -> Values | None:
    """None, unless the module `name` is a shared object of a package of the catalogue."""
    name = values["name"]
    compiled = is_module_of_package(name) and _OF_COMPILED.search(name) is not None
    return {} if compiled or is_file_of_package(name) else None


# In the names of compiled modules only.
_OF_COMPILED = re.compile(r"_(?:cuda|cpp|ext|C)(?![A-Za-z0-9])")


def private_module(_hit: Hit, values: Values) -> Values | None:
    """`project` and `base` of the module `name`, unless it belongs to CPython."""
    name = values["name"]
    return None if name in sys.stdlib_module_names else {"project": name, "base": name}


def source_build(hit: Hit, _values: Values) -> Values | None:
    """The words around the line that state that torch is no release on the package index (`said`), who built it
    (`origin`, see `find_other_build`), the extensions that are named there (`project`, joined by blanks), and `about`:
    these, else torch."""
    around = hit.preceding(_LINES_OF_REPORT) + hit.line + hit.following(_LINES_OF_REPORT)
    other = find_other_build(around)
    if other is None or (other[0] != "source" and not is_shown("prebuilt", around)):
        return None
    found, project = {"origin": other[0], "said": " ".join(other[1].split())}, " ".join(built_packages(around))
    return {**found, "project": project, "about": project} if project else {**found, "about": "torch"}


def built_extensions(hit: Hit, _values: Values) -> Values | None:
    """The extensions that the line names, else the commands behind it (`project`, `about`, joined by blanks), if the
    builder of torch is unknown."""
    following = hit.following(_LINES_OF_COMMANDS)
    further = _FURTHER_COMMANDS.match(following) if "pip install" in hit.line else None
    named = built_packages(hit.line + ("" if further is None else further[0])) or built_packages(following)
    is_known = find_other_build(hit.line) is not None or denies_source_build(hit.line)
    project = "" if is_known else " ".join(named)
    return {"project": project, "about": project} if project else None


def denied_source_build(hit: Hit, _values: Values) -> Values | None:
    """Set (`denied`) if the text around the line says that torch was not built from source."""
    around = hit.preceding(_LINES_OF_COMMANDS) + hit.line + hit.following(_LINES_OF_COMMANDS)
    return {"denied": "yes"} if denies_source_build(around) else None


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
    elif given in _OTHER_BINDINGS or (named is not None and named.re in skipped[:2] and "." in name):
        found["other_binding"] = _OTHER_BINDINGS.get(given or "", "C")
    if record is not None and record[0] != "PyCapsule":
        name = f"{module}.{function}" if module else function
    library = module.split(".")[0]
    if library.isidentifier():
        found["library"] = library
    of_torch = pattern_of("skipped_file_of_torch").search(around)
    if library in sys.stdlib_module_names or of_torch is not None:
        found["of_python"] = name
        found["torch_file"] = "" if of_torch is None else of_torch[1]
    elif library in _FRAMEWORKS:
        found["of_python"], found["of_framework"] = name, library
    elif named is not None and named.re is skipped[0] and record is None and "." in named[2].rstrip("."):
        found["of_python"], found["method"] = name, named[2]
    if record is None and library in ("", "aiter") and function in _PYTHON_OF_AITER and "aiter" in hit.line + around:
        module, found["calls_bound"] = _PYTHON_OF_AITER[function], function
        name = function
    if module:
        found["module"] = module
    found["name"] = name or "Dynamo"
    retold = hit.preceding(_LINES_OF_RETELLING) + hit.before[-_NAME_BEFORE:] + around
    texts_of_name = (given or name, *(() if _is_compiled(module) else (retold,)))
    bound = next(filter(None, map(pattern_of("bound_function").search, texts_of_name)), None)
    if bound is not None or _is_compiled(module) or is_file_of_package(module):
        found["bound"] = module if bound is None else bound[0]
    return {**found, **_user_frame(hit)}


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
        said = _is_called(found) if shaped else _is_marked(found)
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


def _is_called(found: re.Match[str]) -> bool:
    """Whether a sentence calls a name with a dot or an underscore a function."""
    return bool(found["kind"] or found["behind"])


def _is_marked(found: re.Match[str]) -> bool:
    """The same of a word, which may be another one of the sentence: `"fwd" function`, `fwd()`, but not `call
    function`."""
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
_CALL: Final = re.compile(r"(?<![\w.])(?<!def )[A-Za-z_]\w{0,127}(?:\.\w{1,127}){0,8}(?=\()")


def kernel_of_frame(hit: Hit, _values: Values) -> Values | None:
    """What `skipped_function` reads of the function that the last line of the traceback above calls; None if it is
    unclear, or a function of torch."""
    callee = _called_in(hit.preceding(_LINES_OF_TRACEBACK))
    found = {} if callee is None else dict(skipped_function(hit, {"name": _without_instance(callee)}))
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
