"""The executor greta: counts of trends in a graph of events (GRETA)."""
