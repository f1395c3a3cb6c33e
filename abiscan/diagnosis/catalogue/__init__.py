"""Data on error messages and causes."""
