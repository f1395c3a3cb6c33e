"""`python -m tests.fuzz.guided KIND [CORPUS]`: the same readers under atheris, whose mutations follow the lines that an
input reaches (https://github.com/google/atheris). Optional: it has no wheel for every Python."""

from __future__ import annotations

import sys

from abiscan.errors import AbiscanError


def main() -> None:
    """Run until there is a finding, or an option of libFuzzer (`-runs=`, `-max_total_time=`) ends it."""
    try:
        import atheris
    except ImportError:
        sys.exit("atheris is not installed here: pip install atheris")
    kind = sys.argv.pop(1)
    with atheris.instrument_imports(include=["abiscan"]):
        from tests.fuzz.kinds import kind_of

        reader = kind_of(kind, None)

    def one(data: bytes) -> None:
        try:
            reader.run(data)
        except AbiscanError:
            return

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
