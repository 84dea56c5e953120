"""Input of all executors: columns, partitions, entries and weights of events."""
