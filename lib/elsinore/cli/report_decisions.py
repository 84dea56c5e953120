"""What Hamlet decided in a run, as a file for programs or a picture, and in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from elsinore.cli.answers import opened
from elsinore.errors import ParameterError
from elsinore.executors.hamlet.observe import Decision, Observer
from elsinore.plot import ENDINGS
from elsinore.plot.draw_decisions import SetDecisions, draw_decisions
from elsinore.sharing.sharable import SharableSet
from elsinore.timeline import format_instant

#: Decisions of a set that are kept; the first ones of a longer run.
MOST = 500_000


@dataclass
class DecisionsReport:
    """Watches the sets of a run and writes what was decided in them.

    `path` is a .json file for every decision, or a .svg or .png file for a picture.
    """

    path: Path
    calendar: bool
    watched: list[tuple[SharableSet, Observer]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.path.suffix.lower() not in (".json", *ENDINGS):
            raise ParameterError(
                f"decisions cannot be written to {self.path}",
                hint=f"let it end in .json, {' or '.join(ENDINGS)}",
            )

    def observe(self, found: SharableSet) -> Observer:
        """The observer of a set's run."""
        observer = Observer(room=MOST, details=False)
        self.watched.append((found, observer))
        return observer

    def write(self) -> str:
        """Write the file, and say in one line what was decided; ParameterError: it cannot be."""
        sets = [
            _as_arrays(number, *watched, calendar=self.calendar)
            for number, watched in enumerate(self.watched, 1)
        ]
        if self.path.suffix.lower() != ".json":
            draw_decisions(sets, self.path)
        else:
            with opened(self.path) as out:
                out.writelines(piece.encode() for piece in self._json())
        return f"{_in_words(sets)}; {self.path}"

    def _json(self) -> Iterator[str]:
        """The text in pieces: a decision a line, however many there are."""
        yield '{"sets": ['
        for number, (found, observer) in enumerate(self.watched, 1):
            head = {
                "set": f"s{number}",
                "kleene": found.kleene,
                "queries": [query.name for query in found.merged.queries],
                "counts": observer.counts,
                "complete": observer.complete,
            }
            yield ("," if number > 1 else "") + "\n" + json.dumps(head)[:-1] + ', "decisions": ['
            for place, decision in enumerate(observer.decisions):
                row = _as_mapping(decision, found, observer, calendar=self.calendar)
                yield ("," if place else "") + "\n" + json.dumps(row, ensure_ascii=False)
            yield "]}"
        yield "\n]}\n"


def _as_mapping(
    decision: Decision, found: SharableSet, observer: Observer, *, calendar: bool
) -> dict[str, Any]:
    """A decision by name; costs are None where the executor does not weigh any."""
    time = int(observer.times[decision.entry])
    weighed = _weighed(decision)
    state = found.merged.states[decision.state]
    return {
        "burst": decision.burst,
        "partition": decision.partition,
        "group": json.loads(observer.groups[decision.partition]),
        "type": state.type,
        "time": format_instant(time) if calendar else time,
        "b": decision.b,
        "n": decision.n,
        "g": decision.g,
        "k": decision.k,
        "snapshots": {"created": decision.s_c, "propagated": decision.s_p},
        "shared_cost": decision.shared if weighed else None,
        "alone_cost": decision.alone if weighed else None,
        "sharing": [found.merged.queries[query].name for query in decision.queries],
    }


def _weighed(decision: Decision) -> bool:
    return bool(decision.shared or decision.alone)


def _as_arrays(
    number: int, found: SharableSet, observer: Observer, *, calendar: bool
) -> SetDecisions:
    """The decisions on bursts that more than one query takes."""
    made = [decision for decision in observer.decisions if decision.k > 1]
    benefit = [max(decision.benefit, 0.0) if decision.queries else 0.0 for decision in made]
    types = ", ".join(f"{kind}+" for kind in found.merged.shared_types)
    kept = "" if observer.complete else f", the first {len(observer.decisions):,} bursts"
    return SetDecisions(
        title=f"s{number}: {types} in {len(found.queries)} queries{kept}",
        times=observer.times[np.array([d.entry for d in made], np.int64)],
        lengths=np.array([d.b for d in made], np.int64),
        sharing=np.array([len(d.queries) for d in made], np.int64),
        takers=np.array([d.k for d in made], np.int64),
        saved=np.array(benefit) if any(_weighed(d) for d in made) else None,
        calendar=calendar,
    )


def _in_words(sets: Sequence[SetDecisions]) -> str:
    """How many bursts were shared, over all sets."""
    every = sum(each.times.size for each in sets)
    if not every:
        return "no burst of several queries"
    by_all = sum(int((each.sharing == each.takers).sum()) for each in sets)
    by_none = sum(int((each.sharing == 0).sum()) for each in sets)
    plural = f"{len(sets)} sets" if len(sets) > 1 else "1 set"
    saved = [each.saved.sum() for each in sets if each.saved is not None]
    words = f", {sum(saved) / 1e6:,.3g} ms saved as predicted" if saved else ""
    return (
        f"{every:,} bursts of {plural}: {by_all:,} shared by all of their queries,"
        f" {every - by_all - by_none:,} by some, {by_none:,} by none{words}"
    )
