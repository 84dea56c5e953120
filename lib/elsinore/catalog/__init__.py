"""Reads `schemas/` into frozen event types and stream schemas."""
