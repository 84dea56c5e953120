"""Pure data for DAGs: intervals, partitions, command lines, names, retry rules."""
