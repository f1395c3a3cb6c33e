"""Targets and options -> a report: the pipeline, its stages and who runs them."""
