"""Elsinore counts and sums event trends exactly, without building them."""

import sys

__version__ = "0.1.0"

# Counts have any number of digits; Python would refuse to print or read more than 4,300.
sys.set_int_max_str_digits(0)
