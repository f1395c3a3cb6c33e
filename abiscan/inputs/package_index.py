"""The wheels listed by a package index (PEP 503, PEP 691), read with pypi-simple."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

import pypi_simple

from abiscan.errors import UnreadableFile
from abiscan.inputs.http_bytes import page
from abiscan.inputs.remote_file import RemoteFile, is_checked_wheel, shown, words
from abiscan.model.report import InputError
from abiscan.model.versions import order

_PRE_RELEASE = re.compile(r"a|b|rc|dev", re.IGNORECASE)


def listed(url: str, latest: int | None = None) -> Iterator[RemoteFile | InputError]:
    """The wheels on the page of a project, or of every project of an index; without yanked ones (PEP 592) and those for
    other systems. If other files follow, an unreadable page is yielded as an error.

    Args:
        latest: releases of each project that are listed, the newest; None for all.

    Raises:
        UnreadableFile: the requested page itself cannot be read.
    """
    answer = page(url, pypi_simple.ACCEPT_JSON_PREFERRED, shown(url))
    try:
        projects = _projects(answer)
    except Exception as error:  # parsers raise various types
        raise UnreadableFile(shown(url), f"not a page of a package index: {words(error)}") from error
    if projects is None:
        yield from _files(answer, url, latest)
        return
    for name in projects:
        below = urljoin(url, f"{pypi_simple.PyPISimple(url).get_project_url(name).rstrip('/').rpartition('/')[2]}/")
        try:
            yield from _files(page(below, pypi_simple.ACCEPT_JSON_PREFERRED, shown(below)), below, latest)
        except UnreadableFile as error:
            yield InputError(error.path, error.reason)


def _projects(answer: object) -> list[str] | None:
    """The projects on the root page of an index; None for the page of a project."""
    import requests

    assert isinstance(answer, requests.Response)
    if "json" in answer.headers.get("Content-Type", ""):
        found = json.loads(answer.content)
        return [str(each["name"]) for each in found["projects"]] if "projects" in found else None
    index = pypi_simple.IndexPage.from_response(answer)
    return None if any(name.endswith((".whl", ".gz", ".zip")) for name in index.projects) else list(index.projects)


def _files(answer: object, url: str, latest: int | None) -> Iterator[RemoteFile | InputError]:
    import requests

    assert isinstance(answer, requests.Response)
    project = url.rstrip("/").rpartition("/")[2]
    try:
        found = pypi_simple.ProjectPage.from_response(answer, project)
    except Exception as error:
        raise UnreadableFile(shown(url), f"not a page of a package index: {words(error)}") from error
    wheels = [each for each in found.packages if is_checked_wheel(each.filename) and not each.is_yanked]
    newest = None if latest is None else newest_versions({each.version or "" for each in wheels}, latest)
    for each in wheels:
        if newest is None or each.version in newest:
            place = each.url.partition("#")[0]
            scheme = urlsplit(place).scheme
            if scheme not in ("http", "https"):
                # A foreign page must not choose files of this machine or of its object stores.
                yield InputError(shown(place), f"the index links to {scheme}:, but only http and https are followed")
                continue
            yield RemoteFile(place, shown(place), sha256=(each.digests or {}).get("sha256"), size=each.size)


def newest_versions(versions: set[str], number: int) -> set[str]:
    """The newest versions; pre-releases count only if there is no other."""
    known = {version: order(version) for version in versions}
    final = {version for version in versions if known[version] is not None and not _PRE_RELEASE.search(version)}
    ranked = sorted(final or versions, key=lambda version: known[version] or (), reverse=True)
    return set(ranked[:number])
