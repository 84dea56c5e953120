"""Integers in two parts, for values of up to 96 bits: `first * 2**PART + second`."""

from __future__ import annotations

#: Bits of the second part, which is not negative.
PART = 32
#: The largest second part.
LOW = 2**PART - 1
#: Integers up to this in absolute value fit one part.
NARROW = 2**62
