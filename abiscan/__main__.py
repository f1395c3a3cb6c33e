"""`python -m abiscan`."""

from __future__ import annotations

from abiscan.cli import main

if __name__ == "__main__":
    main()
