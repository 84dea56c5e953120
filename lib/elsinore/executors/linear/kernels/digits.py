"""Numbers of the sweep: 64 bits, or digits of 56 bits with delayed carries.

N numbers are int64[N], or int64[N, 1 + D]: the number of digits in use, then the digits, the lowest
first. Unused digits are 0. The layout is known when kernels are compiled, as in `rows`. After each
operation a digit is between -2^8 and 2^56 + 2^8: all carries move by one digit at once. The order
of this pass does not matter, so the compiler uses SIMD. The highest digit has the sign. Such wide
counts are added and shifted, and rarely multiplied.

Sums of doubles are float64[N], or float64[N, 2] with digits: mantissas and exponents.

`spare` is scratch, int64[3, 1 + D].
"""

from __future__ import annotations

import numpy as np

from elsinore.executors.linear.kernels.sweep_program import factor_of
from elsinore.numbers.compiled import inlined, outlined
from elsinore.numbers.wide import add_scaled, normal

#: Bits of a digit, and of its halves.
DIGIT = 56
HALF = 28
#: The largest factor of a digit.
SMALL = 60
_MASK = (1 << DIGIT) - 1
_HALF_MASK = (1 << HALF) - 1


# ---- one number, or a run of them


@inlined
def clear(numbers, count):
    """Set the first `count` numbers to 0."""
    if numbers.ndim == 1:
        numbers[:count] = 0
    else:
        for row in range(count):
            _forget(numbers[row])


@inlined
def copy_numbers(target, source):
    """Copy all numbers from another array."""
    for row in range(source.shape[0]):
        if target.ndim == 1:
            target[row] = source[row]
        else:
            for i in range(1 + max(target[row, 0], source[row, 0])):
                target[row, i] = source[row, i]


@inlined
def is_zero(numbers, row):
    """Return whether a number is 0."""
    if numbers.ndim == 1:
        return numbers[row] == 0
    return numbers[row, 0] == 0


@inlined
def as_scaled(numbers, row):
    """Return a number that is not negative as `(mantissa, exponent)`, from its highest digits."""
    if numbers.ndim == 1:
        return np.float64(numbers[row]), np.int64(0)
    size = numbers[row, 0]
    value, taken = 0.0, min(size, np.int64(4))
    for n in range(taken):
        value = value * 2.0**DIGIT + np.float64(numbers[row, size - n])
    return value, DIGIT * (size - taken)


@inlined
def add(target, row, source, other, factor, spare):
    """Add `factor` times a number to another."""
    if target.ndim == 1:
        target[row] += factor * source[other]
    elif 0 <= factor <= SMALL:
        _add_digits(target[row], source[other], factor, spare[0])
    else:
        add_multiple(target[row], source[other], factor, np.int64(0), spare)


@inlined
def gain(target, row, source, other, burst, loops, limit, spare):
    """Add a burst's multiple of a number: `2^b - 1` times if a state loops, else b times.

    Return whether the result is below the limit, which applies only to 64 bits.
    """
    if target.ndim == 1:
        times = factor_of(burst) if loops else burst.length
        more = np.float64(times) * np.float64(source[other])
        fits = abs(more) + abs(np.float64(target[row])) < limit
        target[row] += times * source[other]
        return fits
    if loops and burst.rising:
        add_shifted(target[row], source[other], burst.length, 1, spare[0])
    else:
        add(target, row, source, other, burst.length, spare)
    return True


@inlined
def add_weighed(target, row, weight, shift, source, other, size, limit, spare):
    """Add `weight * 2^shift` times a number; return whether the result is below the limit.

    `size` is an upper bound of the factor's magnitude. The limit applies only to 64 bits.
    """
    if target.ndim == 1:
        fits = size * np.float64(source[other]) < limit
        target[row] += (weight << shift) * source[other]
        return fits & (abs(np.float64(target[row])) < limit)
    add_multiple(target[row], source[other], weight, shift, spare)
    return True


@inlined
def add_run(target, source, length, factor, spare):
    """Add `factor` times a run of numbers to another run."""
    if target.ndim == 1:
        if factor == 1:  # products of 64 bits take three times as long as sums
            for i in range(length):
                target[i] += source[i]
        else:
            for i in range(length):
                target[i] += factor * source[i]
    else:
        for i in range(length):
            add(target, i, source, i, factor, spare)


@inlined
def add_loop(target, source, length, factor, times, spare):
    """Apply a burst to a run of counts of states that loop.

    `source` has the values that reach the counts from other states. Each count gains `factor` times
    the sum of both. `factor` is `2^times - 1`; with 64 bits it can have any value.
    """
    if target.ndim == 1:
        if factor == 1:
            for i in range(length):
                target[i] += target[i] + source[i]
        else:
            for i in range(length):
                target[i] += factor * (target[i] + source[i])
    else:
        for i in range(length):
            double_digits(target[i], source[i], times, spare)


# ---- numbers as digits: each is a size and its digits; `line` is scratch


@inlined
def _forget(number):
    number[: 1 + number[0]] = 0


