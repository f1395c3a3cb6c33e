"""Messages of Python about names, and of torch.compile about calls."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from abiscan.diagnosis.messages.mention import Complaint, Mention
from abiscan.diagnosis.messages.message_text import Hit
from abiscan.diagnosis.messages.name_tokens import first_quoted, last_quoted
from abiscan.model.finding import Location

_FRAME = re.compile(r'File "([^"\n]{1,4096})", line (\d{1,7})(?:, in (\S{1,256}))?')
_IDENTIFIER_BEFORE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}$")
_FRAMES_BEFORE = 40
_FRAMES_OF_USER = 60


def name_error(hit: Hit) -> Iterator[Mention]:
    """`NameError: name 's2' is not defined`; Triton's own `NameError('s2 is not defined')`; the same inside of other
    exceptions' texts and in Chinese, `变量s2未定义`."""
    before = hit.before.rstrip(" \t\\")
    quoted = last_quoted(before)
    name = (quoted or "").strip("\\ ")
    if not name.isidentifier():
        found = _IDENTIFIER_BEFORE.search(before[-256:])
        if found is None:
            return
        name = found[0]
    context = hit.preceding(_FRAMES_BEFORE)
    frames = list(_FRAME.finditer(context))
    location = None
    if frames:
        last = frames[-1]
        location = Location(function=last[3], file=last[1], line=int(last[2]))
    yield Mention(Complaint.PYTHON_NAME, name, hit.at, location=location, context=context + hit.line + hit.following())


# Where Dynamo names the function, the surest first; each reads a bounded run of a name's characters.
_NAMES = (
    re.compile(r"module:\s{0,4}([\w.]{1,256}),\s{0,4}qualname:\s{0,4}([\w.<>]{1,256})"),
    re.compile(r"builtin [`'\"]?([\w.<>]{1,256})"),
    re.compile(r"the function [`'\"]([\w.<>]{1,256})"),
    re.compile(r"[`'\"]([\w.]{0,256}PyCapsule[\w.]{1,256})"),
    re.compile(r"(?<![\w.])([\w.]{1,256}\.PyCapsule\.\w{1,256})"),
)


def marked_as_skipped(hit: Hit) -> Iterator[Mention]:
    """`Attempted to call function marked as skipped`, then `Developer debug context: module: m, qualname: PyCapsule.f,
    ...`; in default mode the warning `Dynamo does not know how to trace the builtin `m.PyCapsule.f.``"""
    around = hit.word + hit.rest + hit.following(30)
    name = next((found for pattern in _NAMES if (found := pattern.search(around)) is not None), None)
    text = ".".join(part for part in name.groups() if part).rstrip(".") if name is not None else "a function"
    yield Mention(Complaint.SKIPPED_CALL, text, hit.at, location=_user_frame(hit), context=around)


_SKIPPED = re.compile(r"([\w.<>]{1,256}) in file ")
_CALLED = re.compile(r"UserDefinedObjectVariable\((builtin_function_or_method|instancemethod|PyCapsule)\)")


def skip_function(hit: Hit) -> Iterator[Mention]:
    """Torch 2.1 - 2.5: `Unsupported: 'skip function f in file /x.py'`; `Unsupported: call_function
    UserDefinedObjectVariable(builtin_function_or_method)`"""
    found = _SKIPPED.match(hit.rest) if hit.word.startswith("'skip") else _CALLED.match(hit.rest)
    if found is not None:
        context = hit.line + hit.following()
        yield Mention(Complaint.SKIPPED_CALL, found[1], hit.at, location=_user_frame(hit), context=context)


def unsupported_builtin(hit: Hit) -> Iterator[Mention]:
    """Torch 2.3 - 2.6: `Graph break due to unsupported builtin m.PyCapsule.f. This function is either a Python builtin
    ...`"""
    words = hit.rest.split(None, 1)
    name = words[0].strip("`'\".,") if words else ""
    if name:
        yield Mention(
            Complaint.SKIPPED_CALL, name, hit.at, location=_user_frame(hit), context=hit.rest + hit.following()
        )


