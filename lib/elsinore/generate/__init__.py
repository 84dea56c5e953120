"""Seeded streams of the papers' experiments, and the real flights as raw files."""
