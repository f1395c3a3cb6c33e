"""Rewrites all sources below a path."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from abiscan.errors import UnreadableFile
from abiscan.model.limits import MAX_SOURCE_SIZE
from abiscan.rules import load_rules
from abiscan.source import FileSet, Neighbours, SourceRules, SourceSet, sources_below
from abiscan.source.rewrites.built_modules import module_of_cmake, module_of_setup
from abiscan.source.rewrites.rewrite import Rewritten, rewrite_source, stubs_for
from abiscan.source.rewrites.rewrite_table import STUB_RULE


def rewrite_tree(root: Path, wanted: frozenset[str], errors: list[str], there: list[str]) -> Iterator[Rewritten]:
    """Rewrite the sources below a path; nothing is written.

    Args:
        errors, there: read errors, and existing operator files, are appended to these.
    """
    rules = SourceRules(rule for rule in load_rules() if rule.id in wanted)
    listed = [os.path.relpath(path).replace(os.sep, "/") for path in sources_below(root)]
    others: SourceSet = Neighbours(listed[0], str(root)) if root.is_file() and listed else FileSet(listed, _text)
    for path in listed:
        text = _text(path)
        if text is None:
            errors.append(f"{path}: cannot be read")
            continue
        if os.path.islink(path):
            continue  # the target of a link is rewritten in its own place
        try:
            made = rewrite_source(text, path, rules, others, wanted)
        except UnreadableFile as error:
            errors.append(str(error))
            continue
        if made.changes or made.unchanged:
            yield made
        if STUB_RULE in wanted:
            for _place, stub in stubs_for(text, path, rules, others, _module_name(path)):
                if os.path.exists(stub.path):
                    there.append(stub.path)
                else:
                    yield stub


def _text(path: str) -> str | None:
    try:
        if os.path.getsize(path) > MAX_SOURCE_SIZE:
            return None
        # Bytes that are not UTF-8 are written back unchanged.
        return Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return None


def _module_name(path: str) -> str | None:
    """The module name according to the nearest setup.py or CMakeLists.txt above that defines it."""
    for folder in Path(path).resolve().parents[:6]:
        for name, read in (("setup.py", module_of_setup), ("CMakeLists.txt", module_of_cmake)):
            build = folder / name
            text = _text(str(build)) if build.is_file() else None
            found = None if text is None else read(text, path)
            if found is not None:
                return found
        if (folder / "setup.py").is_file():
            return None
    return None
