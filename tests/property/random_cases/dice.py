"""Seeded choices that may be aimed at one construct of the language."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Dice:
    """A random source; the same numbers on every machine.

    Attributes:
        aim: the construct that the case should hold, or None.
    """

    def __init__(self, seed: str, aim: str | None = None) -> None:
        self.aim = aim
        self._random = random.Random(seed)

    def aims(self, *constructs: str) -> bool:
        """Whether the case is aimed at one of these constructs."""
        return self.aim in constructs

    def chance(self, probability: float, *constructs: str) -> bool:
        """True with a probability, and nearly always where aimed at one of the constructs."""
        return self._random.random() < (0.9 if self.aims(*constructs) else probability)

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items; what stands twice is twice as likely."""
        return items[int(self._random.random() * len(items))]

    def number(self, low: int, high: int) -> int:
        """An integer between two, both included."""
        return low + int(self._random.random() * (high - low + 1))

    def shuffle(self, items: list[Item]) -> None:
        """Bring a list into random order."""
        self._random.shuffle(items)
