"""Extracts subjects from error messages and logs and explains them."""
