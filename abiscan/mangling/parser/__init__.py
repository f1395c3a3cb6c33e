"""A parser for mangled names by the grammar of the Itanium C++ ABI."""
