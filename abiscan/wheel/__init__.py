"""What a wheel declares: its tags and requirements."""
