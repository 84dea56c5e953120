"""Random sessions in place of windows."""

from __future__ import annotations

from dataclasses import replace

from elsinore.query import syntax
from elsinore.query.bound import BoundQuery
from elsinore.windows import Session
from tests.property.random_cases.dice import Dice
from tests.property.random_cases.shape import TYPES, Shape
from tests.property.random_cases.streams import Event

#: What sessions are combined with; a case that aims at `session with X` also aims at X.
_TOGETHER = (
    "NOT between", "NOT leading", "NOT trailing", "next-match", "contiguous", "edge predicate",
    "EACH", "ties", "STEPS", "AND", "grouping", "LENGTH", "ambiguous", "quantifier",
)  # fmt: skip
_WITH = "session with "
_UP_TO, _CUT, _SEVERAL = "session UP TO", "session cut by UP TO", "session BY several attributes"
_OUTSIDE = "session with types outside the pattern"
PARAMETER = "parameter in SESSION"
#: Constructs of this module.
OF_SESSIONS = (
    "session", _UP_TO, _CUT, _SEVERAL, _OUTSIDE, PARAMETER, *(_WITH + name for name in _TOGETHER)
)  # fmt: skip

_GAPS = (1, 1, 2, 2, 3, 5, 8)
_LONGEST = 2**61 - 1


def beside_session(aim: str) -> str:
    """Return the construct that a case aims at in addition to a session, or its aim."""
    return "contiguous" if aim == _OUTSIDE else aim.removeprefix(_WITH)


def with_session(dice: Dice, query: syntax.Query, shape: Shape) -> syntax.Query:
    """Return the query with sessions; one in eight has them, if its types share an attribute."""
    types = {kind for leaf in shape.every for kind in leaf.type.split("|")}
    shared = [name for name in "kgsx" if all(name in TYPES[kind] for kind in types)]
    if not shared or not dice.chance(0.12, *OF_SESSIONS):
        return query
    assert isinstance(query.within, syntax.Duration)
    unit = query.within.unit
    gap = dice.pick(_GAPS)
    if query.within.amount == _LONGEST:
        gap = dice.pick((3, _LONGEST // 5, _LONGEST))
    up_to = None
    if dice.chance(0.4, _UP_TO, _CUT):
        up_to = syntax.Duration(min(gap + dice.pick((0, 0, 1, 2, 4)), _LONGEST), unit)
    number = 2 if len(shared) > 1 and dice.chance(0.15, _SEVERAL) else 1
    keys = tuple(syntax.Reference(None, name) for name in shared[:number])
    session = syntax.Session(syntax.Duration(gap, unit), up_to, keys)
    return replace(query, within=None, slide=None, session=session)


def sessions_in(query: BoundQuery, others: set[str], rows: tuple[Event, ...]) -> set[str]:
    """What a query with sessions has, given all other constructs."""
    session = query.window.session
    if session is None:
        return set()
    found = {"session"} | {_WITH + name for name in others & set(_TOGETHER)}
    found |= {_WITH + "STEPS"} if query.steps else set()
    found |= {_SEVERAL} if len(session.keys) > 1 else set()
    if query.semantics is syntax.Semantics.CONTIGUOUS and any(
        kind not in session.types for kind, _, _ in rows
    ):
        found.add(_OUTSIDE)
    if session.up_to is not None:
        found |= {_UP_TO} | ({_CUT} if _cuts(session, rows) else set())
    return found


def _cuts(session: Session, rows: tuple[Event, ...]) -> bool:
    """Whether UP TO divides events that are close together."""
    of_owner: dict[tuple[object, ...], list[int]] = {}
    for kind, time, values in rows:
        owner = tuple(values.get(name) for name in session.keys)
        if kind in session.types and None not in owner:
            of_owner.setdefault(owner, []).append(time)
    for times in of_owner.values():
        first = last = min(times)
        for time in sorted(times):
            if time - last > session.gap:
                first = time
            if session.up_to is not None and time - first > session.up_to:
                return True
            last = time
    return False
