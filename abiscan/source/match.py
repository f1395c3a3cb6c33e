"""Matches rules with one source file: findings with lines."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import merge
from itertools import islice
from pathlib import PurePath

from msgspec import Struct
from msgspec.structs import replace

from abiscan.errors import UnreadableFile
from abiscan.model.finding import Finding, Location
from abiscan.model.limits import MAX_SOURCE_FINDINGS, MAX_SOURCE_PLACES
from abiscan.rules.make_finding import make_finding
from abiscan.rules.rule import Language, NameForm, Rule, SourcePattern
from abiscan.rules.texts import rewrite_texts
from abiscan.source.code import Code
from abiscan.source.declarations import angle_end
from abiscan.source.flagged_place import FlaggedPlace, Refined, with_acceptance
from abiscan.source.half_intrinsic import refine_half
from abiscan.source.lexer import ARROW, INCLUDE, NAME, SCOPE, WORDS, Tokens
from abiscan.source.pybind_functions import refine_pybind
from abiscan.source.source_set import LANGUAGES, FileSet, SourceSet
from abiscan.source.tensor_accessors import refine_member, refine_type
from abiscan.source.warp_functions import refine_warp_function

# Maximum number of tokens in a list of template arguments.
_MAX_ARGUMENTS = 96
# Maximum number of scopes before a name; rules need two.
_MAX_SCOPES = 4
_INCLUDE = re.compile(rb"i")
# Tokens needed to find the call that a place is an argument of.
_OF_CALLS = re.compile(rb"[(),]")
_OPEN, _CLOSE, _DOT, _COMMA = map(ord, "().,")
_DEFINE = re.compile(rb"#aa")
# Steps per place, besides those for its surroundings.
_PLACE_STEPS = 40
# Maximum number of locations in one finding: a project may have hundreds of AT_CHECKs.
MAX_PLACES = 50
# Rules with a pattern that finds candidates and code that decides: function of the places of a rule in a file (at least
# one), the file, and the included files. The result for a place is None if it is correct.
REFINEMENTS: Mapping[str, Callable[[Sequence[FlaggedPlace], Code, SourceSet], list[Refined | None]]] = {
    "const-data-ptr": refine_member,
    "deprecated-type-properties": refine_type,
    "half-intrinsic": refine_half,
    "masked-warp-function": refine_warp_function,
    "op-not-registered": refine_pybind,
    "tensor-data": refine_member,
}


class SourceHit(Struct, frozen=True):
    """A finding in a source file, with data to join it with a binary's finding.

    Attributes:
        element: the template argument as written (`int64_t`), if any.
    """

    finding: Finding
    element: str | None


class SourceRules:
    """The rules with source patterns, indexed by the words of the patterns."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.words: dict[str, list[tuple[Rule, SourcePattern]]] = {}
        self.starts: list[tuple[str, Rule, SourcePattern]] = []
        self.includes: list[tuple[Rule, SourcePattern]] = []
        # Groups of words; a text must contain one word of each group to be tokenized.
        self._needed: list[tuple[tuple[str, ...], ...]] = []
        # Patterns for names in the headers of the target release.
        self.headers: dict[NameForm, tuple[Rule, SourcePattern]] = {}
        # The rule for generated modules, which have no patterns.
        self.kernels: Rule | None = None
        for rule in rules:
            if rule.id == "generated-kernel":
                self.kernels = rule
            for pattern in rule.sources:
                if pattern.headers is not None:
                    self.headers[pattern.headers] = rule, pattern
                    continue
                last_words = (each.rsplit("::", 1)[-1] for each in pattern.qualified)
                words = tuple(dict.fromkeys((*pattern.member, *pattern.identifier, *last_words)))
                for word in words:
                    self.words.setdefault(word, []).append((rule, pattern))
                self.starts += [(start, rule, pattern) for start in pattern.identifier_starts]
                if pattern.include_starts:
                    self.includes.append((rule, pattern))
                if pattern.templated:
                    words = tuple(word + mark for word in words for mark in ("<", " <"))
                any_of = (*words, *pattern.identifier_starts, *pattern.include_starts)
                scopes = tuple(each.split("::", 1)[0] + "::" for each in pattern.qualified)
                groups = (any_of, scopes, pattern.file_has, pattern.inside)
                self._needed.append(tuple(group for group in groups if group))

    @cached_property
    def file_identifiers(self) -> re.Pattern[str] | None:
        """The identifiers that patterns require or exclude in a file; None for none."""
        every = [pattern for found in self.words.values() for _rule, pattern in found]
        every += [pattern for _rule, pattern in self.includes] + [pattern for _start, _rule, pattern in self.starts]
        names = {name for pattern in every for name in (*pattern.file_has, *pattern.file_lacks)}
        return re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b", re.ASCII) if names else None

    @cached_property
    def meant(self) -> re.Pattern[str] | None:
        """Matches the identifiers in patterns; None if there are none."""
        starts = {start for start, _rule, _pattern in self.starts}
        words = [rf"{re.escape(word)}\b" for word in sorted(self.words)]
        every = [*words, *(rf"{re.escape(start)}\w*" for start in sorted(starts))]
        return re.compile(rf"\b(?:{'|'.join(every)})", re.ASCII) if every else None

    def may_match(self, text: str) -> bool:
        """Whether a text may match some pattern."""
        if self.headers:
            from abiscan.source.removed_names import MARKS  # the table is large

            if any(mark in text for mark in MARKS):
                return True
        return any(all(any(word in text for word in group) for group in groups) for groups in self._needed)


