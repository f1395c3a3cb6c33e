"""Declarations of a wheel: tags, metadata and requirements."""
