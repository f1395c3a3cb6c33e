"""Fills the templates of the rows of the catalogue."""
