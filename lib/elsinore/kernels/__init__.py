"""Compiled propagation over arrays: arithmetic only, no knowledge of plans."""
