"""Lowers queries of fixed length, and the segments that they share, to segment programs."""
