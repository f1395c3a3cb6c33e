"""The sources that `abiscan fix` rewrites."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from abiscan.model.migration_plan import FileRewrites
from abiscan.source.rewrites import REWRITES
from abiscan.source.rewrites.rewrite_tree import rewrite_tree
from abiscan.source.source_tree import is_source


def find_rewrites(path: str, cwd: str) -> Iterator[FileRewrites]:
    """The sources of a source file or directory that change; nothing for other inputs. Sources that cannot be read are
    left out.

    Args:
        cwd: directory for the paths of the result.
    """
    if os.path.isdir(path) or (os.path.isfile(path) and is_source(path)):
        for each in rewrite_tree(Path(path), frozenset(REWRITES), []):
            if each.changes:
                yield FileRewrites(os.path.relpath(each.path, cwd), tuple(sorted(set(each.rules))))
