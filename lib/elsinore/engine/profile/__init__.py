"""Measures a stream for `elsinore.sharing.profile`, on columns: whole, or a part at a time."""
