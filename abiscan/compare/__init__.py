"""Reports compared: what changed from one to another, what several have in common, what an upgrade breaks."""
