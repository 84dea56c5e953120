"""Integers as decimal text, many at a time.

An integer is a sum of powers of two, and a table has the decimal digits of these, eight a place. So
a text takes one multiplication and one addition a word and place, in SIMD and without a carry on
the way; then one pass that carries, and one that writes. As Python's own conversion it takes the
square of the width, but GMP's needs some 30,000 bits to be quicker.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.compiled import inlined, unlocked

#: Bits of a word of an integer, and how many words times digits of a place add up in 64 bits.
WORD, _TOGETHER = 28, 640
_MASK = np.uint64((1 << WORD) - 1)
#: What a place holds is less than this: 26.57 bits.
_PLACE = np.uint64(10**8)
_NOTHING = np.uint64(0)


class Scratch(NamedTuple):
    """For integers of at most W words and P places, of which two are worked on at once.

    Attributes:
        powers: uint32[W, P], the digits of `2**(WORD * i)`, the lowest place first.
        words: uint32[2, W]; places: uint64[2, P].
        text: uint64[P], eight characters each, the highest place first; chars: the same as bytes.
    """

    powers: np.ndarray
    words: np.ndarray
    places: np.ndarray
    text: np.ndarray
    chars: np.ndarray


def make_scratch(limbs: int) -> Scratch:
    """Scratch for integers of so many limbs of 64 bits."""
    words = -(-64 * limbs // (4 * WORD)) * 4
    places = 2 * words * WORD // 53 + 1
    powers, text = np.zeros((words, places), np.uint32), np.zeros(places, np.uint64)
    _fill_powers(powers)
    both = np.zeros((2, words), np.uint32), np.zeros((2, places), np.uint64)
    return Scratch(powers, *both, text, text.view(np.uint8))


@unlocked
def _fill_powers(powers):
    """Write the table of `Scratch`."""
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
    """Write the decimal text of integers, one after another, and where each ends.

    They are uint64[R, L], none of them negative, the lowest limb first; `ends`, int32[R + 1], has
    its 0 already.
    """
    at, last = 0, integers.shape[0] - 1
    for row in range(0, integers.shape[0], 2):  # two read the table once: a quarter less
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
    """Write all words of an integer; how many are not 0, about: a multiple of four."""
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
    """Fill the places of two integers of so many words."""
    one, other = scratch.places[0], scratch.places[1]
    one[:] = other[:] = _NOTHING
    for k in range(0, words, 4):
        size = 2 * (k + 4) * WORD // 53 + 1
        _add_four(scratch, k, one, other, size)
        if (k + 4) % _TOGETHER == 0 or k + 4 >= words:
            _carry_on(one, other, size)


@inlined
def _add_four(scratch, k, one, other, size):
    """Add four powers from one on, times four words of one integer and of another."""
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
    """Bring places below `_PLACE`; of both at once, since each waits for what it carries."""
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
    """Write an integer by its places; the number of its characters."""
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
    """Eight characters: a place is halved into fours, twos and ones of digits, in one word."""
    above = (value * np.uint64(109951163)) >> np.uint64(40)
    value = above | (value - above * np.uint64(10_000)) << np.uint64(32)
    above = ((value * np.uint64(10486)) >> np.uint64(20)) & np.uint64(0x7F0000007F)
    value = above | (value - above * np.uint64(100)) << np.uint64(16)
    above = ((value * np.uint64(103)) >> np.uint64(10)) & np.uint64(0xF000F000F000F)
    return above | (value - above * np.uint64(10)) << np.uint64(8) | np.uint64(0x3030303030303030)
