"""Whose a name or a library is: torch's, Python's, CUDA's, the system's, or the file's own."""
