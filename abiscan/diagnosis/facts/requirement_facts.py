"""Facts of the message catalogue about a requirement: value `wanted` is the range of releases in which `name` (torch if
absent) must be, `here` the release that is there, `project` what requires it."""

from __future__ import annotations

from typing import Final

from abiscan.diagnosis.catalogue import load_packages
from abiscan.diagnosis.catalogue.load_packages import package_of_name
from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.catalogue.package_row import Package
from abiscan.diagnosis.fixes import extension_fixes, package_commands, torch_commands, torch_fixes, wheel_rows
from abiscan.diagnosis.fixes.hip_sources import is_for_hip
from abiscan.diagnosis.fixes.named_release import named_release, requirement
from abiscan.diagnosis.fixes.required_ranges import bound_of, is_range, outside, read_range, within
from abiscan.diagnosis.fixes.safe_names import normalised
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.text.text_facts import first_shown
from abiscan.model import versions
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.python_name_releases import (
    MODULE,
    OPTIONAL,
    PARAMETERS,
    PackageNames,
    find_names,
    names_of_packages,
)
from abiscan.releases import companions
from abiscan.releases.pythons import installable, with_wheels

_PYTHONS: Final = ("3.12", "3.11", "3.10", "3.9", "3.8", "3.7", "3.6", "3.13", "3.14")
"""In the order in which packages have wheels for them."""
_TOOLKITS: Final = ("12.8", "12.6", "12.4", "12.1", "11.8", "13.0")
"""Releases of CUDA that torch has builds for, most usual first."""


def requirement_side(values: Values, _missing: MissingName) -> str | None:
    """`older` or `newer`: the release that is there, compared with the range."""
    return outside(_wanted(values), values.get("here", "")) or None


def range_has_end(values: Values, _missing: MissingName) -> bool:
    """Whether the range excludes later releases, as `<3` and `==1.2` do."""
    return bool(outside(_wanted(values), "9999"))


def required_range(values: Values, _missing: MissingName) -> str | None:
    """The range in a sentence: `>=2.4,<3`."""
    return _wanted(values) or None


def required_release(values: Values, _missing: MissingName) -> str | None:
    """The release that the range names, without its patch release: `12.1` for `>=12.1`."""
    return ".".join(bound_of(_wanted(values)).split(".")[:2]) or None


def required_cuda(values: Values, missing: MissingName) -> str | None:
    """A CUDA release in the range: that of the target's torch, else one that torch has builds for."""
    of_torch = (missing.target_cuda,) if missing.target_cuda else ()
    known = within(_wanted(values), (*of_torch, *_TOOLKITS))
    return next(iter(known), None) or required_release(values, missing)


def required_major(values: Values, _missing: MissingName) -> str | None:
    """The major release that the range names."""
    return bound_of(_wanted(values)).partition(".")[0] or None


def required_python(values: Values, _missing: MissingName) -> str | None:
    """A CPython in the range for which most packages have wheels: `3.11`."""
    return next(iter(within(_wanted(values), _PYTHONS)), None)


def required_torch(values: Values, missing: MissingName) -> str | None:
    """The command that installs the newest torch in the range, from the index of its variant."""
    wanted = _wanted(values)
    if (built_for := values.get("torch_of_that", "")) and outside(wanted, built_for) == "":
        wanted = f"=={built_for}"
    known = within(wanted, missing.known_versions)
    if missing.loading_python is not None:
        known = installable(known, missing.loading_python)
    command = torch_commands.install_torch(known[-1], missing) if known and missing.target is not None else None
    return command or (f'pip install "torch{wanted}"' if wanted else None)


def lost_its_torch(values: Values, _missing: MissingName) -> bool:
    """Whether a package other than `project`, with builds for one torch, was installed for a torch in the range."""
    built_for = values.get("torch_of_that", "")
    is_other = values.get("package_of_torch") != values.get("project")
    return bool(built_for) and is_other and outside(_wanted(values), built_for) == ""


def required_torch_release(values: Values, missing: MissingName) -> str | None:
    """The newest known release of torch in the range: `1.9.1`."""
    return next(reversed(within(_wanted(values), missing.known_versions)), None)


def pythons_of_required_torch(values: Values, missing: MissingName) -> str | None:
    """The CPythons for which it has wheels: `3.6 - 3.9`."""
    pythons = with_wheels(required_torch_release(values, missing) or "")
    return f"{pythons[0]} - {pythons[-1]}" if pythons else None


