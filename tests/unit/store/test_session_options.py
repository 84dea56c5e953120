"""Options of sessions of Spark without Connect; tests of the server cover those with it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from elsinore.store.session_options import options_set, set_options


class Session:
    """A classic session, of which only options are used."""

    def __init__(self) -> None:
        self.options: dict[str, str] = {}
        self.conf = self

    def set(self, name: str, value: str) -> None:
        self.options[name] = value

    def unset(self, name: str) -> None:
        del self.options[name]


def test_options_last_as_long_as_a_block() -> None:
    session: Any = Session()
    set_options(session, {"a": "1", "b": "2"})
    with suppress(ValueError), options_set(session, {"c": "3"}):
        assert session.options == {"a": "1", "b": "2", "c": "3"}
        raise ValueError
    with options_set(session, {}):
        assert session.options == {"a": "1", "b": "2"}
