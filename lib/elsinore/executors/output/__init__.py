"""Output of all executors: rows of windows, partial rows, results."""
