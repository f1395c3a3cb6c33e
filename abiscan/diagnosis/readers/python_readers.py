"""Values of Python messages that no pattern can capture: names of compiled modules, functions that Dynamo
skips."""

from __future__ import annotations

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
from abiscan.diagnosis.text.generated_modules import is_compiled_module
from abiscan.diagnosis.text.message_text import Hit
from abiscan.diagnosis.text.source_builds import built_packages, denies_source_build, find_other_build, named_packages
from abiscan.diagnosis.text.text_facts import is_shown, may_show
from abiscan.diagnosis.text.text_facts import values as names_of
from abiscan.ownership.python_name_releases import COUNT, MODULE, OPTIONAL, PARAMETERS, find_names, names_of_packages

VALUES: Final = (
    *("project", "base", "for_python", "built_file", "library", "said", "torch_file", "package", "about", "origin"),
    *("how_to", "parameter", "parameter_of", "is_exact", "missing_module", "inside", "source_folder", "listed_release"),
)
"""Values that readers of this module may add besides `name`."""

_LINES_OF_COMMANDS = 4
_FURTHER_COMMANDS = re.compile(r"(?:\n[ \t$>`]{0,8}(?:python3? -m )?pip3? install [^\n]{1,240}){1,4}")
_LINES_OF_TRACEBACK, _LINES_OF_REPORT = 40, 40


_INSTALLS: Final = re.compile(
    r"\brunning (?:install|develop|bdist)|\binplace\b|\bpip3? install|setup\.py (?:build )?(?:install|develop)"
)


def compiled_module(hit: Hit, values: Values) -> Values | None:
    """The module `name`, imported from `package` if given, with its first and last part (`project`, `base`) and the
    CPython of its file (`for_python`). Applies to modules outside of torch with the name of a compiled one, or with a
    known file."""
    name = values["name"]
    package = values.get("package") or _imported_from(name, hit)
    if package is not None:
        of_file = is_file_of_package(f"{package}.{name}")
        # A function of a package of the catalogue may end in `_cuda`, too.
        is_function = name[0] != "_" and is_module_of_package(package) and not is_module_of_package(name)
        if not of_file and (is_function or not is_compiled_module(name)):
            return None
        name = f"{package}.{name}"
    base = name.rpartition(".")[2]
    file, built = _file_for_python(base, hit), _built_file(base, hit)
    compiled = (is_compiled_module(name) or is_file_of_package(name)) and not name.startswith(("torch.", "triton."))
    if name == "torch" or not (compiled or file or built):
        return None
    found = {"name": name, "project": name.partition(".")[0], "base": base}
    if built is not None:
        return {**found, "built_file": built[0]}
    return found if file is None else {**found, "for_python": f"{file[1]}.{file[2]}"}


def _imported_from(name: str, hit: Hit) -> str | None:
    """The package of the statement above the message, which CPython before 3.7 does not name."""
    statement = rf"\bfrom ([A-Za-z]\w{{0,63}}(?:\.\w{{1,64}}){{0,8}}) import {re.escape(name)}\s+(?:ImportError: )?\Z"
    before = hit.line.partition("cannot import name")[0]
    found = re.search(statement, hit.preceding(2) + before)
    return None if found is None else found[1]


def _built_file(base: str, hit: Hit) -> re.Match[str] | None:
    """The file of a module that `setup.py build` wrote, in a text that shows no installation of it."""
    text = hit.preceding(_LINES_OF_REPORT) + hit.line + hit.following(_LINES_OF_REPORT)
    folder = r"\bbuild[/\\]lib[\w.-]{0,64}[/\\](?:\w{1,64}[/\\]){0,8}"
    return None if _INSTALLS.search(text) else re.search(rf"{folder}{re.escape(base)}\.[\w.-]{{0,64}}", text)


def _file_for_python(base: str, hit: Hit) -> re.Match[str] | None:
    """The file of a module near the message, the name of which has the CPython that it is for."""
    return re.search(rf"\b{re.escape(base)}\.(?:cpython-|cp)(\d)(\d{{1,2}})", hit.preceding() + hit.following())


def package_module(hit: Hit, values: Values) -> Values | None:
    """`project` of the module `name`, if it is a Python module of a package of the catalogue, not a compiled one, and
    not one that other releases of it have (`python_name`); `inside` if CPython has imported the package itself."""
    name = values["name"]
    project = name.partition(".")[0]
    if python_name(hit, values) is not None:
        return None
    base = name.rpartition(".")[2]
    compiled = is_compiled_module(name) or is_file_of_package(name) or _file_for_python(base, hit) is not None
    if (compiled and name != project) or not is_module_of_package(project):
        return None
    found = {"project": project} if name == project else {"project": project, "inside": project}
    listed = _listed_release(project, hit.text) if name == project else ""
    found = {**found, "listed_release": listed} if listed else found
    frames = re.findall(
        rf'File "([^"\n]{{1,200}}?)[/\\]{re.escape(project)}[/\\][^"\n]{{1,200}}"', hit.preceding(_LINES_OF_TRACEBACK)
    )
    elsewhere = frames and name != project and not re.search(r"[\\/-]packages|python\d", frames[-1])
    return {**found, "source_folder": frames[-1]} if elsewhere else found


