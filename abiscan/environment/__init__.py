"""This machine: its interpreters and the installed torch, found and read but never imported."""
