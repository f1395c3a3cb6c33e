"""abiscan as a library: the names of `from abiscan import ...`, and the plugin of pytest."""