def python_of_required_torch(values: Values, missing: MissingName) -> str | None:
    """One of them for which most packages have wheels."""
    known = {str(each) for each in with_wheels(required_torch_release(values, missing) or "")}
    return next((each for each in _PYTHONS if each in known), None)


def torch_for_required_cuda(values: Values, missing: MissingName) -> str | None:
    """The command that installs a torch for the CUDA that the range names."""
    release = required_cuda(values, missing) or ""
    return torch_commands.torch_of_variant(f"cu{release.replace('.', '')}", missing) if "." in release else None


def required_package(values: Values, missing: MissingName) -> str | None:
    """The command that installs a package in the range; OpenMMLab's installer chooses the wheel of its packages."""
    name, wanted = _distribution(values), _wanted(values)
    if name is None or not wanted:
        return None
    package = package_of_name(name)
    if package is not None and package.former is not None and outside(wanted, package.former.before) == "newer":
        name = package.former.name
    if package is not None and package.cuda and outside(wanted, "9999") == "":
        # Its builds for releases of CUDA are packages of other names.
        return "\n".join(package_commands.install(package, missing))
    if name.startswith("mm"):
        chosen = "  # chooses the wheel for this torch and CUDA" if name.startswith("mmcv") else ""
        return f'pip install -U openmim && mim install "{name}{wanted}"{chosen}'
    return f'pip install "{name}{wanted}"'


def releases_with_name(values: Values, missing: MissingName) -> str | None:
    """The releases in which the value `module` has the value `name`, if others lack it:
    `<0.26.0`."""
    found = _names(values)
    return None if found is None else " or ".join(_specifiers(*found, _here(found[0], missing)))


def side_of_name(values: Values, missing: MissingName) -> str | None:
    """`older` or `newer`: the installed release, compared with those that have the name; `there` if it is one of them,
    or later than all that were read. Where it is unknown, it is older if only older releases lack the name, newer if
    only newer ones do."""
    found = _names(values)
    if found is None:
        return None
    names, ranges = found
    here = _here(names, missing)
    if here and any(within(each, (here,)) for each in _specifiers(names, ranges, here)):
        return "there"
    if here:
        is_before, is_after = ranges.all_after(here), ranges.all_before(here)
    else:
        lacking = names.lacking(*_scope(values)[1:])
        is_before, is_after = lacking.all_before(ranges.first), lacking.all_after(ranges.last)
    return None if is_before == is_after else "older" if is_before else "newer"


def package_with_name(values: Values, missing: MissingName) -> str | None:
    """The command that installs one of them, of the range with most releases; before an argument was required."""
    found = _names(values)
    if found is None:
        return None
    names, ranges = found
    at = names.releases.index
    widest = max(range(len(ranges)), key=lambda each: at(ranges[each][1]) - at(ranges[each][0]))
    chosen = 0 if values.get("parameter", "").endswith(OPTIONAL) else widest
    wanted = _specifiers(names, ranges, _here(names, missing))[chosen]
    if names.package == "torch":
        known = within(wanted, missing.known_versions)
        command = torch_fixes.install_torch(missing, ReleaseRanges.of_known(missing.known_versions, known.__contains__))
        if command is not None:
            return command
    return required_package({"name": names.package, "wanted": wanted}, missing)


def module_with_name(values: Values, _missing: MissingName) -> str | None:
    """The only module that has the name in the newest release, where that of the value `module` lacks it."""
    found = _names(values)
    if found is None or "missing_module" in values or found[1].last == found[0].releases[-1]:
        return None
    old = values["module"]
    scopes = found[0].scopes_with(values["name"])
    # A name of a module elsewhere may be another one.
    is_near = len(scopes) == 1 and (scopes[0].startswith(f"{old}.") or old.startswith(f"{scopes[0]}."))
    return scopes[0] if is_near else None


def torch_of_triton(values: Values, missing: MissingName) -> str | None:
    """The command that installs a torch with a triton in the range `wanted`, or that has the value `name`:
    `pip install "torch>=2.1"`."""
    if values.get("name", "").lower() == "triton" and _wanted(values):
        wanted = _wanted(values)
    else:
        found = _names(values)
        if found is None or found[0].package != "triton":
            return None
        wanted = _specifiers(*found, _here(found[0], missing))[-1]
    torches = [torch for torch, triton in companions.TRITON_OF.items() if not wanted or within(wanted, (triton,))]
    if not torches:
        return None
    known = list(companions.TRITON_OF)
    later = known[known.index(torches[-1]) + 1 :]
    first = [] if torches[0] == known[0] else [f">={torches[0]}"]
    return f'pip install "torch{",".join([*first, *(f"<{each}" for each in later[:1])])}"'


