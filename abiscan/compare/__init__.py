"""Compares reports: changes, common compatibility, effects of an upgrade."""
