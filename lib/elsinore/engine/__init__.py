"""Runs one runtime plan over the ordered events of one partition."""
