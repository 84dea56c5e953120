"""Compiled sums over events, over arrays only."""
