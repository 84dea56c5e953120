"""Texts of hints, for the command line and for the library."""

from __future__ import annotations

import pickle

from elsinore.errors import DataError, Diagnostic, UnsupportedQueryError
from elsinore.hints import Either, Hint, Option, Or

ALLOW = Option("max_error_rate", 0.5)
FORMAT = Option("input_format", "jsonl", is_in_library=False)


def test_an_option_is_named_as_the_reader_passes_it() -> None:
    hint = Hint("pass ", ALLOW)
    assert hint == hint.for_command() == "pass --max-error-rate 0.5"
    assert hint.for_python() == "pass max_error_rate=0.5"
    assert Hint(Option("executor", "greta")).for_python() == "executor='greta'"


def test_what_the_reader_lacks_is_left_out() -> None:
    hint = Hint("rename it", Or(", or add ", FORMAT), Or(", or add ", ALLOW), ".")
    assert hint == "rename it, or add --input-format jsonl, or add --max-error-rate 0.5."
    assert hint.for_python() == "rename it, or add max_error_rate=0.5."
    assert hint.for_command(["--input-format"]) == "rename it, or add --input-format jsonl."
    assert hint.for_command([]) == "rename it."


def test_hints_keep_their_parts_in_errors_that_are_pickled() -> None:
    error = DataError("no", hint=Hint(Either("in a shell", "in Python"), Or(" ", ALLOW)), rows=1)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "no (in a shell --max-error-rate 0.5)"
    told = again.told(Hint.for_python)
    assert (str(told), told.fields) == ("no (in Python max_error_rate=0.5)", {"rows": 1})


def test_errors_of_several_queries_tell_each_hint() -> None:
    refused = {name: Diagnostic(f"no {name}", hint=Hint(ALLOW)) for name in ("p", "q")}
    error = UnsupportedQueryError.of_queries("sweep", {**refused, "r": Diagnostic("no r")})
    assert str(error) == "no p (--max-error-rate 0.5) | no q (--max-error-rate 0.5) | no r"
    told = pickle.loads(pickle.dumps(error)).told(Hint.for_python)
    assert str(told) == "no p (max_error_rate=0.5) | no q (max_error_rate=0.5) | no r"
    assert told.fields["queries"] == ("p", "q", "r")
    assert [each.hint for each in told.diagnostics] == [*("max_error_rate=0.5",) * 2, None]
