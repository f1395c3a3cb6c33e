"""Call sites as locations of the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from abiscan.analysis.context import AnalysisContext
from abiscan.model.facts import CallSite
from abiscan.model.finding import Location


def locations_of(sites: Mapping[str, Iterable[CallSite]], context: AnalysisContext) -> dict[str, tuple[Location, ...]]:
    """Locations of call sites: functions by their demangled names, without repetition."""
    found = {}
    for name, each in sites.items():
        places = []
        for site in each:
            function = None
            if site.function is not None:
                function = context.demangler.demangle(site.function).text or site.function
            places.append(Location(function=function, file=site.file, line=site.line, offset=site.offset))
        found[name] = tuple(dict.fromkeys(places))
    return found
