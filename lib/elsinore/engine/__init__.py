"""Runs queries over the events of a table: partitions, graphs, the exact ladder, result rows."""