def match_source(
    text: str,
    path: str,
    rules: SourceRules,
    *,
    module: str | None = None,
    others: SourceSet | None = None,
    release: str | None = None,
) -> tuple[SourceHit, ...]:
    """Match the rules with one source file: one hit per rule and text of the place, with its lines.

    Args:
        text: of the file.
        path: in reports; its extension determines the language.
        module: name of the file in fingerprints (default: `path`).
        others: finds included files; `path` is the name of this file in it.
        release: torch release of the headers (default: the newest known).

    Raises:
        UnreadableFile: it has more tokens, places or findings than `abiscan.model.limits` allows.
    """
    grouped: dict[tuple[str | None, ...], _Group] = {}
    line, at = 1, 0
    for place in places_in(text, path, rules, others or FileSet(), release):
        line += text.count("\n", at, place.at)
        at = place.at
        # The text of a finding must be true for each of its places.
        key = (place.rule.id, place.text, place.variant, place.pattern.message, place.pattern.fix, place.accepted)
        if key not in grouped:
            grouped[key] = _Group(place)
            if len(grouped) > MAX_SOURCE_FINDINGS:
                raise UnreadableFile(
                    path, f"more than {MAX_SOURCE_FINDINGS} findings: too large to be read as a source"
                )
        grouped[key].add(line)
    ordered = sorted(grouped.items(), key=lambda row: [part or "" for part in row[0]])
    return tuple(_hit(group, path, module or path) for _key, group in ordered)


def places_in(
    text: str, path: str, rules: SourceRules, others: SourceSet, release: str | None = None
) -> list[FlaggedPlace]:
    """Every place of a source that matches some rule, in order. Arguments and errors as for `match_source`."""
    language = LANGUAGES.get(PurePath(path).suffix.lower())
    if language is None or not rules.may_match(text):
        return []
    code = Code(path, text, many=True)
    places = _at_most(_File(code, language, rules).places(), path)
    places = _refined(places, code, others)
    if places or rules.headers:
        places = _with_headers(places, code, rules, others, release)
    return list(with_acceptance(places, text))


def _with_headers(
    places: list[FlaggedPlace], code: Code, rules: SourceRules, others: SourceSet, release: str | None
) -> list[FlaggedPlace]:
    """Add the names that the headers of a release lack, and drop places that are not compiled with it."""
    from abiscan.ownership.torch_declarations import declarations  # the table is large
    from abiscan.source.release_branches import ReleaseBranches
    from abiscan.source.removed_names import RemovedNames

    release = release or declarations().releases[-1]
    branches = ReleaseBranches(code, release, declarations())
    places = [place for place in places if branches.compiles(place.at, default=not place.rule.skip_guarded)]
    if rules.headers:
        known = {place.at for place in places}
        removed = RemovedNames(code, others, rules.headers, release, branches).places(known)
        places = sorted((*places, *_at_most(removed, code.path)), key=lambda place: place.at)
    return places


def _at_most(places: Iterator[FlaggedPlace], path: str) -> list[FlaggedPlace]:
    found = list(islice(places, MAX_SOURCE_PLACES + 1))
    if len(found) > MAX_SOURCE_PLACES:
        raise UnreadableFile(
            path, f"more than {MAX_SOURCE_PLACES} places that rules mean: too large to be read as a source"
        )
    return found


