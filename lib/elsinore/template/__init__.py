"""GRETA templates: the states of a query, and the transitions between adjacent events."""
