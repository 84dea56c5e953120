"""Wide integers in words that are added without carries: the nodes of order trees.

A value is `sum(words[i] * 2**(54 * i))` of signed words. In a stored value, each word is within
about `±2**58`, so thirty of them add up in int64. An addition handles four words at a time without
a carry between them. Words are brought back below 54 bits once in many additions. A value takes as
many **blocks** of four words, half a cache line each, as it needs. So reads and writes follow the
size of the value, not the width of the largest. (64-bit limbs with carries are five times slower on
a million nodes of 2,900 bits.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.numbers.compiled import inlined, outlined
from elsinore.numbers.wide import add_wide

BITS = 54
#: Words of a block.
BLOCK = 4
_MASK = (1 << BITS) - 1
_LIMIT = 1 << (BITS + 4)
_LOW = np.uint64(_MASK)
_NOTHING = np.uint64(0)
_ALL = ~np.uint64(0)


def blocks_for(limbs: int) -> int:
    """Return the number of blocks that hold any value of `limbs` 64-bit limbs."""
    return -(-(64 * limbs // BITS + 1) // BLOCK)


@inlined
def _at(number):
    # A signed index can count from the end, so the compiler would not read neighboring words at
    # once.
    return np.uint64(number)


class Cells(NamedTuple):
    """A cell for each node of some trees and each of its counts.

    Attributes:
        words: int64[cells * width].
        used: int32[cells], blocks of each cell in use.
        width: words per cell.
        carriers: cells per node.
    """

    words: np.ndarray
    used: np.ndarray
    width: int
    carriers: int


@inlined
def sum_path(cells, carrier, base, place, exact, row):
    """Write the sum of one count over the nodes of a prefix to `row`; return its number of blocks.

    The prefix ends with rank `place`; if `exact`, only the node of that rank is read. `base` is the
    tree's node 0.
    """
    words, used, width = cells.words, cells.used, cells.width
    blocks = 1
    block = 0
    while block < blocks:
        a = b = c = d = 0
        i = place
        while i > 0:
            cell = (base + i) * cells.carriers + carrier
            have = used[_at(cell)]
            if have > block:
                blocks = max(blocks, have)
                at = _at(cell * width + block * BLOCK)
                a += words[at]
                b += words[at + _at(1)]
                c += words[at + _at(2)]
                d += words[at + _at(3)]
            i = 0 if exact else i & (i - 1)
        at = _at(block * BLOCK)
        row[at], row[at + _at(1)], row[at + _at(2)], row[at + _at(3)] = a, b, c, d
        block += 1
    return blocks


@inlined
def add_path(cells, carrier, base, place, size, exact, row, blocks):
    """Add `row` to one count of the nodes above a rank; return True if a node outgrew its cell.

    Arguments are as for `sum_path`; `size` is the tree's highest rank, and `row` has `blocks`
    blocks. A node that outgrew its cell is still correct, but nothing more may be added to it.
    """
    crowded = 0
    for block in range(blocks):
        crowded |= _add_block(cells, carrier, base, place, size, exact, row, block, blocks)
    over = False
    i = place
    while crowded != 0:
        if crowded & 1:
            over |= _carry(cells, (base + i) * cells.carriers + carrier)
        crowded >>= 1
        i = size + 1 if exact else i + (i & -i)
    return over


@inlined
def _add_block(cells, carrier, base, place, size, exact, row, block, blocks):
    """Add one block of `row`; return a bit for each node on the path that must carry."""
    words, used, width = cells.words, cells.used, cells.width
    at = _at(block * BLOCK)
    a, b, c, d = row[at], row[at + _at(1)], row[at + _at(2)], row[at + _at(3)]
    crowded = 0
    step = 1
    i = place
    while i <= size:
        cell = (base + i) * cells.carriers + carrier
        if block == 0 and used[_at(cell)] < blocks:
            for k in range(used[_at(cell)] * BLOCK, blocks * BLOCK):
                words[_at(cell * width + k)] = 0
            used[_at(cell)] = blocks
        at = _at(cell * width + block * BLOCK)
        e, f = words[at] + a, words[at + _at(1)] + b
        g, h = words[at + _at(2)] + c, words[at + _at(3)] + d
        words[at], words[at + _at(1)], words[at + _at(2)], words[at + _at(3)] = e, f, g, h
        high = (e + _LIMIT) | (f + _LIMIT) | (g + _LIMIT) | (h + _LIMIT)
        if high >> (BITS + 5) != 0:
            crowded |= step
        step <<= 1
        i = size + 1 if exact else i + (i & -i)
    return crowded


@outlined
def _carry(cells, cell):
    """Bring the words of a cell back below 54 bits; return True if the cell needs more room."""
    words, used, width = cells.words, cells.used, cells.width
    carry = 0
    last = used[cell] * BLOCK - 1
    for k in range(last):
        value = words[cell * width + k] + carry
        words[cell * width + k] = value & _MASK
        carry = value >> BITS
    value = words[cell * width + last] + carry
    words[cell * width + last] = value
    if -_LIMIT <= value < _LIMIT:
        return False
    if last + 1 == width:
        return True
    words[cell * width + last] = value & _MASK
    words[cell * width + last + 1] = value >> BITS
    for k in range(last + 2, last + 1 + BLOCK):
        words[cell * width + k] = 0
    used[cell] += 1
    return False


@inlined
def add_words(target, row, blocks, scratch):
    """Add blocks of words to two's complement limbs; return True if the result is crowded.

    The words are in `row`, the limbs in `target`. `scratch` is uint64[*], with two limbs more than
    `blocks` and `target` fill.
    """
    held = _NOTHING
    bits = carry = limbs = 0
    for k in range(blocks * BLOCK):
        value = row[k] + carry
        digit = np.uint64(value & _MASK)
        carry = value >> BITS
        held |= digit << np.uint64(bits)
        bits += BITS
        if bits >= 64:
            scratch[limbs] = held
            limbs += 1
            bits -= 64
            held = digit >> np.uint64(BITS - bits)
    scratch[limbs] = held | (np.uint64(carry) << np.uint64(bits))
    sign = _ALL if carry < 0 else _NOTHING  # the carry of a word is below 2**10
    scratch[limbs + 1] = np.uint64(carry >> (64 - bits)) if bits > 0 else sign
    limbs += 2
    size = target.size
    for k in range(limbs, size):
        scratch[k] = sign
    for k in range(size, limbs):
        if scratch[k] != sign:
            return True
    if (scratch[size - 1] >> np.uint64(62)) != (sign >> np.uint64(62)):
        return True
    return add_wide(target, scratch[:size])


@inlined
def to_words(limbs, row):
    """Write two's complement limbs to `row` in blocks of words; return the number of blocks."""
    sign = _ALL if np.int64(limbs[limbs.size - 1]) < 0 else _NOTHING
    size = limbs.size
    top = sign & np.uint64(1)
    while size > 1 and limbs[size - 1] == sign and limbs[size - 2] >> np.uint64(63) == top:
        size -= 1
    count = (64 * size + BITS - 1) // BITS
    for k in range(count):
        limb, bits = k * BITS // 64, k * BITS % 64
        digit = limbs[limb] >> np.uint64(bits)
        if bits > 64 - BITS:
            above = limbs[limb + 1] if limb + 1 < size else sign
            digit |= above << np.uint64(64 - bits)
        row[k] = np.int64(digit & _LOW)
    spare = 64 - BITS
    row[count - 1] = (row[count - 1] << spare) >> spare
    while count > 0 and row[count - 1] == 0:
        count -= 1
    blocks = (count + BLOCK - 1) // BLOCK
    for k in range(count, blocks * BLOCK):
        row[k] = 0
    return blocks
