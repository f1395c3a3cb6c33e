"""`python -m abiscan`."""

from __future__ import annotations

from abiscan.child_processes import forget_working_directory

if __name__ == "__main__":
    forget_working_directory()
    from abiscan.cli import run

    run()
