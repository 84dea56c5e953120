"""Random patterns: every operator at every place where the language allows it."""

from __future__ import annotations

from collections.abc import Callable

from elsinore.query.syntax import (
    Conjunction,
    Disjunction,
    EventPattern,
    KleenePlus,
    KleeneStar,
    Maybe,
    Negation,
    Pattern,
    Sequence,
    with_parts,
)
from tests.property.random_cases.dice import Dice
from tests.property.random_cases.shape import CONTIGUOUS_KEYS, TWO_KEYS

#: Types that patterns draw from; a small alphabet makes streams match and patterns ambiguous.
_ALPHABETS = ("A", "AB", "AAB", "ABC", "AABC", "ABCD", "ABBD")
_NEGATED = "NNNDCB"

_AMBIGUOUS = (
    *("ambiguous", "ambiguous with predicate", "ambiguous with NOT", "repeated type"),
    "aliases told apart by conditions",
)
_IN_KLEENE = ("NOT at a loop's start", "NOT at a loop's end", "NOT in a loop's middle")
_NOT_BODY = (
    "NOT multi-event",
    "NOT nested",
    "NOT with inner NOT at its edge",
    "NOT with Kleene",
    "NOT with OR",
    "NOT with edge predicate",
)


class PatternDrawer:
    """Draws one pattern; every occurrence gets an alias of its own."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self._leaves = 0
        self._alphabet = dice.pick(_ALPHABETS[:3] if dice.aims(*_AMBIGUOUS) else _ALPHABETS)
        self._nots = 0
        self._not_share = 0.55 if "NOT" in (dice.aim or "") else 0.08
        # Types that may still be drawn once. A key or an aggregate of one of several occurrences
        # of a type is mostly ambiguous, and no executor can be compared on an ambiguous query.
        distinct = dice.aims(*CONTIGUOUS_KEYS) and dice.chance(0.6)
        self._unused = list("ABCD") if distinct else []

    def draw(self) -> Pattern:
        """A whole pattern."""
        if self.dice.aims(*TWO_KEYS) and self.dice.chance(0.6, TWO_KEYS[1]):
            return Sequence(tuple(self._leaf() for _ in range(self.dice.number(2, 4))))
        if self.dice.chance(0.05, "AND", "AND of sides with different keys"):
            return self._pair()
        if self.dice.chance(0.06, *_AMBIGUOUS):
            return self._ambiguous()
        if self.dice.aims(*_IN_KLEENE):
            return self._guarded_loop()
        if self.dice.aims("OR"):
            return Disjunction((self._positive(1), self._positive(1)))
        if self._not_share > 0.1:
            return self._sequence(1)
        return self._positive(2)

    def _leaf(self, types: str | None = None) -> EventPattern:
        kind = self.dice.pick(types or self._unused or self._alphabet)
        if self._unused and not types:
            self._unused.remove(kind)
        self._leaves += 1
        return EventPattern(kind, f"{kind.lower()}{self._leaves - 1}")

    def _positive(self, depth: int) -> Pattern:
        """A pattern that may hold NOT in its sequences, but is none."""
        if depth == 0 or self._leaves > 4:
            return self._repeated(self._leaf())
        roll = self.dice.number(1, 100)
        if roll <= (20 if depth == 1 else 7):
            return self._repeated(self._leaf())
        if roll <= 78:
            return self._repeated(self._sequence(depth), one_in=4)
        if self.dice.chance(0.65, "OR nested"):
            parts = tuple(self._positive(depth - 1) for _ in range(2))
            return self._repeated(Disjunction(parts), one_in=4)
        return self._repeated(self._positive(depth - 1), one_in=2)

    def _repeated(self, body: Pattern, one_in: int = 2) -> Pattern:
        dice = self.dice
        if dice.chance(0.09, "star"):
            return KleeneStar(body)
        if dice.chance(0.09, "maybe"):
            return Maybe(body)
        return KleenePlus(body) if dice.number(1, one_in) == 1 else body

    def _sequence(self, depth: int) -> Pattern:
        count = self.dice.pick((1, 2, 2, 2, 3))
        parts = [self._positive(depth - 1) for _ in range(count)]
        return Sequence(tuple(self._with_not(parts)))

    def _with_not(self, parts: list[Pattern]) -> list[Pattern]:
        """The parts with NOT at some of the places around and between them."""
        found: list[Pattern] = []
        for index, part in enumerate([*parts, None]):
            place = "leading" if index == 0 else "trailing" if part is None else "between"
            share = self._not_share * (1.6 if self.dice.aims(f"NOT {place}") else 1)
            if self._nots < 3 and self.dice.chance(share):
                found.append(self._negation())
                if self.dice.chance(0.04, "NOT row") and self._leaves < 7:
                    option = [] if self.dice.chance(0.5) else [Maybe(self._leaf())]
                    found += [*option, self._negation()]
            if part is not None:
                found.append(part)
        return found

    def _guarded_loop(self) -> Pattern:
        """`(SEQ(A, NOT N, B))+` with NOT at one or more places, alone or within a sequence."""
        parts: list[Pattern] = [self._repeated(self._leaf(), 3) for _ in range(2)]
        place = _IN_KLEENE.index(self.dice.aim or "")
        parts.insert((0, 2, 1)[place], self._negation())
        loop = KleenePlus(Sequence(tuple(parts)))
        if self.dice.chance(0.5):
            return loop
        return Sequence((loop, self._leaf()) if self.dice.chance(0.5) else (self._leaf(), loop))

    # ---- NOT

    def _negation(self) -> Negation:
        self._nots += 1
        if not self.dice.chance(0.45, *_NOT_BODY):
            return Negation(self._leaf(_NEGATED))
        return Negation(self._negated_body())

    def _negated_body(self) -> Pattern:
        dice = self.dice
        wanted = _NOT_BODY.index(dice.aim) if dice.aim in _NOT_BODY else dice.number(0, 4)
        first, second = self._leaf(_NEGATED), self._leaf("CDDN")
        match _NOT_BODY[wanted]:
            case "NOT nested":
                return Sequence((first, Negation(self._leaf("BDN")), second))
            case "NOT with inner NOT at its edge":
                inner = Negation(self._leaf("BDN"))
                return Sequence((inner, first) if dice.chance(0.5) else (first, inner))
            case "NOT with Kleene":
                if dice.chance(0.3):
                    return KleenePlus(first)
                return Sequence((KleenePlus(first), second))
            case "NOT with OR":
                return Disjunction((first, second))
            case "NOT with edge predicate" if dice.chance(0.4):
                return KleenePlus(Sequence((first, second)))
            case _:
                return Sequence((first, second))

    # ---- pairs and ambiguity

    def _pair(self) -> Pattern:
        """Two patterns, which may be alike, overlap, or share nothing."""
        left = self._positive(1)
        unlike = self.dice.aims("AND of sides with different keys")
        if not unlike and self.dice.chance(0.35):
            return Conjunction((left, self._renamed(left)))
        if not unlike and self.dice.chance(0.4):
            return Conjunction((left, Maybe(self._renamed(left))))
        self._alphabet = self.dice.pick(_ALPHABETS)
        return Conjunction((left, self._positive(1)))

    def _renamed(self, pattern: Pattern) -> Pattern:
        """The same pattern with aliases of its own."""
        match pattern:
            case EventPattern(type=kind):
                return self._leaf(kind)
            case Conjunction():
                raise AssertionError("AND stands at the top alone")
        return with_parts(pattern, self._renamed)

    def _ambiguous(self) -> Pattern:
        """Patterns that can match one trend in several ways, or nearly."""
        leaf = self._leaf

        def plus(kind: str) -> Pattern:
            return KleenePlus(leaf(kind))

        shapes: tuple[Callable[[], Pattern], ...] = (
            lambda: Sequence((plus("A"), plus("A"))),
            lambda: Sequence((leaf("A"), leaf("B"), leaf("A"))),
            lambda: Disjunction((plus("A"), Sequence((leaf("A"), Maybe(leaf("B")))))),
            lambda: Disjunction((plus("A"), Sequence((leaf("A"), leaf("A"))))),
            lambda: Sequence((KleeneStar(leaf("A")), leaf("A"))),
            lambda: KleenePlus(Sequence((Maybe(leaf("A")), leaf("A")))),
            lambda: KleenePlus(Disjunction((leaf("A"), Sequence((leaf("A"), leaf("B")))))),
            lambda: Sequence((plus("A"), KleeneStar(leaf("B")), plus("A"))),
            lambda: Disjunction((Sequence((leaf("A"), leaf("B"))), Sequence(tuple(self._ab())))),
            lambda: Sequence((leaf("A"), leaf("A"))),
        )
        drawn = self.dice.pick(shapes)()
        if self.dice.chance(0.15, "ambiguous with NOT"):
            parts = list(drawn.parts) if isinstance(drawn, Sequence) else [drawn]
            parts.insert(self.dice.number(0, len(parts)), self._negation())
            return Sequence(tuple(parts))
        return drawn

    def _ab(self) -> list[Pattern]:
        return [KleenePlus(self._leaf("A")), self._leaf("B")]
