"""Rewrites a pattern into the one form that all later passes read."""

from __future__ import annotations

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
)


def normal_form(pattern: Pattern) -> Pattern:
    """An equal pattern without needless nesting.

    Sequences in sequences and choices in choices are flattened, one-part sequences unwrapped, and
    repeated repetitions folded: `(P+)+` is `P+`, `(P*)+`, `(P+)?` and `(P?)*` are `P*`.

    >>> from elsinore.query.syntax import EventPattern as E
    >>> a, b = E("A", "A"), E("B", "B")
    >>> normal_form(Sequence((Sequence((KleenePlus(KleenePlus(a)), b)),))).parts
    (KleenePlus(body=EventPattern(type='A', alias='A')), EventPattern(type='B', alias='B'))
    """
    match pattern:
        case EventPattern():
            return pattern
        case Sequence(parts):
            return _sequence(parts, pattern)
        case Disjunction(parts):
            flat = _flat(parts, Disjunction)
            return flat[0] if len(flat) == 1 else Disjunction(flat, pattern.at)
        case Conjunction(parts):
            return Conjunction(_flat(parts, Conjunction), pattern.at)
        case Negation(body):
            return Negation(normal_form(body), pattern.at)
        case _:
            return _repetition(pattern)


def _sequence(parts: tuple[Pattern, ...], whole: Sequence) -> Pattern:
    flat = _flat(parts, Sequence)
    alone = len(flat) == 1 and not isinstance(flat[0], Negation)
    return flat[0] if alone else Sequence(flat, whole.at)


def _flat(
    parts: tuple[Pattern, ...], kind: type[Sequence | Disjunction | Conjunction]
) -> tuple[Pattern, ...]:
    flat: list[Pattern] = []
    for part in map(normal_form, parts):
        flat += part.parts if isinstance(part, kind) else (part,)
    return tuple(flat)


def _repetition(pattern: KleenePlus | KleeneStar | Maybe) -> Pattern:
    body = normal_form(pattern.body)
    if isinstance(body, KleenePlus | KleeneStar | Maybe):
        if type(body) is type(pattern):
            return body
        return KleeneStar(body.body, pattern.at)  # two different ones make any number
    return type(pattern)(body, pattern.at)