@inlined
def _settle(number, line, size):
    """Set a number to the digits of `line`, carried by one; the highest two are only carries."""
    out, source = number[1 : 1 + size], line[:size]
    out[0] = source[0] & _MASK
    for i in range(1, size - 1):
        out[i] = (source[i] & _MASK) + (source[i - 1] >> DIGIT)
    out[size - 1] = source[size - 1] + (source[size - 2] >> DIGIT)
    trim(number, size)


@inlined
def trim(number, size):
    """Write how many of the first `size` digits are in use; the highest one takes the sign."""
    while size > 0 and (number[size] == 0 or (number[size] == -1 and size > 1)):
        if number[size] == -1:
            number[size] = 0
            number[size - 1] -= 1 << DIGIT
        size -= 1
    number[0] = size


@outlined
def _add_digits(number, other, factor, line):
    """Add `factor`, at most `SMALL`, times a number to another."""
    length = other[0]
    if length == 0:
        return
    size = max(number[0], length) + 3
    first, second = number[1 : 1 + size], other[1 : 1 + length]
    out = line[:size]
    for i in range(length):
        out[i] = first[i] + factor * second[i]
    for i in range(length, size):
        out[i] = first[i]
    _settle(number, line, size)


@outlined
def double_digits(number, other, times, spare):
    """Apply a burst of a state that loops to its count: `((count + f) << times) - f`.

    `other` is f, the value that reaches the count from other states. `times` is less than `DIGIT`.
    """
    length, line = other[0], spare[0]
    size = max(number[0], length) + 3
    rest = DIGIT - times
    low = (1 << rest) - 1
    count, more = number[1 : 1 + size], other[1 : 1 + length]
    total, out = spare[1, :size], line[:size]
    for i in range(size):
        total[i] = count[i]
    for i in range(length):
        total[i] += more[i]
    out[0] = (total[0] & low) << times
    for i in range(1, size):
        out[i] = ((total[i] & low) << times) + (total[i - 1] >> rest)
    for i in range(length):
        out[i] -= more[i]
    _settle(number, line, size)


@outlined
def add_shifted(number, other, shift, less, line):
    """Add `2^shift - less` times a number to another; `less` is 0 or 1."""
    length = other[0]
    if length == 0:
        return
    whole, part = shift // DIGIT, shift % DIGIT
    size = max(number[0], length + whole + 1) + 2
    more, own, out = other[1 : 1 + length], number[1 : 1 + size], line[:size]
    for i in range(size):
        out[i] = own[i]
    if less:
        for i in range(length):
            out[i] -= more[i]
    moved, carried = line[whole : whole + length], line[whole + 1 : whole + 1 + length]
    rest = DIGIT - part
    low = (1 << rest) - 1
    for i in range(length):
        moved[i] += (more[i] & low) << part
    for i in range(length):
        carried[i] += more[i] >> rest
    _settle(number, line, size)


@outlined
def add_multiple(number, other, factor, shift, spare):
    """Add `factor * 2^shift` times a number to another."""
    rest, line, product = np.int64(factor), spare[0], spare[2]
    for part in range(3):
        low = rest & _HALF_MASK if part < 2 else rest
        rest >>= HALF
        length = other[0]
        if low == 0 or length == 0:
            continue
        more, out = other[1 : 1 + length], line[: length + 3]
        out[:] = 0
        for i in range(length):
            high = (more[i] >> HALF) * low
            out[i] += (more[i] & _HALF_MASK) * low + ((high & _HALF_MASK) << HALF)
            out[i + 1] += high >> HALF
        _forget(product)
        _settle(product, line, length + 3)
        add_shifted(number, product, shift + part * HALF, 0, line)


# ---- sums of doubles


@inlined
def clear_sums(sums, count):
    """Set the first `count` sums to 0."""
    for row in range(count):
        if sums.ndim == 1:
            sums[row] = 0.0
        else:
            sums[row, 0] = sums[row, 1] = 0.0


@inlined
def copy_sums(target, source):
    """Copy all sums from another array."""
    for row in range(source.shape[0]):
        if target.ndim == 1:
            target[row] = source[row]
        else:
            target[row, 0], target[row, 1] = source[row, 0], source[row, 1]


@inlined
def add_sum(target, row, source, other, times):
    """Add `times` times a sum of doubles to another."""
    if target.ndim == 1:
        target[row] += times * source[other]
    elif source[other, 0] != 0.0:
        _add_scaled_to(target, row, source[other, 0] * times, np.int64(source[other, 1]))


@inlined
def add_weight(target, row, weight, shift, numbers, other):
    """Add a weight to a sum, `2^shift` times for each trend that a number counts."""
    count, exponent = as_scaled(numbers, other)
    if target.ndim == 1:
        target[row] += weight * np.float64(np.int64(1) << shift) * count
    else:
        scaled, scale = normal(weight, np.int64(0))
        fraction, places = normal(count, exponent)
        _add_scaled_to(target, row, scaled * fraction, places + scale + shift)


@outlined
def _add_scaled_to(target, row, mantissa, exponent):
    """Add a scaled double to a sum."""
    fraction, places = normal(mantissa, exponent)
    total, scale = add_scaled(target[row, 0], np.int64(target[row, 1]), fraction, places)
    target[row, 0], target[row, 1] = total, scale
