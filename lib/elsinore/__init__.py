"""Elsinore counts and sums event trends exactly, without building them."""

__version__ = "0.1.0"
