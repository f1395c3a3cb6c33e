"""`python -m abiscan`."""

from __future__ import annotations

from abiscan.cli import run

if __name__ == "__main__":
    run()
