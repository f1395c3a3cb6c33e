"""Predicts the releases that a file would load on after rewriting the calls that rules flag."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from abiscan.model.finding import WhatIf
from abiscan.model.versions import ReleaseRanges
from abiscan.rules.element_types import element_type
from abiscan.rules.engine import hits_of
from abiscan.rules.rule import Rewrite, Rule
from abiscan.rules.rule_subject import RuleSubject
from abiscan.rules.texts import rewrite_fields, rewrite_symbols


def predict_rewrites(
    rules: Iterable[Rule],
    subject: RuleSubject,
    torch_names: Iterable[str],
    releases_exporting: Callable[[Iterable[str]], ReleaseRanges],
) -> tuple[WhatIf, ...]:
    """The releases gained by each rule's rewrite, then by all of them together. Only the first rewrite of a rule is
    used. The rule lists the symbols that it imports, checked by compiling it with the headers of torch 2.6 and 2.13.

    Args:
        torch_names: every name that only torch can provide.
        releases_exporting: the releases that export all of some names.
    """
    names = frozenset(torch_names)
    now = releases_exporting(names)
    removed: dict[str, frozenset[str]] = {}
    added: dict[str, frozenset[str]] = {}
    results = []
    for rule in rules:
        if not rule.rewrites:
            continue
        hits = [imported.symbol.name for imported in hits_of(rule, subject) if imported.symbol.name in names]
        new = _imports_after(rule.rewrites[0], hits, subject)
        if not hits or new is None:
            continue
        removed[rule.id], added[rule.id] = frozenset(hits), new
        after = releases_exporting((names - removed[rule.id]) | new)
        if after != now:
            results.append(WhatIf(rule.id, tuple(sorted(hits)), after, _assumes(rule, now)))
    if len(removed) > 1:
        gone, new = frozenset().union(*removed.values()), frozenset().union(*added.values())
        after = releases_exporting((names - gone) | new)
        if all(after != each.compatible_with for each in results) and after != now:
            together = " and ".join(sorted(removed))
            results.append(WhatIf(together, tuple(sorted(gone)), after, "both rewrites made"))
    return tuple(results)


def _imports_after(rewrite: Rewrite, hits: list[str], subject: RuleSubject) -> frozenset[str] | None:
    new: set[str] = set()
    for hit in hits:
        file_format = subject.facts.format
        fields, code = rewrite_fields(element_type(subject.parse(hit)), file_format)
        symbols = rewrite_symbols(rewrite, fields, code, file_format)
        if symbols is None:
            return None
        new.update(symbols)
    return frozenset(new)


def _assumes(rule: Rule, now: ReleaseRanges) -> str:
    """The assumption: other imports stay. Some may come from an inline function that the rewrite removes, so the true
    range may be wider, never narrower."""
    write = rule.rewrites[0].write.split("<")[0]
    headers = f"the headers of torch {now.text(last=', ')}, as now" if now else "the headers it was compiled with"
    return f"every such call rewritten as {write}<T>(), compiled with {headers}, all other imports kept"
