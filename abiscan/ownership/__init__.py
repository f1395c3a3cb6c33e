"""The owner of a symbol or library: torch, Python, CUDA, the system, or the file itself."""
