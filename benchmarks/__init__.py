"""One file per claim; each checks its answers and prints ratios within one run."""
