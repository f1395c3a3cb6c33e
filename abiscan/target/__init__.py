"""The environment that a file is checked against: torch, Python, CUDA or ROCm, platform, each part with its source."""