def _listed_release(project: str, text: str) -> str:
    """The release that `pip list`, `pip show` or an installation in the text has of a package with this module."""
    package = package_of_name(project)
    names = {project, *(() if package is None else (package.name,))}
    name = "|".join(re.escape(each).replace("_", "[-_]").replace("\\-", "[-_]") for each in sorted(names))
    places = (
        rf"[ \t]{{0,8}}(?:{name})[ \t]{{2,60}}",
        rf"Name: (?:{name})\r?\nVersion: ",
        rf"Requirement already satisfied: (?:{name}) in [^\n]{{1,200}}\(",
        rf"Successfully installed [^\n]{{0,400}}?\b(?:{name})-",
    )
    row = re.search(rf"(?:^|\n)(?:{'|'.join(places)})(\d[\w.+]{{0,32}})", text)
    return "" if row is None else row[1]


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
    # Of a package with other names for its modules, pip takes the name of the distribution.
    row = package_of_name(package)
    package = package if row is None or row.name.replace("-", "_") == package else row.name
    return {"package": package, "project": last} if last else {"package": package}


def python_name(hit: Hit, values: Values) -> Values | None:
    """`module` and `name`, which some releases of its `package` lack. CPython names the outermost missing module. Then
    `project` as for `importing_package`. None if every release has it, or none."""
    is_module = hit.word.startswith("No module")
    module, name = values.get("module") or _imported_module(hit), values["name"]
    if is_module:
        module, _, name = name.rpartition(".")
    if module == "Tensor":
        module = "torch.Tensor"
    names = find_names(module)
    if names is None or (names.package == "numpy" and not is_module and beside_torch(hit, values) is None):
        return None
    package = names.package
    last = _package_of_last_frame(hit)
    if not names.ranges(module, name + MODULE * is_module) or (
        last == package and "module '" not in hit.word and "attribute" not in hit.word
    ):
        return None
    found = {"module": module, "name": name, "package": package, **({"missing_module": "yes"} if is_module else {})}
    project = last or _imported_package(hit)
    return {**found, "project": project} if project and project != package else found


def own_name(hit: Hit, values: Values) -> Values | None:
    """`project` of the value `module`, if a file of this package imports the name from it: the last frame of the
    traceback. None for packages that have nothing to do with torch."""
    package = values["module"].partition(".")[0]
    known = is_shown("package_beside_torch", package) or package_of_name(package) is not None
    return {"project": package} if known and _package_of_last_frame(hit) == package else None


_NAME: Final = re.compile(r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9_]{1,40}", re.ASCII)


def beside_torch(hit: Hit, _values: Values) -> Values | None:
    """None, unless the text around names torch or a package that is built for it: programs without torch use NumPy,
    too."""
    around = hit.preceding(_LINES_OF_REPORT) + hit.line + hit.following(_LINES_OF_REPORT)
    return {} if any(map(package_of_name, set(_NAME.findall(around)) - {"numpy"})) else None


_IMPORT_FROM: Final = re.compile(r"(?<![^\n>]) {0,64}from ([A-Za-z][\w.]{1,250}) import ")


def _imported_module(hit: Hit) -> str:
    """The module of the import statement before a message that names none (CPython before 3.7)."""
    found = _IMPORT_FROM.findall(hit.preceding(3))
    return found[-1] if found else ""


_IMPORTED: Final = re.compile(r"(?<![\w.])import(?:ing)? [`'\"]?([a-z][a-z0-9_]{2,40})\b", re.ASCII)


def _imported_package(hit: Hit) -> str:
    """The package of the catalogue that the line imports, where a text shows no frame."""
    imported = _IMPORTED.findall(hit.line.partition(hit.word)[0])
    return imported[-1] if imported and package_of_name(imported[-1]) is not None else ""


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
    package = package_of_name(values["project"].replace(" ", "_"))
    return None if package is None or package.name == "torch" else {}


def module_file(_hit: Hit, values: Values) -> Values | None:
    """None, unless the module `name` is a shared object of a package of the catalogue."""
    name = values["name"]
    compiled = is_module_of_package(name) and _OF_COMPILED.search(name) is not None
    return {} if compiled or is_file_of_package(name) else None


# In the names of compiled modules only, or of the catalogue's packages.
_OF_COMPILED = re.compile(r"_(?:cuda|cpp|ext|C|sampler|kernels?|backend)(?![A-Za-z0-9])")


def function_of_package(_hit: Hit, values: Values) -> Values | None:
    """`project`: the package of the catalogue with a module that begins the value `name`: `flash_attn_func`."""
    words = values["name"].split("_")
    modules = ("_".join(words[:count]) for count in range(len(words), 1 - (len(words) == 1), -1))
    found = next((each for each in modules if is_module_of_package(each)), "")
    package = package_of_name(found) if found and found not in _OF_EVERY_PROGRAM else None
    return None if package is None or package.command or package.ended else {"project": package.name}


# Of these, code of one's own that forgot the import is what a text is about.
_OF_EVERY_PROGRAM: Final = ("torch", "torchvision", "torchaudio")


def private_module(_hit: Hit, values: Values) -> Values | None:
    """`project` and `base` of the module `name`, unless it belongs to CPython."""
    name = values["name"]
    return None if name in sys.stdlib_module_names else {"project": name, "base": name}


def source_build(hit: Hit, _values: Values) -> Values | None:
    """The words around the line that state that torch is no release on the package index (`said`), who built it
    (`origin`, see `find_other_build`), the extensions that are named there (`project`, joined by blanks), and `about`:
    these, else torch."""
    start, end = hit.start_above(_LINES_OF_REPORT), hit.end_below(_LINES_OF_REPORT)
    may_be_prebuilt = all(may_show(fact, hit.text, start, end) for fact in ("torch_origin", "prebuilt"))
    if not may_be_prebuilt and not may_show("source_build", hit.text, start, end):
        return None
    around = hit.text[start:end]
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
    start, end = hit.start_above(_LINES_OF_COMMANDS), hit.end_below(_LINES_OF_COMMANDS)
    if not may_show("source_build", hit.text, start, end):
        return None
    around = hit.text[start:end]
    return {"denied": "yes"} if denies_source_build(around) else None
