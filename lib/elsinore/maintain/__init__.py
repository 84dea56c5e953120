"""Maintenance of the tables: compaction, retention, and erasure of a key."""