def release_of_triton(_values: Values, missing: MissingName) -> str | None:
    """The releases of triton that the torch of the text requires: `3.1.*`."""
    triton = _triton_of_torch(missing)
    return triton and f"{triton.rpartition('.')[0]}.*"


def torch_triton_has_name(values: Values, missing: MissingName) -> bool:
    """Whether the triton that the torch of the text requires has the value `name`."""
    found, triton = _names(values), _triton_of_torch(missing)
    if found is None or triton is None or found[0].package != "triton":
        return False
    return any(within(each, (triton,)) for each in _specifiers(*found, triton))


def _triton_of_torch(missing: MissingName) -> str | None:
    return companions.TRITON_OF.get(".".join(missing.target_version.split(".")[:2])) if missing.target_version else None


def _here(names: PackageNames, missing: MissingName) -> str:
    """The installed release of the package; empty if unknown."""
    target = missing.target_version if names.package == "torch" else ""
    return target or missing.log.releases.get(names.package.replace("_", "-"), "")


def _specifiers(names: PackageNames, ranges: ReleaseRanges, here: str) -> list[str]:
    """The version specifier of each range. One that ends before an installed release, which was not read, excludes
    it."""
    found = names.specifiers(ranges)
    for at, (_first, last) in enumerate(ranges):
        is_later = here and last != names.releases[-1] and ReleaseRanges(((last, last),)).all_before(here)
        if is_later and within(found[at], (here,)):
            found[at] = f"{found[at].rpartition('<')[0]}<={last}"
    return found


def _names(values: Values) -> tuple[PackageNames, ReleaseRanges] | None:
    names, scope, name = _scope(values)
    ranges = ReleaseRanges() if names is None else names.ranges(scope, name)
    return (names, ranges) if names is not None and ranges else None


def _scope(values: Values) -> tuple[PackageNames | None, str, str]:
    """The table of the package, the module or function in it, and the name that it has in some releases."""
    if "parameter" in values:
        return names_of_packages(PARAMETERS).get(values["package"]), values["parameter_of"], values["parameter"]
    module, suffix = values.get("module", ""), MODULE if "missing_module" in values else ""
    return find_names(module), module, values.get("name", "") + suffix


def required_name(values: Values, _missing: MissingName) -> str | None:
    """The distribution that must be in the range."""
    return _distribution(values)


def way_off_index(values: Values, missing: MissingName) -> str | None:
    """The command that installs the value `package`, if the package index has none of its name, or another one."""
    package = package_of_name(values.get("package", ""))
    if package is None or package.wheels or package.sdist:
        return None
    return package.command or (extension_fixes.rebuild(missing, project=package.name) if package.repository else None)


def install_required_name(values: Values, missing: MissingName) -> str | None:
    """The commands that install it in any release."""
    package = package_of_name(values.get("name", ""))
    ways = () if package is None else package_commands.install(package, missing)
    name = _normalised(values.get("name", ""))
    return "\n".join(ways) or (f"pip install {name}" if name else None)


def _normalised(name: str) -> str | None:
    """The distribution of a project or module; None if it is not a valid name."""
    return first_shown("distribution", name) or normalised(name)


def _wanted(values: Values) -> str:
    wanted = values.get("wanted", "")
    wanted = wanted if is_range(wanted) else read_range(wanted)
    return wanted.replace(" ", "") if is_range(wanted) else ""


def _distribution(values: Values) -> str | None:
    name = values.get("name", "torch")
    if name.lower() in ("torch", "pytorch"):
        return "torch"
    package = package_of_name(name)
    # A package that is built in place has no distribution of its name.
    return _normalised(name) if package is None or package.command else package.name


def torch_requirements(values: Values, missing: MissingName) -> str | None:
    """What the packages (value `project`) require of torch, each in the release that the text names, else in the newest
    known one: `torchvision 0.29.1 requires torch>=2.14.0`, `torchvision 0.19.0 is for torch 2.4`; None if that is not
    known of each."""
    found = _requirements_on_torch(values, missing)
    words = {"": "no torch", "torch": "any torch"}
    # Of a companion only the minor release of its torch is known, not the requirement.
    return (
        ", ".join(
            f"{name} is for torch {wanted[len('torch==') : -len('.*')]}"
            if wanted.endswith(".*")
            else f"{name} requires {words.get(wanted, wanted)}"
            for name, wanted in found
        )
        or None
    )


