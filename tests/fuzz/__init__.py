"""Mutated inputs of every kind that abiscan reads: `python -m tests.fuzz --help`; see docs/development/fuzzing.md."""
