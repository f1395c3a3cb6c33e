"""Reads a text: its words, names, paths, and facts about its environment."""
