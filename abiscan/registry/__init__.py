"""The same scan over a whole index: many wheels, each a task of its own; tables instead of one report.

A unit is one wheel or archive. `run_units.py` is the way through: units -> an engine -> outcomes -> a store. What an
engine is, who keeps the tables, and what is done already are arguments.
"""
