"""Typed events of one stream as Arrow columns."""
