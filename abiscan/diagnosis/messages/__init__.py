"""Error messages and logs -> typed subjects -> answers."""
