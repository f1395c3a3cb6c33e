"""Error messages and logs -> typed mentions -> answers."""
