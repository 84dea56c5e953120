"""Events from files and results to files, for runs without a lake."""
