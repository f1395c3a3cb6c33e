"""The torch that is installed (found, never imported) and the builds that were released (shipped index)."""

from __future__ import annotations