def _refined(places: list[FlaggedPlace], code: Code, others: SourceSet) -> list[FlaggedPlace]:
    """Refine places with the rule's refinement, if any, and drop those that it rejects."""
    by_rule: dict[str, list[FlaggedPlace]] = {}
    for place in places:
        by_rule.setdefault(place.rule.id, []).append(place)
    result: list[FlaggedPlace] = []
    for rule, found in by_rule.items():
        look = REFINEMENTS.get(rule)
        if look is None:
            result += found
            continue
        for place, refined in zip(found, look(found, code, others), strict=True):
            if refined is not None:
                result.append(
                    replace(place, confidence=refined.confidence, fields=refined.fields, variant=refined.variant)
                )
    return sorted(result, key=lambda place: place.at)


class _Group:
    """Places that form one finding.

    Attributes:
        first: the first place.
        lines: the first `MAX_PLACES` lines.
        count: number of different lines.
    """

    def __init__(self, first: FlaggedPlace) -> None:
        self.first = first
        self.lines: list[int] = []
        self.count = 0
        self._last = 0

    def add(self, line: int) -> None:
        """Add a place. Lines must not decrease."""
        if line != self._last:
            self._last = line
            self.count += 1
            if self.count <= MAX_PLACES:
                self.lines.append(line)


def _hit(group: _Group, path: str, module: str) -> SourceHit:
    first = group.first
    rule, pattern = first.rule, first.pattern
    fields = {
        "text": first.text,
        # As in the source, for rewrites.
        "type": first.element or "T",
        "inside": first.inside,
        "module": path,
        "detail": "",
        "instead": "",
        "target": "",
        **first.fields,
    }
    fields["rewrites"] = rewrite_texts(rule, fields)
    locations = tuple(Location(file=path, line=number) for number in group.lines)
    alike = all(each.message == pattern.message for each in rule.sources)
    identity = (module, first.text, *filter(None, (first.variant, None if alike else pattern.message)))
    finding = make_finding(rule, fields, identity, pattern)
    finding = replace(finding, confidence=first.confidence or rule.confidence, locations=locations)
    if group.count > MAX_PLACES:
        finding = replace(finding, message=f"{finding.message} (here the first {MAX_PLACES} of {group.count} places)")
    if first.accepted is not None:
        finding = replace(finding, suppressed=True, suppression=first.accepted, in_source=True)
    return SourceHit(finding, first.element)


# --- tokens ----------------------------------------------------------------------------------------------------


class _File:
    """The tokens of one file, and results for patterns that concern the whole file."""

    def __init__(self, code: Code, language: Language, rules: SourceRules) -> None:
        self.found = found = code.unquoted
        self.spend = code.spend
        self.language = language
        self.rules = rules
        # Names in the file that patterns require or exclude.
        self.names: set[str] = set()
        for match in rules.file_identifiers.finditer(code.text) if rules.file_identifiers else ():
            if match[0] not in self.names and found.index_at(match.start()) is not None:
                self.names.add(match[0])
        # Macros that the file itself defines are not those of torch.
        self.own_macros: set[str] = set()
        for define in _DEFINE.finditer(found.kinds):
            at = define.start()
            if found.word(at + 1) == "define":
                name = found.word(at + 2)
                if self._candidates(name):
                    self.own_macros.add(name)
        # Most places of a large file have the same text.
        self._texts: dict[str, str] = {}
        # Index of each open parenthesis before `calls_end`, twice, plus 1 if its first argument has ended.
        self.calls = array("I")
        self.calls_end = 0

    def places(self) -> Iterator[FlaggedPlace]:
        """Every place that matches a rule, in order, one pattern per rule."""
        kinds = self.found.kinds
        includes = (match.start() for match in _INCLUDE.finditer(kinds)) if self.rules.includes else ()
        names = self.found.names(self.rules.meant) if self.rules.meant else ()
        for at in merge(includes, names):
            hit: set[str] = set()
            for rule, pattern in self.rules.includes if kinds[at] == INCLUDE else self._candidates(self.found.word(at)):
                place = self._try(rule, pattern, at) if rule.id not in hit else None
                if place is not None:
                    hit.add(rule.id)
                    yield place

    def _candidates(self, word: str) -> list[tuple[Rule, SourcePattern]]:
        exact = self.rules.words.get(word, [])
        return exact + [(rule, pattern) for start, rule, pattern in self.rules.starts if word.startswith(start)]

    def _called(self, last: int) -> str:
        """The name before the innermost parenthesis open at token `last`, within its first argument; else empty.
        `last` must not decrease from call to call."""
        for match in _OF_CALLS.finditer(self.found.kinds, self.calls_end, last):
            kind = self.found.kinds[match.start()]
            if kind == _OPEN:
                self.calls.append(2 * match.start())
            elif self.calls:
                if kind == _CLOSE:
                    self.calls.pop()
                else:
                    self.calls[-1] |= 1
        self.calls_end = last
        if not self.calls or self.calls[-1] & 1:
            return ""
        at = self.calls[-1] // 2 - 1
        return self.found.word(at) if at >= 0 and self.found.kinds[at] == NAME else ""

    def _file_fits(self, pattern: SourcePattern) -> bool:
        return (
            (not pattern.languages or self.language in pattern.languages)
            and (not pattern.file_has or not self.names.isdisjoint(pattern.file_has))
            and self.names.isdisjoint(pattern.file_lacks)
        )

    def _try(self, rule: Rule, pattern: SourcePattern, at: int) -> FlaggedPlace | None:
        if not self._file_fits(pattern):
            return None
        found = self.found
        self.spend(10 if found.kinds[at] == INCLUDE else _PLACE_STEPS)
        inside = ""
        if pattern.inside:
            inside = self._called(at)
            if not inside.startswith(pattern.inside):
                return None
        word, offset = found.word(at), found.starts[at]
        if found.kinds[at] == INCLUDE:
            fits = word.startswith(pattern.include_starts)
            return FlaggedPlace(rule, pattern, word, None, inside, offset) if fits else None
        if word in self.own_macros or _in_directive(found, at):
            return None
        text = _named(pattern, found, at)
        if text is None:
            return None
        end, arguments = _template_arguments(found, at + 1)
        called = end < len(found) and found.kinds[end] == _OPEN
        if pattern.templated not in (None, arguments is not None) or pattern.called not in (None, called):
            return None
        if pattern.followed_by and not (called and _behind_call(found, end) in pattern.followed_by):
            return None
        element = arguments.split(",")[0].strip() if arguments else None
        if arguments is not None and pattern.member:
            text = f"{text}<{arguments}>()" if called else f"{text}<{arguments}>"
        kept = self._texts.setdefault
        element = None if element is None else kept(element, element)
        return FlaggedPlace(rule, pattern, kept(text, text), element, kept(inside, inside), offset)


