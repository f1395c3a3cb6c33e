"""What abiscan has as data about error messages and causes."""