def _user_frame(hit: Hit) -> Location | None:
    """`from user code:` and its last frame."""
    around = hit.following(_FRAMES_OF_USER)
    at = around.find("from user code")
    frames = list(_FRAME.finditer(around, at)) if at >= 0 else []
    if not frames:
        return None
    return Location(function=frames[-1][3], file=frames[-1][1], line=int(frames[-1][2]))


# How projects name what they compile: `mmcv._ext`, `detectron2._C`, `flash_attn_2_cuda`.
_COMPILED = re.compile(
    r"(?:\w{1,64}\.){0,8}(?:_C|_ext|csrc|_?ext_\w{1,64}|\w{1,64}_(?:cuda|cpp|ext|C|kernels)|_C_\w{1,32})|"
    r"(?:\w{1,64}\.){0,8}(?:_C|_ext)(?:\.\w{1,64}){1,4}|fused_\w{1,64}"
)


_LIBRARY = re.compile(rf"lib[a-z]\w{{0,64}}|{_COMPILED.pattern}")


# What pip prints of a build, in whose own environment (PEP 517) setup.py imports torch.
_PIP_BUILDS = ("Getting requirements to build wheel", "get_requires_for_build", "pip-build-env", "build_meta")


def no_module(hit: Hit) -> Iterator[Mention]:
    """`ModuleNotFoundError: No module named 'mmcv._ext'`, of a module that is compiled, by its name; and `cannot import
    name '_C' from 'detectron2'`."""
    name = first_quoted(hit.rest[:320])
    if not name or not hit.rest.startswith((" '", ' "')):
        yield from _no_module_of_python_2(hit)
        return
    if hit.word == "cannot import name":
        package = first_quoted(hit.rest.partition("from")[2][:320])
        # Before Python 3.7 the message ended behind the name.
        ends = package is None and not hit.rest.partition(name)[2].strip("'\" .`)")
        if ends and _LIBRARY.fullmatch(name) is not None:
            yield Mention(Complaint.NO_MODULE, name, hit.at, version=_python_of_file(hit, name))
            return
        if package is not None and package.startswith("torch."):
            yield Mention(Complaint.NO_PYTHON_ATTRIBUTE, f"{package}.{name}", hit.at)
            return
        if package is None or _COMPILED.fullmatch(name) is None:
            return
        name = f"{package}.{name}"
    if name == "torch":
        if any(word in hit.preceding() + hit.following() for word in _PIP_BUILDS):
            yield Mention(Complaint.NO_MODULE, name, hit.at)
        return
    if name.startswith("torch.") and not name.endswith("._C"):
        yield Mention(Complaint.NO_PYTHON_ATTRIBUTE, name, hit.at)
        return
    if _COMPILED.fullmatch(name) is not None and not name.startswith("torch."):
        yield Mention(Complaint.NO_MODULE, name, hit.at, version=_python_of_file(hit, name))
    elif (python := _python_of_file(hit, name)) is not None:
        yield Mention(Complaint.NO_MODULE, name, hit.at, version=python)


_UNQUOTED = re.compile(r" ((?:\w{1,64}\.){0,8}\w{1,96})\s*$", re.MULTILINE)


def _no_module_of_python_2(hit: Hit) -> Iterator[Mention]:
    """`ImportError: No module named _warp_ctc`: before Python 3 the name had no quotation marks. A name that begins
    with an underscore is of something compiled (PEP 8); beside torch it is no module of CPython's own."""
    found = _UNQUOTED.match(hit.rest[:640]) if hit.word == "No module named" else None
    if found is None:
        return
    own = found[1].startswith("_") and found[1] not in sys.stdlib_module_names and not found[1].startswith("__")
    if _COMPILED.fullmatch(found[1]) is not None or (own and "torch" in hit.preceding()):
        yield Mention(Complaint.NO_MODULE, found[1], hit.at)


def _python_of_file(hit: Hit, name: str) -> str | None:
    """The CPython of the file `NAME.cpython-38-x86_64-linux-gnu.so` that the lines around show."""
    base = name.rpartition(".")[2]
    found = re.search(rf"\b{re.escape(base)}\.(?:cpython-|cp)(\d)(\d{{1,2}})", hit.preceding() + hit.following())
    return f"{found[1]}.{found[2]}" if found is not None else None