def _named(pattern: SourcePattern, found: Tokens, at: int) -> str | None:
    """The text of the name at `at`, if the pattern matches it: a member, a qualified name, or a plain name."""
    word = found.word(at)
    if _is_member(found, at):
        return word if word in pattern.member else None
    scopes = _scopes(found, at)
    if scopes:
        text = "::".join((*scopes, word))
        return text if text in pattern.qualified else None
    starts = pattern.identifier_starts
    return word if word in pattern.identifier or (starts and word.startswith(starts)) else None


def _is_member(found: Tokens, at: int) -> bool:
    before = at - 1
    if before >= 0 and found.kinds[before] == NAME and found.word(before) == "template":
        before -= 1
    return before >= 0 and (found.kinds[before] == _DOT or found.kinds[before] == ARROW)


def _scopes(found: Tokens, at: int) -> tuple[str, ...]:
    scopes: list[str] = []
    kinds = found.kinds
    while len(scopes) < _MAX_SCOPES and at >= 2 and kinds[at - 1] == SCOPE and kinds[at - 2] == NAME:
        at -= 2
        scopes.insert(0, found.word(at))
    return tuple(scopes)


def _behind_call(found: Tokens, at: int) -> str:
    """The text after the parentheses that start at `at`; empty if they are too long."""
    level = 0
    for end in range(at, min(at + _MAX_ARGUMENTS, len(found) - 1)):
        level += (found.kinds[end] == _OPEN) - (found.kinds[end] == _CLOSE)
        if level == 0:
            return found.word(end + 1)
    return ""


def _in_directive(found: Tokens, at: int) -> bool:
    """Whether the token is the subject of a #define, #undef, #ifdef or defined()."""
    before = [found.word(each) for each in range(max(at - 2, 0), at)]
    return (
        before[-1:] == ["defined"]
        or before == ["defined", "("]
        or (before[:1] == ["#"] and before[1:] in (["define"], ["undef"], ["ifdef"], ["ifndef"]))
    )


def _template_arguments(found: Tokens, at: int) -> tuple[int, str | None]:
    """The index after `<...>` at `at`, and its contents; (at, None) if this is no argument list."""
    kinds = found.kinds
    end = angle_end(found, at, len(kinds), _MAX_ARGUMENTS) if kinds.startswith(b"<", at) else None
    if end is None:
        return at, None
    parts = []
    for each in range(at + 1, end - 1):
        apart = " " if kinds[each] in WORDS and kinds[each - 1] in WORDS else ""
        parts.append(f"{apart}{found.word(each)}{' ' if kinds[each] == _COMMA else ''}")
    return end, "".join(parts).strip()
