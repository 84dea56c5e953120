"""Convert many integers to decimal strings.

An integer is a sum of powers of two. A table contains the decimal digits of these powers, eight
digits per place. So a string takes one multiplication and one addition per word and place, in SIMD
and without carries. Then one pass carries, and one pass writes. The time is quadratic in the
number of digits, as in Python's conversion. GMP is faster only above about 30,000 bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.numbers.compiled import inlined, unlocked

#: Bits of a word of an integer, and how many products of a word and a place add up in 64 bits.
WORD, _TOGETHER = 28, 640
_MASK = np.uint64((1 << WORD) - 1)
#: Upper limit of a place (eight decimal digits): 26.57 bits.
_PLACE = np.uint64(10**8)
_NOTHING = np.uint64(0)


class Scratch(NamedTuple):
    """Scratch for integers of at most W words and P places; two integers are converted at once.

    Attributes:
        powers: uint32[W, P], the places of `2**(WORD * i)`, the lowest place first.
        words: uint32[2, W]; places: uint64[2, P].
        text: uint64[P], eight characters each, the highest place first; chars: its bytes.
    """

    powers: np.ndarray
    words: np.ndarray
    places: np.ndarray
    text: np.ndarray
    chars: np.ndarray


def make_scratch(limbs: int) -> Scratch:
    """Return scratch for integers of `limbs` limbs of 64 bits."""
    words = -(-64 * limbs // (4 * WORD)) * 4
    places = 2 * words * WORD // 53 + 1
    powers, text = np.zeros((words, places), np.uint32), np.zeros(places, np.uint64)
    _fill_powers(powers)
    both = np.zeros((2, words), np.uint32), np.zeros((2, places), np.uint64)
    return Scratch(powers, *both, text, text.view(np.uint8))


@unlocked
def _fill_powers(powers):
    """Fill `Scratch.powers`."""
    powers[0, 0], size = 1, 1
    for i in range(1, powers.shape[0]):
        carry, j = _NOTHING, 0
        while j < size or carry:
            carry += np.uint64(powers[i - 1, j]) << np.uint64(WORD)
            powers[i, j] = carry % _PLACE
            carry //= _PLACE
            j += 1
        size = j


@unlocked
def write_decimals(integers, scratch, text, ends):
    """Write the decimal strings of integers one after another, and the end of each string.

    `integers` are uint64[R, L], not negative, with the lowest limb first. `text` is uint8[*].
    `ends` is int32[R + 1], and its first element must be 0.
    """
    at, last = 0, integers.shape[0] - 1
    for row in range(0, integers.shape[0], 2):  # two share one read of the table: 25 % less time
        words = max(
            _to_words(integers[row], scratch.words[0]),
            _to_words(integers[min(row + 1, last)], scratch.words[1]),
        )
        _add_powers(scratch, words)
        for one in range(min(2, integers.shape[0] - row)):
            at += _write(scratch, scratch.places[one], text[at:])
            ends[row + one + 1] = at


@inlined
def _to_words(limbs, words):
    """Split an integer into words; return how many are not 0, rounded up to a multiple of four."""
    count, last = 0, limbs.size - 1
    for k in range(words.size):
        limb, bits = k * WORD // 64, k * WORD % 64
        value = limbs[limb] >> np.uint64(bits) if limb <= last else _NOTHING
        if bits > 64 - WORD and limb < last:
            value |= limbs[limb + 1] << np.uint64(64 - bits)
        words[k] = value & _MASK
        count = k if words[k] else count
    return (count + 4) // 4 * 4


@inlined
def _add_powers(scratch, words):
    """Fill the places of two integers from their first `words` words."""
    one, other = scratch.places[0], scratch.places[1]
    one[:] = other[:] = _NOTHING
    for k in range(0, words, 4):
        size = 2 * (k + 4) * WORD // 53 + 1
        _add_four(scratch, k, one, other, size)
        if (k + 4) % _TOGETHER == 0 or k + 4 >= words:
            _carry_on(one, other, size)


@inlined
def _add_four(scratch, k, one, other, size):
    """Add four rows of `powers`, from row `k`, times four words of both integers."""
    first, second = scratch.powers[k], scratch.powers[k + 1]
    third, fourth = scratch.powers[k + 2], scratch.powers[k + 3]
    left, right = scratch.words[0], scratch.words[1]
    a, b = np.uint64(left[k]), np.uint64(left[k + 1])
    c, d = np.uint64(left[k + 2]), np.uint64(left[k + 3])
    e, f = np.uint64(right[k]), np.uint64(right[k + 1])
    g, h = np.uint64(right[k + 2]), np.uint64(right[k + 3])
    for j in range(size):
        p, q = np.uint64(first[j]), np.uint64(second[j])
        r, s = np.uint64(third[j]), np.uint64(fourth[j])
        one[j] += a * p + b * q + c * r + d * s
        other[j] += e * p + f * q + g * r + h * s


@inlined
def _carry_on(one, other, size):
    """Carry until each place is below `_PLACE`; both integers at once hide the latency."""
    carry = carried = _NOTHING
    for j in range(size):
        carry += one[j]
        carried += other[j]
        above, higher = carry // _PLACE, carried // _PLACE
        one[j] = carry - above * _PLACE
        other[j] = carried - higher * _PLACE
        carry, carried = above, higher


@inlined
def _write(scratch, places, text):
    """Write the characters of an integer; return their number."""
    size, first = places.size, 0
    while size > 1 and places[size - 1] == _NOTHING:
        size -= 1
    for j in range(size):
        scratch.text[size - 1 - j] = _eight(places[j])
    while first < 7 and scratch.chars[first] == 48:
        first += 1
    chars = scratch.chars[first : 8 * size]
    for k in range(chars.size):
        text[k] = chars[k]
    return chars.size


@inlined
def _eight(value):
    """Return the eight characters of a place in one word.

    The place is split into groups of four digits, then two, then one.
    """
    above = (value * np.uint64(109951163)) >> np.uint64(40)
    value = above | (value - above * np.uint64(10_000)) << np.uint64(32)
    above = ((value * np.uint64(10486)) >> np.uint64(20)) & np.uint64(0x7F0000007F)
    value = above | (value - above * np.uint64(100)) << np.uint64(16)
    above = ((value * np.uint64(103)) >> np.uint64(10)) & np.uint64(0xF000F000F000F)
    return above | (value - above * np.uint64(10)) << np.uint64(8) | np.uint64(0x3030303030303030)
