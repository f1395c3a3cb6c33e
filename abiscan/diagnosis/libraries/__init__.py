"""Causes of libraries that were not found."""