def no_operator_of_deepspeed(hit: Hit) -> Iterator[Mention]:
    """DeepSpeed, whose operator did not build: `'DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'`"""
    yield Mention(Complaint.NO_MODULE, "deepspeed.ops.op_builder", hit.at, context=hit.line)


def no_ffi(hit: Hit) -> Iterator[Mention]:
    """torch 0.4.1 - 1.0: `ImportError: torch.utils.ffi is deprecated. Please use cpp extensions instead.`"""
    yield Mention(Complaint.NO_PYTHON_ATTRIBUTE, "torch.utils.ffi", hit.at)


_PACKAGE_FILE = re.compile(r"[/\\](\w{1,64})[/\\]__init__\.py")


def no_library_of_operators(hit: Hit) -> Iterator[Mention]:
    """`torch.ops.load_library(importlib.machinery.PathFinder().find_spec(...).origin)` without the library:
    `AttributeError: 'NoneType' object has no attribute 'origin'`"""
    above = hit.preceding(6)
    found = _PACKAGE_FILE.findall(above)
    if found and "load_library" in above:
        yield Mention(Complaint.NO_MODULE, f"{found[-1]}._C", hit.at, context=above)


_ATTRIBUTE = re.compile(r"([\w.]{1,96})' has no attribute '(\w{1,96})'")


def no_attribute(hit: Hit) -> Iterator[Mention]:
    """`AttributeError: module 'torch.library' has no attribute 'custom_op'`"""
    found = _ATTRIBUTE.match(hit.rest)
    if found is not None:
        yield Mention(Complaint.NO_PYTHON_ATTRIBUTE, f"torch.{found[1]}.{found[2]}", hit.at)


_MODULE = re.compile(r"module '([\w.]{1,96})'$")


def no_function(hit: Hit) -> Iterator[Mention]:
    """`AttributeError: module 'detectron2._C' has no attribute 'deform_conv_forward'`: of a compiled module"""
    module = _MODULE.search(hit.before[-112:])
    name = hit.rest[:128].partition("'")[0]
    if module is None or module[1].startswith("torch.") or not name.isidentifier():
        return
    if _COMPILED.fullmatch(module[1]) is not None and not name.startswith("__"):
        yield Mention(Complaint.NO_MODULE, f"{module[1]}.{name}", hit.at, library=module[1])


_PACKAGE = re.compile(r"([A-Za-z_]\w{1,64}\.[\w.]{1,96}) $")


def not_built(hit: Hit) -> Iterator[Mention]:
    """Horovod: `ImportError: Extension horovod.torch has not been built`; Apex: `apex.optimizers.FusedAdam requires
    cuda extensions`"""
    found = _PACKAGE.search(hit.before[-128:])
    behind = hit.before[: -len(found[0])] if found is not None else ""
    if found is not None and (hit.word.startswith("requires") or behind.endswith("Extension ")):
        yield Mention(Complaint.NO_MODULE, found[1], hit.at, context=hit.word)


_NUMBERS = re.compile(r"Python (\d\.\d{1,2})|is incompatible: (\d\.\d{1,2})|[Pp]ython(\d)(\d{1,2})\.dll")


def other_python(hit: Hit) -> Iterator[Mention]:
    """CPython on Windows: `Module use of python310.dll conflicts with this version of Python.`; pybind11: `Python
    version mismatch: module was compiled for Python 3.8, but the interpreter version is incompatible: 3.9.1`"""
    found = [next(n for n in (m[1], m[2], m[3] and f"{m[3]}.{m[4]}") if n) for m in _NUMBERS.finditer(hit.line[:1_024])]
    if found:
        yield Mention(Complaint.OTHER_PYTHON, f"Python {' / '.join(found[:2])}", hit.at, releases=tuple(found[:2]))


_WHEEL = re.compile(r"([\w.+!-]{8,255}\.whl)['\"]? $")


def wheel_tags(hit: Hit) -> Iterator[Mention]:
    """pip: `ERROR: x-1.0-cp310-cp310-linux_x86_64.whl is not a supported wheel on this platform.`"""
    found = _WHEEL.search(hit.before[-300:])
    if found is not None:
        yield Mention(Complaint.WHEEL_TAGS, found[1], hit.at)
