"""`python -m abiscan` and the console command."""

from __future__ import annotations


def start(*, forget_directory: bool = False) -> None:
    """Run the command line. Ctrl-C during the imports ends it as it does later, without a traceback.

    Args:
        forget_directory: remove the working directory from the search path, where `python -m` put it.
    """
    try:
        if forget_directory:
            from abiscan.child_processes import forget_working_directory

            forget_working_directory()
        from abiscan.cli import run

        run()
    except KeyboardInterrupt:
        import os

        os.write(2, b"abiscan: interrupted\n")
        os._exit(130)


if __name__ == "__main__":
    start(forget_directory=True)
