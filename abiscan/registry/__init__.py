"""Scans a whole package index: one task per wheel, tables as output.

A unit is one wheel or archive. Start reading at `run_units.py`: units -> an engine -> outcomes -> a store. The engine,
the store and the finished units are arguments."""
