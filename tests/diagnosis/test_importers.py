"""The package that a traceback shows last is the one whose build is at fault, where the message names no file.

Expected values: the frames themselves.
"""

from __future__ import annotations
