"""From inputs and options to a report: the pipeline, its stages and its executors."""
