"""The examples below the help."""

from __future__ import annotations

EXAMPLES = """\b
Examples:
  abiscan build/lib.so                         will it load on the installed torch, and if not, why
  abiscan dist/*.whl --require-torch '>=2.6'   may this wheel ship: exit 1 if a release breaks it
  abiscan --torch 2.4.1 --matrix lib.so        against a release that is not installed; against all
  abiscan explain < build.log                  every symbol error in a log, with its cause and a fix
"""
