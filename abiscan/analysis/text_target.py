"""The torch and the machine that a text is from, as the knowledge of its diagnosis.

`SOURCES` lists the sources of the torch in order of precedence, `CORRECTIONS` what the text and its origin change of
that torch. The torch of an environment that `--python` names comes before that of the text: `with_named_torch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from msgspec.structs import replace

from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.scan_options import ScanOptions
from abiscan.diagnosis.knowledge import Environment, Knowledge
from abiscan.diagnosis.other_builds import SOURCE_BUILD, built_from_source, packaged_build
from abiscan.diagnosis.readings.read_text import ReadText
from abiscan.diagnosis.text.gpu_vendors import AMD, DCU, NOT_NVIDIA
from abiscan.errors import UnknownBuild
from abiscan.model import versions
from abiscan.model.python_version import PythonVersion
from abiscan.model.target import TorchBuild
from abiscan.releases.build import has_the_new_string, loaded_globally
from abiscan.releases.exports import VariantExports
from abiscan.target.run_torch import FALLBACK_MACHINE, named_release

# Where the build of the index is for another variant than that of Linux on x86_64.
_OF_SEVERAL_VARIANTS = ("win_amd64", "macosx", "linux_aarch64")


class _Origin:
    """A text and a run, for which the torch is to be chosen.

    Attributes:
        here: whether the error is from this machine.
        default: the services of the run without `--torch`.
    """

    def __init__(self, options: ScanOptions, read: ReadText, here: bool) -> None:
        self.options, self.facts, self.is_bare, self.here = options, read.facts, read.is_bare, here
        self.default = AnalysisContext(replace(options, torch=None))

    @cached_property
    def stated(self) -> str | None:
        """The torch of the text; None if it is the installed one, as its exports are more reliable than the index."""
        stated = self.facts.torch
        return None if stated is not None and self.here and is_installed(self.default, stated) else stated


def knowledge_for(options: ScanOptions, read: ReadText, here: bool) -> Knowledge:
    """The knowledge about the torch and the machine that a text is from.

    Args:
        here: whether the error is from this machine.

    Raises:
        UnknownBuild: an unknown `--torch`.
    """
    origin = _Origin(options, read, here)
    known = next(found for source in SOURCES if (found := source(origin)) is not None)
    for correct in CORRECTIONS:
        known = correct(known, origin)
    return known


def is_installed(context: AnalysisContext, version: str) -> bool:
    """Whether the torch of a run is an installed one of this version, whatever its label."""
    try:
        chosen = context.target.run_torch()
    except UnknownBuild:
        return False
    return chosen.installed is not None and chosen.target.version == version.partition("+")[0]


def without_torch(known: Knowledge) -> Knowledge:
    """The knowledge without a target."""
    return replace(known, target=None, exports=None, exact=False)


def with_named_torch(read: ReadText, options: ScanOptions) -> ReadText:
    """The text without what it states about another torch, if `--python` names an environment with one."""
    if options.torch is not None or not options.python_named:
        return read
    try:
        chosen = AnalysisContext(options).target.run_torch()
    except UnknownBuild:
        return read
    if chosen.installed is None:
        return read
    facts = replace(read.facts, torch=None, variant="", cxx11_abi=None, cpu_build="", packager="", is_nightly=False)
    if chosen.target.hip is not None:
        facts = replace(facts, gpu=facts.gpu if facts.gpu == DCU else AMD, rocm="")
    return replace(read, facts=facts)


def _named_torch(origin: _Origin) -> Knowledge | None:
    """The torch of `--torch`."""
    named = origin.options.torch
    return None if named is None else _knowledge_of(named, origin)


def _stated_torch(origin: _Origin) -> Knowledge | None:
    """The torch that the text names."""
    return None if origin.stated is None else _knowledge_of(origin.stated, origin)


def _installed_torch(origin: _Origin) -> Knowledge | None:
    """The installed torch, if the error is from this machine or the text is a name alone."""
    if not (origin.here or origin.is_bare):
        return None
    try:
        chosen = origin.default.target.run_torch()
    except UnknownBuild:
        return None
    return None if chosen.installed is None else origin.default.knowledge(FALLBACK_MACHINE)


def _no_torch(origin: _Origin) -> Knowledge:
    """The releases of the index without a target."""
    try:
        known = origin.default.knowledge(FALLBACK_MACHINE)
    except UnknownBuild:  # the installed one is no whole torch
        known = AnalysisContext(replace(origin.options, torch="declared")).knowledge(FALLBACK_MACHINE)
    return without_torch(known)


SOURCES: Sequence[Callable[[_Origin], Knowledge | None]] = (
    _named_torch,
    _stated_torch,
    _installed_torch,
    _no_torch,
)
"""The sources of a text's torch, in order of precedence. The last one always returns knowledge."""