def keeps_any_torch(values: Values, missing: MissingName) -> bool:
    """Whether pip takes every torch for what the packages require."""
    required = [wanted for _, wanted in _requirements_on_torch(values, missing)]
    return bool(required) and all(wanted in ("", "torch") for wanted in required)


def keeps_this_torch(values: Values, missing: MissingName) -> str | None:
    """`yes` if pip takes the target's torch, a release, for what the packages require, `no` if it replaces it; None if
    that is unknown."""
    required = [wanted.removeprefix("torch") for _, wanted in _requirements_on_torch(values, missing)]
    if missing.target is None or missing.knowledge.target_from_source or not required:
        return None
    sides = {outside(wanted, missing.target.version) for wanted in filter(None, required)}
    if sides & {"older", "newer"}:
        return "no"
    return "yes" if sides <= {""} and not any(wanted.endswith(".*") for wanted in required) else None


def asked_requirement(values: Values, missing: MissingName) -> str | None:
    """The packages (value `project`) in the releases that the text names, as requirements of pip."""
    named = ((each, _release_in_text(each, missing)) for each in filter(None, _packages(values, missing)))
    return " ".join(requirement(each, release) if release else each.name for each, release in named) or None


def _packages(values: Values, missing: MissingName) -> list[Package | None]:
    """The packages of the value `project`; None for one that is not in the catalogue."""
    return [package_commands.find_package(missing, each) for each in values.get("project", "").split()]


def _requirements_on_torch(values: Values, missing: MissingName) -> list[tuple[str, str]]:
    """Name and release of each package of the value `project`, and its requirement; empty if one is unknown."""
    found = []
    for package in _packages(values, missing):
        required = None if package is None else _requirement_on_torch(package, missing)
        if package is None or required is None:
            return []
        found.append((f"{package.name} {required[0]}".rstrip(), required[1]))
    return found


def _requirement_on_torch(package: Package, missing: MissingName) -> tuple[str, str] | None:
    known, named = package.requires_torch, _release_in_text(package, missing)
    if named and (torch := _torch_of_release(package, named, missing)):
        return named, f"torch=={torch}"
    # Who requires a release of torch requires another one with each of its own.
    is_same = known is not None and (known.requirement in ("", "torch") or named in ("", known.release))
    return (known.release, known.requirement) if known is not None and is_same else None


def _torch_of_release(package: Package, release: str, missing: MissingName) -> str:
    """The torch that a release of a package requires: `2.6.0`, `2.4.*`; empty if unknown."""
    if package.name in companions.COMPANIONS:
        torch = companions.built_for(package.name, release) or ""
        return f"{torch}.*" if torch.replace(".", "").isdigit() else ""
    at = versions.order(release.partition(".post")[0])
    for row in wheel_rows.rows_of(package, missing):
        last = sorted((versions.order(each.partition(".post")[0]) or (), torch) for torch, each in row.releases.items())
        if not row.with_torch or "{torch}" in row.install or at is None or not last or at < last[0][0]:
            continue
        return next((torch for newest, torch in last if at <= newest), "")
    return ""


def _release_in_text(package: Package, missing: MissingName) -> str:
    return named_release(package, missing) or missing.log.asked_releases.get(package.name, "")


def pinned_by(values: Values, missing: MissingName) -> str | None:
    """The package with a release in the text, or the only one that it names (`requiring_package`), if each of its
    releases allows one torch (vLLM, SGLang), and one is known for the value `torch`."""
    return _pinned(values, missing)[0] or None


def pinned_requirement(values: Values, missing: MissingName) -> str | None:
    """The requirement of pip for that package with the value `torch`."""
    return _pinned(values, missing)[1] or None


def _pinned(values: Values, missing: MissingName) -> tuple[str, str]:
    names = (*missing.log.releases, missing.log.project, values.get("requiring_package", "").lower())
    torch = values.get("torch", "")
    for name in () if is_for_hip(missing) else filter(None, names):
        package, limit = load_packages.package_of_name(name), load_packages.torch_limits_by_name().get(name)
        for row in () if package is None else wheel_rows.rows_of(package, missing):
            release = wheel_rows.entry_of_release(row.releases, torch)
            if row.with_torch and "{torch}" not in row.install and release is not None:
                return name, f"{name}=={release}"
        release = None if limit is None else wheel_rows.entry_of_release(limit.releases, torch)
        if limit is not None and release is not None:
            return name, f'"{limit.install}=={release}"' if "[" in limit.install else f"{limit.install}=={release}"
    return "", ""
