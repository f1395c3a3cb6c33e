"""This machine: its interpreters and the torch that is installed (found and read, never imported)."""