def _knowledge_of(spec: str, origin: _Origin) -> Knowledge:
    """The knowledge about a torch as in `--torch`. Of a version that is not in the index, the releases before and after
    it are known.

    Raises:
        UnknownBuild: there is no such torch.
    """
    context = AnalysisContext(replace(origin.options, torch=spec))
    try:
        context.target.run_torch(anywhere=False)
    except UnknownBuild:
        target = named_release(spec)
        if target is None:
            raise
        return _variant_knowledge(replace(_no_torch(origin), target=target), target)
    return context.knowledge(FALLBACK_MACHINE)


def _variant_knowledge(known: Knowledge, target: TorchBuild) -> Knowledge:
    """The knowledge about a variant of a release (`2.3.1+cu118`), from the build of that release in the index."""
    accelerator = "CUDA" if target.cuda is not None else "ROCm" if target.hip is not None else None
    if known.releases is None or (accelerator is None and target.variant != "cpu"):
        return known
    build = next(known.released_builds(target.version), None)
    if build is None or (accelerator != "CUDA" and loaded_globally(target.version)):
        return known  # before the libraries were split, those of a GPU build contain its code
    abi = has_the_new_string(f"{target.version}+{target.variant}") or build.cxx11_abi
    exports = None if abi != build.cxx11_abi else VariantExports(known.releases, build, accelerator)
    return replace(known, target=replace(target, cxx11_abi=abi), exports=exports)


def _with_std_string(known: Knowledge, origin: _Origin) -> Knowledge:
    """The target with the std::string ABI in the text; if that differs, the build is not the released one."""
    target, cxx11_abi = known.target, origin.facts.cxx11_abi
    if origin.options.torch is not None:
        return known
    if target is None:
        return replace(known, cxx11_abi=cxx11_abi)
    if cxx11_abi is None or target.cxx11_abi == cxx11_abi:
        return known
    variant = target.variant if target.variant == "cpu" else ""
    return replace(known, target=replace(target, cxx11_abi=cxx11_abi, variant=variant), exports=None, exact=False)


def _as_source_build(known: Knowledge, origin: _Origin) -> Knowledge:
    """The target as a build from source, if the text is of one: its exports and its std::string are not those of the
    release of its number."""
    target, facts = known.target, origin.facts
    if origin.options.torch is not None or origin.here or not (facts.from_source or facts.packager):
        return known
    if target is None:
        return replace(known, from_source=True)
    if built_from_source(target):
        return known
    variant = SOURCE_BUILD if facts.from_source else packaged_build(facts.packager)
    cuda = target.cuda if "+cu" in (facts.torch or "") else None
    built = replace(target, variant=variant, cuda=cuda, cxx11_abi=facts.cxx11_abi)
    return replace(known, target=built, exports=None, exact=False)


def _without_cuda(known: Knowledge, origin: _Origin) -> Knowledge:
    """The target without the CUDA of the build of its version in the index, if the text names a GPU of another vendor
    or a platform with other variants of a release: Windows and aarch64 have several CUDA releases, macOS has none."""
    named, facts, target = origin.options.torch, origin.facts, known.target
    unlabelled = named is None and facts.platform in _OF_SEVERAL_VARIANTS and not origin.here
    spec = named if named is not None else origin.stated
    if not (facts.gpu in NOT_NVIDIA or unlabelled) or spec is None or versions.order(spec) is None or "+" in spec:
        return known
    if target is None or target.cuda is None:
        return known
    return replace(known, target=replace(target, variant="", cuda=None), exact=False)


def _with_environment(known: Knowledge, origin: _Origin) -> Knowledge:
    """The facts of the text, which take precedence, and of this machine if the error is from here."""
    facts, here = origin.facts, known.environment if origin.here else None
    python = None if facts.python is None else PythonVersion(*facts.python)
    said = {**facts.companions, **facts.cuda_packages}
    if facts.torch is not None:
        said["torch"] = facts.torch
    if here is not None:
        packages = {**here.packages, **said}
        environment: Environment | None = replace(here, python=python or here.python, packages=packages)
    elif python is None and not said and not facts.platform:
        environment = None
    else:
        environment = Environment(python, packages=said, platform=facts.platform)
    # The label of the version has precedence.
    is_labelled = "+" in (facts.torch or "") or origin.options.torch is not None
    log = replace(facts, variant="") if is_labelled else facts
    labelled = "+" in (origin.options.torch or origin.stated or "")
    return replace(known, environment=environment, labelled=labelled, log=log)


CORRECTIONS: Sequence[Callable[[Knowledge, _Origin], Knowledge]] = (
    _with_std_string,
    _as_source_build,
    _without_cuda,
    _with_environment,
)
"""What the text and its origin change of the knowledge, in order."""
