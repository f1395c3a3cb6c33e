"""Detects whether a text says that torch was built from source, whatever its version is.

Words such as `from source` belong to the package that the sentence names nearest to them: the one directly after, else
the last one before. They count if that package is torch itself or coordinated with it (`torch and torch-scatter`), and
if no negation, question or wish stands with them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from abiscan.diagnosis.catalogue.load_packages import package_of_file, package_of_name, packages_by_name
from abiscan.diagnosis.catalogue.package_row import Package

_SOURCE: Final = "(?:(?:\u6e90\u4ee3?|\u539f\u59cb(?:\u7a0b\u5f0f)?)\u7801|\u6e90\u6587\u4ef6)"
_BUILD: Final = (
    "(?:\u7f16\u8bd1|\u6784\u5efa|\u5efa\u7f6e|\u6253\u5305|\u7f16(?=[\u7684\u4e86\u8fc7\u51fa\u597d\u6210])"
    "| ?(?:build|compile)(?![A-Za-z]))"
)
_SELF: Final = (
    "(?:\u5185\u90e8|\u81ea\u5df1|\u81ea\u884c|\u81ea|\u624b\u52a8|\u624b\u5de5|\u672c\u5730|\u672c\u673a|\u4eb2\u81ea)"
)
_WORDS: Final = re.compile(
    # tools/generate_torch_version.py of pytorch; no other package has `git` before the commit.
    r"(?P<torch>(?<![\w.])[12]\.\d{1,2}\.\d{1,2}a0\+git(?:[0-9a-f]{6,40}|[Uu]nknown)?\b"
    r"|(?<![\w.<>=~!])[12]\.\d{1,2}\.\d{1,2}a0(?![\w+.]))"
    r"|(?P<mine>\b(?:[Mm]y|[Oo]ur)(?: own)? (?:source|custom|local)[- ]build\b(?! of)"
    r"|\b(?:[Mm]y|[Oo]ur|[Aa]n?|[Ii]nternal|[Pp]rivate|[Cc]ustom|[Pp]atched) (?:own )?fork of (?:[Pp]y)?[Tt]orch\b"
    r"|PYTORCH_BUILD_VERSION|\b[Oo]wn (?:[Pp]y)?[Tt]orch (?:wheel|build)"
    r"|\b(?:[Mm]y|[Oo]ur)(?: own)? build of (?:[Pp]y)?[Tt]orch\b(?! ?[-_])"
    r"|\b(?:[Cc]ompiled|[Bb]uilt) (?:my |our )?(?:[Pp]y)?[Tt]orch with -D_GLIBCXX_USE_CXX11_ABI"
    r"|orch (?:is |was )?(?:built|compiled) with (?:-D_GLIBCXX_USE_CXX11_ABI|(?:GCC|gcc|g\+\+|[Cc]lang) ?\d)"
    r"|(?:\bpython3? )?setup\.py (?:install|develop) (?:in|from|inside) (?:(?:the|my|a) )?(?:[Pp]y)?[Tt]orch"
    r"(?: (?:repo|tree|checkout|clone|source|folder|director)|(?=[,;.]))"
    r"|\b(?:[Mm]y|[Oo]ur) (?:own )?(?:compiled|built|lib[Tt]orch build|(?:[Pp]y)?[Tt]orch build)"
    r"(?:(?<=build)|(?= (?:[Pp]y)?[Tt]orch(?![\w-])))"
    r"|\b[Ii]nstalled (?:[Pp]y)?[Tt]orch (?:with|by|via|using) [`'\"]?(?:python3? )?setup\.py"
    r"|(?:\bpython3? )?setup\.py (?:install|develop)[`'\"]? ?(?:\u5b89\u88c5|\u88c5|\u7f16\u8bd1)[\u4e86\u7684]? ?"
    r"(?:[Pp]y)?[Tt]orch(?! ?[-_])"
    r"|\b(?:[Pp]y)?[Tt]orch (?:(?:from|on|at) )?(?:the )?(?:git )?(?:master|main) branch\b"
    r"|\b(?:[Pp]atched|[Rr]ebuilt|[Rr]ecompiled|[Mm]odified) (?:[Pp]y)?[Tt]orch(?! ?[-_])(?=[ ,.])"
    r"|(?:\A|\n|[.;,] |\b(?:then|and|just) )[Bb]uilt (?:my |our )?(?:[Pp]y)?[Tt]orch(?! ?[-_]| ext| [Cc]\+\+)(?=[ ,.])"
    r"|git clone [^\n]{0,60}github\.com/pytorch/pytorch(?:\.git)?(?=[\s;&`])[\s\S]{0,200}?"
    r"(?:setup\.py (?:install|develop|bdist_wheel)|pip3? install (?:-v )?(?:--no-build-isolation )?(?:-v )?(?:-e )?\.)"
    r"|\u7f16\u8bd1 ?(?:[Pp]y)?[Tt]orch ?(?:v?\d[\w.+]{0,24} ?)?(?:\u4e4b?\u540e|\u5b8c)"
    r"|orch (?:v?\d[\w.+]{0,24} ?)?[(\uff08](?:[Ss]ource|\u6e90\u7801)[)\uff09])"
    r"|\b(?:(?:out of|from|via|in) (?:(?:the|its|git|github|latest|official) ){0,2}sources?(?! ?(?:files?|of)\b)"
    r"|(?:that|which) (?:I|we) (?:built|compiled)"
    r"|(?:built|compiled) by (?:our|my|the) (?:[a-zA-Z]{2,16} ?){1,2}"
    r"|(?:built|compiled)(?: in (?:an? |the )?[a-z]{2,16})? from (?:the |an? )?(?:git |github )?"
    r"(?:v?\d[\w.]{0,12} )?(?:tag|branch|main|master|checkout)"
    r"|(?:built|compil(?:ed?|es|ing)) (?:[\w.]{1,24} ){0,2}(?:locally|in-house)"
    r"|(?P<checkout>python3? setup\.py (?:install|develop|bdist_wheel)|pip3? install (?:-v )?-e \.)"
    r"|by (?:hand|myself|ourselves)|(?:built|compiled) by (?:me|us)"
    r"|(?P<oneself>myself|ourselves|on my own))\b"
    r"|\b(?:(?:[Ss]ource|[Ss]elf|[Cc]ustom|[Hh]and|[Ll]ocally|[Bb]azel|[Nn]ix)[- ]?(?:built|compiled|made)"
    r"|(?:[Oo]wn|[Cc]ustom|[Ss]ource|[Ll]ocal|[Ss]elf|[Pp]rivate)[- ](?:build|compilation|checkout))\b"
    r"|\b(?:I|[Ww]e|(?:[Mm]y|[Oo]ur|[Tt]he) (?:lab|team|company|admins?|cluster|sysadmins?|colleague))"
    r"(?: have| has|['\u2019]ve)? (?:re)?(?:built|compiled)"
    r"(?= (?:(?:my|our|own|the|a) ){0,2}(?:[Pp]y)?[Tt]orch(?![\w-]| ext| [Cc]| [a-z]{3,8}[ -](?:ext|op)))"
    r"|\b(?:[Mm]y|[Oo]ur|[Ii]ts|[Tt]heir) own(?= (?:[Pp]y)?[Tt]orch(?: v?\d|[,.;:)]|\Z))"
    r"|\b(?:[Cc]ustom(?:ized|ised)?|[Pp]atched|[Mm]odified|[Ff]orked|[Ii]n-house|[Ii]nternal|[Pp]rivate|[Ss]elf)"
    r"(?= (?:[Pp]y)?[Tt]orch (?:build|binar|wheel|compil|install|fork))"
    rf"|(?:(?:\u4ece|\u7528|\u7531|\u901a\u8fc7|\u4ee5)? ?{_SOURCE}"
    r" ?(?:\u8fdb\u884c|\u624b\u52a8|\u81ea\u5df1|\u672c\u5730|\u65b9\u5f0f|\u76f4\u63a5)?"
    rf"(?:\u5b89\u88c5|\u88c5|{_BUILD}|\u7248)"
    rf"|{_SELF}(?:\u52a8\u624b)? ?(?:\u4ece|\u7528|\u4ee5)?(?: ?[Gg]it[Hh]ub ?[^\x00-\x7f]{{0,4}})?"
    rf"(?:{_SOURCE}|\u4ee3\u7801)? ?{_BUILD}"
    r"|\u7f16\u8bd1(?:\u5b89\u88c5|\u597d|\u51fa\u6765)\u7684(?!\u65f6)"
    r"|\u6211\u4eec?\u7f16\u8bd1[\u4e86\u7684]?(?= ?(?:[Pp]y)?[Tt]orch\b)"
    r"|(?<=: )[Ss]ource(?= ?(?:\n|\Z))"
    rf"|\u7f16\u8bd1\u81ea ?{_SOURCE}"
    r"|\u81ea\u7f16(?!\u7801|\u7a0b|\u5199|\u8f91|\u53f7))",
    re.ASCII,
)
_MADE: Final = re.compile(r"\b(?:built|builds?|building|compil(?:ed?|es|ing)|install(?:ed|ing)?)\b", re.ASCII)
_CLONED: Final = re.compile(r"\b(?:clone[ds]?|USE_[A-Z]{2,12}=|DEBUG=)", re.ASCII)
# Distributions, modules, and words for them; with a part of the name as its own word.
_NAME: Final = re.compile(
    r"(?<![\w.-])(?:[Pp]y)?[Tt]orch[ _-]?(?:[Ss]catter|[Ss]parse|[Cc]luster|[Ss]pline(?:[ _-][Cc]onv)?|[Gg]eometric)"
    r"|(?<![\w./-])(?:lib)?(?P<torch>(?:[Pp]y)?[Tt]orch|PYTORCH|\u4e3b\u6846\u67b6)"
    r"(?![\w/-]|\.(?!__version__)\w| (?!Then|And|So|But|With|From)[A-Z][a-z])"
    r"|(?<![\w./-])[A-Za-z]\w{1,40}(?:-\w{1,40}){0,4}(?![\w/])"
    r"|\u6269\u5c55",
    re.ASCII,
)
_OTHER: Final = frozenset(
    (
        *("extension", "extensions", "package", "packages", "scatter", "sparse", "cluster", "python", "scipy", "numpy"),
        *("gcc", "opencv", "rocm", "hip", "nccl", "wheels", "\u6269\u5c55"),
    )
)
_END: Final = re.compile(r"[\n;!?\u3002\uff1b\uff01\uff1f]|\.(?=\s|$)")
_REACH: Final = 96  # characters between the words and the package
# Between the words and the package directly after them.
_ADJACENT: Final = re.compile(
    r"[\"'`]?(?:\u5b89\u88c5|\u51fa\u6765|\u5b8c\u6210|\u5b8c|\u597d|\u6210)? ?[\u4e86\u7684\u8fc7]? ?"
    r"(?:(?:of|the|my|our|a|version|\u6700\u65b0\u7248?|\u5b98\u65b9|\u7248\u672c?|:|\uff1a) ?){0,3}"
    r"(?:v?[12]\.\d[\w.+]{0,24} ?)?(?:\u7684 ?)?",
    re.ASCII,
)
# The object of the words: `\u81ea\u5df1\u7f16\u7684 my_ops.so`, `self-compiled my_ops.so`.
_OF_FILE: Final = re.compile(
    r"(?:(?:\u51fa\u6765|\u597d|\u6210)?\u7684 ?|(?<=[Bb]uilt) |(?<=[Cc]ompiled) )"
    r"(?:[\"'`]?[\w./-]{1,128}\.(?:so|pyd|dll)(?![\w.])"
    r"|(?:(?<=\u7684)|(?<=\u7684 ))so(?= ?[^\x00-\x7f]|[,:]| \w{1,32}Error)"
    r"|(?:(?:C\+\+|CUDA|cuda) ?)?(?:\u52a8\u6001|\u5171\u4eab)?(?:\u5e93|\u7b97\u5b50))",
    re.ASCII,
)
_AND: Final = re.compile(
    r" ?(?:v?\d[\w.+]{0,24} ?)?(?:and|&|\u548c|\u4e0e|\u8ddf|\u53ca|\u4ee5\u53ca|\u3001)(?: ?(?:the|its|all|my))? ?",
    re.ASCII,
)
# In the same clause: it is still to be built.
_NOT_SO: Final = re.compile(
    r"\b(?:without|rather than|instead of|how to|tutorial|guide|wants? to|going to|plan to|unless)\b"
    r"|\b(?:needs? an?|if you)\b"
    r"|\u6559\u7a0b|\u6307\u5357|(?:\u5982\u4f55|\u600e\u4e48|\u600e\u6837)[^\x00-\x7f]{0,4}\Z"
    r"|(?:\u60f3|\u51c6\u5907|\u6253\u7b97)[^\x00-\x7f]?\Z",
    re.ASCII | re.IGNORECASE,
)
# `Is my torch 2.1.0+cu121 a source build?`
_ASKED: Final = re.compile(
    r"(?:\b(?:is|was|isn't|are)(?: (?:my|the|this|our|installed)){0,2} |\u662f\u4e0d\u662f|\u662f\u5426)\Z",
    re.ASCII | re.IGNORECASE,
)
_ASKS: Final = re.compile(r"[^\n.?\uff1f]{0,16}[?\uff1f]")
_ASKS_IN_CHINESE: Final = re.compile(r"\u7684?[\u5417\u4e48]")
# The same, of what was not done; `does not match my torch` is about something else.
_NEGATED: Final = re.compile(
    r"n't\b|\b(?:not|never)\b|(?:(?<![\u662f\u8981\u80fd])\u4e0d\u662f?|[\u6ca1\u672a]|\u6ca1\u6709|\u5e76\u975e|\u65e0\u9700|\u4e0d\u7528)[^\x00-\x7f]?\Z",
    re.ASCII | re.IGNORECASE,
)
# `does not match my custom build`
_OF_OTHER: Final = re.compile(r" (?:match|work|load|fit|run|import|find|support|compatible)\b", re.ASCII)
_NOT_WITHIN: Final = re.compile(r"[\u4e0d\u6ca1\u672a]|n't\b|\b(?:not|never|without|no)\b|\b(?:pip|conda)\b", re.ASCII)
_CLAUSE: Final = re.compile(r"[^\n.,;!?\u3002\uff0c\uff1b\uff01\uff1f\u3001]{0,16}\Z")
# The release after the words: `, v2.1.0`, `(python setup.py install) 2.1.0`; no other number, such as a CUDA release.
_RELEASE: Final = re.compile(
    r"(?: by hand| myself| from (?:the )?sources?)? ?"
    r"(?:\u51fa\u6765)?[\u4e86\u7684\u8fc7]?[ ,=(:\uff1a\uff08\uff0c]{0,3}(?:\(?python setup\.py \w{1,16}\)[ ,]{0,2})?"
    r"(?:(?:at|on|tag|branch|version|release|\u7248\u672c) ?){0,2}v?([12]\.\d{1,2}(?:\.\d|(?= ?(?:[+,;(\n]|\Z))))"
    r"(?![\w+-]|\.\d| version\b| of\b| ?->| [Tt]orch[-_])",
    re.ASCII,
)
# `same version 2.1.0`, `both 2.1.0`, `\u7248\u672c\u53f7\u90fd\u662f2.1.0`
_SHARED_RELEASE: Final = re.compile(
    r"(?:\b(?:[Ss]ame|[Ii]dentical)(?: version| release| number){0,2}"
    r"|\b[Bb]oth(?: (?:say|show|report|are|have|have version))?"
    r"|\b[Vv]ersion numbers?(?: (?:is|are|of|both|the same)){0,3}"
    r"|\u7248\u672c\u53f7?(?:\u90fd|\u540c|\u5747|\u4e5f|\u76f8\u540c|\u4e00\u6837|\u4e00\u81f4|\u5c31|\u662f|\u4e3a|\u540c\u4e3a){0,4})"
    r"[ :\uff1a,\uff0c(\uff08]{0,3}v?([12]\.\d{1,2}\.\d)(?![\w.]\d)",
    re.ASCII,
)
_CLAUSES: Final = re.compile("[,;\uff0c\uff1b]")
_SHARED_OBJECT: Final = re.compile(r"(?<![\w./\\-])(\w{1,64})(?:\.[\w-]{1,64}){0,2}\.(?:so|pyd)(?![\w.])", re.ASCII)
# torch_geometric itself has no binary; these have, and it uses them where they are installed.
_GEOMETRIC: Final = re.compile(
    r"(?<![\w/.-])(?:(?:[Pp]y)?[Tt]orch[ _-][Gg]eometric|PyG|pyg)(?![\w/-])|data\.pyg\.org"
    r"|GNN ?(?:\u5e93|\u6269\u5c55|\u5305|packages|extensions|libraries)",
    re.ASCII,
)
_OF_GEOMETRIC: Final = ("torch-scatter", "torch-sparse", "torch-cluster")
# Without `torch`: at least two of them, or one that is prebuilt.
_PARTS: Final = re.compile(
    r"(?P<prebuilt>(?:\u9884\u7f16\u8bd1|[Pp]re-?(?:built|compiled)|\bbinary|whl|wheels? of)\u7684? ?)?"
    r"(?<![A-Za-z0-9_-])(?P<part>scatter|sparse|cluster)(?![A-Za-z0-9_-])"
)
# Behind a name in the output of pip, conda and collect_env.
_IN_LIST: Final = re.compile(r"(?:==|\t| {2,})v?\d", re.ASCII)
_MOST: Final = 1_000


def find_source_build(text: str) -> str | None:
    """The words of a text that say that torch (not an extension) was built from source; linear in its length."""
    found = _find(text)
    return None if found is None else text[found[0] : found[1]]


def find_source_release(text: str) -> str | None:
    """The release directly after these words, else the number that the torches of a text share: `2.1.0`."""
    found = _find(text)
    if found is None:
        return None
    after = _RELEASE.match(text, found[1]) or _SHARED_RELEASE.search(text)
    return None if after is None else after[1]


@lru_cache(maxsize=4)
def built_packages(text: str) -> tuple[str, ...]:
    """The packages of the catalogue in a text that pip can build for a torch, in order, without torch itself."""
    return tuple(name for name in named_packages(text) if _is_built(packages_by_name()[name]))


def named_packages(text: str) -> tuple[str, ...]:
    """The packages of the catalogue in a text, in order, without torch itself."""
    stems = (match[1] for match in itertools.islice(_SHARED_OBJECT.finditer(text), _MOST))
    found = {package.name: None for stem in stems if (package := package_of_file(stem)) is not None}
    for name in itertools.islice(_NAME.finditer(text), _MOST):
        word = re.sub(r"[ _]", "-", name[0].lower())
        if name["torch"] is None:
            word = re.sub(r"^(?:py)?torch(?:-?(?=scatter|cluster|spline|geom)|-(?=sparse))", "torch-", word)
        package = None if name["torch"] is not None or _is_product(name[0]) else package_of_name(word)
        if package is None and "_" in name[0]:
            package = package_of_file(name[0])  # `flash_attn_2_cuda.cpython-312: undefined symbol`
        listed = _IN_LIST.match(text, name.end()) is not None
        if package is not None and package.name != "torch" and not listed:
            found[package.name] = None
    if not found and _GEOMETRIC.search(text) is not None:
        return _OF_GEOMETRIC
    return tuple(found or _named_by_parts(text))


def _named_by_parts(text: str) -> tuple[str, ...]:
    parts = list(itertools.islice(_PARTS.finditer(text), _MOST))
    names = tuple(dict.fromkeys(f"torch-{each['part']}" for each in parts))
    return names if len(names) > 1 or any(each["prebuilt"] for each in parts) else ()


def _is_built(package: Package) -> bool:
    return package.sdist or bool(package.repository or package.guide)


@lru_cache(maxsize=4)  # the messages of a text ask in turn
def _find(text: str) -> tuple[int, int] | None:
    """Bounds of the words and of torch."""
    for words in itertools.islice(_WORDS.finditer(text), _MOST):
        if words["torch"] is not None or words["mine"] is not None:
            return words.span()
        torch = _torch_of(text, words)
        if torch is None:
            continue
        start, end = min(words.start(), torch[0]), max(words.end(), torch[1])
        before = _CLAUSE.search(text, max(0, start - 16), start)
        between = text[min(words.end(), torch[1]) : max(words.start(), torch[0])]
        between = _CLAUSES.split(between)[-1] or between
        clause = "" if before is None else before[0]
        negated = _NEGATED.search(clause)
        if negated is not None and start < words.start() and _MADE.search(clause, negated.end()) is None:
            negated = None
        if negated is not None and _OF_OTHER.search(clause, negated.end()) is not None:
            negated = None
        asked = _ASKS_IN_CHINESE.match(text, end) or (
            _ASKS.match(text, end) and _ASKED.search(text, max(0, start - 24), start)
        )
        if not (negated or asked or _NOT_SO.search(clause) or _NOT_WITHIN.search(between)):
            return start, end
    return None


def _torch_of(text: str, words: re.Match[str]) -> tuple[int, int] | None:
    """Bounds of the word torch that the words belong to."""
    if words["checkout"] is None and _OF_FILE.match(text, words.end()) is not None:
        return None
    after = next(_packages(text, words.end(), words.end() + _REACH), None)
    if after is not None and _ADJACENT.fullmatch(text, words.end(), after.start()):
        return after.span() if after["torch"] is not None else None
    start = max(0, words.start() - _REACH)
    if words["checkout"] is None:  # steps of a build follow each other
        start = max((start, *(each.end() for each in _END.finditer(text, start, words.start()))))
    if words["oneself"] is not None and _MADE.search(text, start, words.start()) is None:
        return None
    if words["checkout"] is not None and _CLONED.search(text, start, words.start()) is None:
        return None
    end = words.start()
    for package in reversed([*_packages(text, start, words.start())]):
        if end < words.start() and _AND.fullmatch(text, package.end(), end) is None:
            return None
        if package["torch"] is not None:
            return package.span()
        end = package.start()
    return None


def _packages(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """The packages that are named in a part of a text."""
    for name in _NAME.finditer(text, start, min(end, len(text))):
        word = name[0].lower()
        if (
            name["torch"] is not None
            or word.startswith(("torch", "pytorch"))
            or word in _OTHER
            or (package_of_name(word) and not _is_product(name[0]))
        ):
            yield name


def _is_product(word: str) -> bool:
    """Whether a word is too short to be a package in other letters than the package's own: Kimi K2 is a model."""
    return len(word) < 3 and not word.islower()
