"""Compiled code that reads entries: windows and edge predicates."""
