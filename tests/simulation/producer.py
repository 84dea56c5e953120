"""A producer of raw files that errs: what it should have delivered, and what it does when."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Callable
from math import isinf
from pathlib import Path
from random import Random
from typing import Any

from elsinore.timeline import HOUR, MINUTE, format_instant, hour_label
from tests.simulation.streams import Stream

#: What happens to the file of an hour, and how often in a hundred.
TROUBLES = {
    "none": 60, "late": 10, "cut short": 6, "renamed": 6, "replaced": 6, "half written": 4,
    "corrected": 6, "never": 2,
}  # fmt: skip


class Producer:
    """Writes the files of hours when they are due, and later what it owes.

    Attributes:
        zone: the landing zone.
        told: what it did, for people.
        kept_back: by hour whose file is not there yet as it should be, from when it is.
    """

    def __init__(self, zone: Path, seed: str, stream: Stream) -> None:
        self.zone, self.told = zone, list[str]()
        self._stream = stream
        self.kept_back: dict[int, int] = {}
        self._draw = Random(seed)
        self._owed: dict[int, list[Callable[[], object]]] = defaultdict(list)
        self._events: dict[int, list[dict[str, Any]]] = {}
        self._dead_until = 0

    def deliver(self, hour: int) -> None:
        """Does what is due at the end of an hour: its file or trouble with it, and what is owed."""
        for owed in self._owed.pop(hour, ()):
            owed()
        lines = self._events.setdefault(hour, self._some(hour))
        if self._draw.random() < 0.02:
            self._dead_until = hour + self._draw.randint(3, 6) * HOUR
        trouble = self._draw.choices([*TROUBLES], weights=[*TROUBLES.values()])[0]
        if len(self._events) == 1:  # the stream begins with this file
            self._write(hour, lines)
        elif hour < self._dead_until:
            self._later(hour, self._dead_until, "dead feed", lambda: self._write(hour, lines))
        else:
            self._trouble(trouble, hour, lines)

    def settle(self) -> None:
        """Delivers all that is still owed."""
        for hour in sorted(self._owed):
            for owed in self._owed.pop(hour):
                owed()

    def withdraw(self, hour: int) -> str | None:
        """Takes an event out of the file of an hour, which is there as it should be: its id."""
        lines = self._events.get(hour, [])
        if len(lines) < 2 or hour in self.kept_back or not self._path(hour).exists():
            return None
        gone = lines.pop()
        self._write(hour, lines)
        self.told.append(f"{hour_label(hour)} {gone['id']} withdrawn")
        return str(gone["id"])

    def _trouble(self, trouble: str, hour: int, lines: list[dict[str, Any]]) -> None:
        later = hour + self._draw.randint(1, 5) * HOUR
        path = self._path(hour)
        if trouble == "never":
            self.kept_back[hour] = 2**62
            self._events[hour] = []
            self.told.append(f"{hour_label(hour)} never")
        elif trouble == "late":
            self._later(hour, later, trouble, lambda: self._write(hour, lines))
        elif trouble == "cut short":
            self._write(hour, lines)
            path.write_bytes(path.read_bytes()[:-9])
            self._later(hour, later, trouble, lambda: self._write(hour, lines))
        elif trouble == "half written":
            self._write(hour, lines)
            part = path.rename(path.with_name(f"{path.name}.part"))
            self._later(hour, later, trouble, lambda: part.rename(path))
        else:
            self._write(hour, lines)
            if trouble == "renamed":
                to = path.with_name(path.name.replace(".jsonl", "-again.jsonl"))
                self._owe(later, hour, trouble, lambda: path.rename(to))
            elif trouble == "replaced":
                self._owe(later, hour, trouble, lambda: self._replace(hour))
            elif trouble == "corrected" and lines:
                corrected = self._changed(lines[0])
                self._events.setdefault(later, self._some(later)).append(corrected)
                self.told.append(f"{hour_label(hour)} corrected in {hour_label(later)}")

    def _later(self, hour: int, due: int, trouble: str, then: Callable[[], object]) -> None:
        self.kept_back[hour] = due

        def come() -> None:
            del self.kept_back[hour]
            then()

        self._owe(due, hour, trouble, come)

    def _owe(self, due: int, hour: int, trouble: str, then: Callable[[], object]) -> None:
        self._owed[due].append(then)
        self.told.append(f"{hour_label(hour)} {trouble} until {hour_label(due)}")

    def _replace(self, hour: int) -> None:
        lines = self._events[hour]
        lines[:] = map(self._changed, lines)
        if self._path(hour).exists():
            self._write(hour, lines)

    def _some(self, hour: int) -> list[dict[str, Any]]:
        """A few events of an hour, now and then a late one and one that comes twice."""
        kinds = self._stream.types
        lines = [
            self._changed({
                "id": f"{hour_label(hour)}-{n}",
                "type": kinds[0] if n < 2 else self._draw.choice(kinds),
                "time": format_instant(hour - self._late(hour) + self._draw.randrange(60) * MINUTE),
            })
            for n in range(self._draw.randint(2, 5))
        ]  # fmt: skip
        return lines + lines[: self._draw.random() < 0.1]

    def _late(self, hour: int) -> int:
        """How late an event comes: not at all, or by some hours of the history."""
        hours = self._draw.choices((0, 1, 2, 5), weights=(45, 2, 2, 1))[0]
        return hours * HOUR if hour - hours * HOUR >= min(self._events, default=hour) else 0

    def _changed(self, line: dict[str, Any]) -> dict[str, Any]:
        """An event with other attributes."""
        return line | self._stream.draw(line["type"], self._draw)

    def _path(self, hour: int) -> Path:
        label = hour_label(hour)
        return self.zone.joinpath(*label[:10].split("-"), f"events-{label}.jsonl.gz")

    def _write(self, hour: int, lines: list[dict[str, Any]]) -> None:
        if 2 * sum(line != _finite(line) for line in lines) > len(lines):
            lines[:] = map(_finite, lines)  # else the hour would be refused
        path = self._path(hour)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        path.write_bytes(gzip.compress(text.encode(), mtime=0))


def _finite(line: dict[str, Any]) -> dict[str, Any]:
    """A line with NULL in place of values that no attribute may have."""
    is_infinite = {name: isinstance(v, float) and isinf(v) for name, v in line.items()}
    return {name: None if is_infinite[name] else value for name, value in line.items()}
