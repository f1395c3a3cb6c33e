"""The readings of a text, and the answers to what they find."""
