"""Measures events at hand, on columns, for `elsinore.sharing.profile`."""
