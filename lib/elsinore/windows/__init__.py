"""WITHIN and SLIDE as pure functions over integer time."""
