"""Executors and runtime plans: compute the results of queries over a table of events."""
