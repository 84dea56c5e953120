"""Compiled propagation through a graph, over arrays only."""
