"""The examples below the help, within 80 columns."""

from __future__ import annotations

EXAMPLES = """\b
Examples:
  abiscan build/lib.so                    will it load on the installed torch?
  abiscan dist/*.whl --require-torch '>=2.6'    may this wheel ship?
  abiscan --torch 2.4.1 --matrix lib.so   on 2.4.1, and on every release
  abiscan explain < build.log             why each symbol error, and a fix
  abiscan run -- pytest                   runs it, and explains import errors
"""
