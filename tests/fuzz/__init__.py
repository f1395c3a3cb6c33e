"""Mutated inputs of every kind that abiscan reads: `python -m tests.fuzz --help`; docs/fuzzing.md has the long run."""
