"""Readers of values that no pattern can capture: a function each."""
