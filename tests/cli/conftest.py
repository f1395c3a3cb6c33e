"""Files of another user."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

STRANGER = 4242


@pytest.fixture
def give_away(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Give a file or link to another user; without root, become another user instead."""

    def give(path: Path) -> None:
        if os.geteuid() == 0:
            os.chown(path, STRANGER, -1, follow_symlinks=False)
        else:
            monkeypatch.setattr(os, "geteuid", lambda: STRANGER)

    return give
