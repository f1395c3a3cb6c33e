"""Mangled names read by the grammar of the Itanium C++ ABI."""
