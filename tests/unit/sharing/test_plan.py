"""The static plan: found whole, written and read, refused when damaged, stale or not valid."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from elsinore.errors import PlanError
from elsinore.query.bound import Workload
from elsinore.sharing.explain import explain_plan
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.fingerprints import fingerprint
from elsinore.sharing.plan import Fate, Finder, StaticPlan, plan_schema
from elsinore.sharing.replan import verify
from elsinore.sharing.statistics import Statistics
from tests.unit.sharing.support import bind, count_trends, pattern_sets

# In a window of 10: A 10, B 2, C 4, D 1.
RATES = Statistics.given(10, {"A": 10, "B": 2, "C": 4, "D": 1})
PARTS = {"q1": "ABCD", "q2": "BC", "q3": "ABC", "q4": ["D", "B+"], "q5": ["C", "D", "B+"]}


def _workload(parts: dict[str, Any] = PARTS) -> Workload:
    return bind({name: count_trends(pattern) for name, pattern in parts.items()})


@pytest.fixture(name="plan")
def _plan() -> StaticPlan:
    return find_plan(_workload(), RATES)


def test_the_whole_story(plan: StaticPlan) -> None:
    # (B, C) in q1, q2, q3 saves 89: the second case of the benefit goldens.
    # (A, B) in q1, q3: 170 + 160 - (120 + (4*5 + 10*4) + (4*4 + 10*4)) = 94.
    # (A, B, C) in q1, q3: 170 + 160 - (160 + (1*1 + 10*1) + 0) = 159.
    # (C, D) in q1, q5: 170 + 4*7 - (4*5 + (10*12 + 10*4) + (2*2 + 4*2)) = 6.
    story = {c.pattern: (c.queries, c.benefit, c.fate) for c in plan.candidates}
    assert story == {
        ("A", "B"): (("q1", "q3"), 94, Fate.IN_CONFLICT),
        ("A", "B", "C"): (("q1", "q3"), 159, Fate.CHOSEN),
        ("B", "C"): (("q1", "q2", "q3"), 89, Fate.PRUNED),  # alone in a plan, and 89 < 95.33
        ("C", "D"): (("q1", "q5"), 6, Fate.IN_CONFLICT),
    }
    assert (plan.chosen, plan.score, plan.bound, plan.proven) == (("p2",), 159, 159, True)
    # Degrees: 2, 3, 3, 2 (only (A, B) and (C, D) do not overlap).
    assert plan.guaranteed_weight == pytest.approx(94 / 3 + 159 / 4 + 89 / 4 + 6 / 3)
    assert [(part.event_type, part.queries) for part in plan.kleene] == [("B", ("q4", "q5"))]
    assert [(part.kleene, part.queries) for part in plan.sets] == [(("B",), ("q4", "q5"))]
    assert plan.by_id["p1"].excluded_by == ("p2",)
    assert plan.by_id["p2"].excluded_by == ()
    assert plan.by_id["p2"].shared_by == ("q1", "q3")
    assert plan.by_id["p2"].shared_benefit == 159
    # Equation 11: p1 and p4 go together, p2 and p3 with none.
    assert [c.score_max for c in plan.candidates] == [100, 159, 89, 100]
    assert [c.degree for c in plan.candidates] == [2, 3, 3, 2]


def test_candidates_that_do_not_pay_are_told_too() -> None:
    statistics = Statistics.given(10, {"A": 2, "B": 3, "C": 5, "D": 7})
    plan = find_plan(_workload(), statistics, finder=Finder.GWMIN)
    told = plan.by_id["p3"]  # (B, C): the first case of the benefit goldens
    assert (told.benefit, told.fate, told.degree) == (-51, Fate.NOT_BENEFICIAL, None)


def test_rows_for_people(plan: StaticPlan) -> None:
    found = [(r.id, r.pattern, r.queries, r.benefit, r.degree, r.fate) for r in explain_plan(plan)]
    assert found == [
        ("p2", "(A, B, C)", ("q1", "q3"), 159, 3, "chosen"),
        ("p3", "(B, C)", ("q1", "q2", "q3"), 89, 3,
         "pruned by the reduction: at most 89 < 95.3333"),
        ("p1", "(A, B)", ("q1", "q3"), 94, 2, "in conflict with p2"),
        ("p4", "(C, D)", ("q1", "q5"), 6, 2, "in conflict with p2"),
    ]  # fmt: skip


def test_a_workload_without_candidates_has_an_empty_plan() -> None:
    workload = _workload({"q1": "AB", "q2": "CD"})
    plan = find_plan(workload, RATES)
    assert (plan.candidates, plan.chosen, plan.score, plan.guaranteed_weight) == ((), (), 0, 0)
    verify(plan, workload)


@given(pattern_sets, st.lists(st.integers(0, 50), min_size=4, max_size=4), st.randoms())
def test_plans_of_random_workloads(sets: list[list[str]], rates: list[int], random: Any) -> None:
    named = {f"q{number}": parts for number, parts in enumerate(sets, 1)}
    workload = _workload(named)
    statistics = Statistics.given(10, dict(zip("ABCD", rates, strict=True)))
    plan = find_plan(workload, statistics)
    verify(plan, workload)
    assert StaticPlan.from_json(plan.to_json()) == plan
    assert plan.score >= plan.guaranteed_weight - 1e-9
    assert {c.id for c in plan.candidates if c.fate is Fate.CHOSEN} == set(plan.chosen)
    for candidate in plan.candidates:
        assert (candidate.degree is not None) == (candidate.benefit > 0)
        if candidate.fate is Fate.CHOSEN:
            assert set(candidate.shared_by) <= set(candidate.queries)
            assert candidate.shared_benefit is not None
            assert candidate.shared_benefit > 0
        elif candidate.benefit > 0:
            assert candidate.excluded_by
        else:
            assert candidate.fate is Fate.NOT_BENEFICIAL
    shuffled = list(named.items())
    random.shuffle(shuffled)
    assert find_plan(_workload(dict(shuffled)), statistics).to_json() == plan.to_json()


def test_a_spelling_with_spaces_is_the_same_plan(plan: StaticPlan) -> None:
    assert StaticPlan.from_json(json.dumps(json.loads(plan.to_json()), indent=2)) == plan


def _changes(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to every value of a JSON document."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from _changes(inner, (*path, key))


def _changed(document: Any, path: tuple[Any, ...], new: Any) -> str:
    copy = json.loads(json.dumps(document))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new(inner[path[-1]]) if callable(new) else new
    return json.dumps(copy)


def _another(value: Any) -> Any:
    if isinstance(value, str):
        return f"{value}x"
    return value[:-1] if isinstance(value, list) and value else 77


def test_every_change_is_noticed(plan: StaticPlan) -> None:
    document = json.loads(plan.to_json())
    paths = list(_changes(document))
    assert len(paths) > 60
    for path in paths:
        if document_at(document, path) != []:
            with pytest.raises(PlanError):
                StaticPlan.from_json(_changed(document, path, _another))
        if document_at(document, path) is not None:
            with pytest.raises(PlanError):
                StaticPlan.from_json(_changed(document, path, None))


def document_at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "{}", "[" * 100_000, '{"version": 1}', '{"version": NaN}']
)
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(PlanError):
        StaticPlan.from_json(text)


def _signed(document: dict[str, Any]) -> str:
    """The document with a fingerprint that fits it."""
    body = {key: value for key, value in document.items() if key != "fingerprint"}
    return json.dumps(body | {"fingerprint": fingerprint(body)})


def test_other_versions_and_unknown_fields_are_refused_even_when_signed(plan: StaticPlan) -> None:
    document = json.loads(plan.to_json())
    assert StaticPlan.from_json(_signed(document)) == plan
    for other in (1, 2, 3):
        with pytest.raises(PlanError, match=f"version {other}; this build reads version 4"):
            StaticPlan.from_json(_signed(document | {"version": other}))
    with pytest.raises(PlanError, match="more"):
        StaticPlan.from_json(_signed(document | {"more": 1}))
    with pytest.raises(PlanError, match="damaged"):
        StaticPlan.from_json(_signed(document | {"score": "159"}))


def test_the_fingerprint_follows_workload_statistics_and_choice(plan: StaticPlan) -> None:
    others = [
        find_plan(_workload(PARTS | {"q6": "AD"}), RATES),
        find_plan(_workload(), Statistics.given(100, {"A": 100, "B": 20, "C": 40, "D": 10})),
        plan.model_copy(update={"chosen": ()}),
    ]
    assert len({plan.fingerprint, *(other.fingerprint for other in others)}) == 4


def test_a_plan_for_another_workload_is_stale(plan: StaticPlan) -> None:
    verify(plan, _workload())
    for other in (PARTS | {"q6": "AD"}, PARTS | {"q2": "CB"}, {"q1": "ABCD"}):
        with pytest.raises(PlanError, match="another workload"):
            verify(plan, _workload(other))
    renamed = {f"r{name}": pattern for name, pattern in PARTS.items()}
    with pytest.raises(PlanError, match="another workload"):
        verify(plan, _workload(renamed))


def _sharing(plan: StaticPlan, sharing: dict[str, tuple[str, ...]]) -> StaticPlan:
    """The plan with another choice: the queries that share each chosen candidate."""
    candidates = tuple(
        c.model_copy(update={"shared_by": sharing.get(c.id, ())}) for c in plan.candidates
    )
    return plan.model_copy(update={"chosen": tuple(sharing), "candidates": candidates})


def test_any_valid_subset_may_share_and_no_other(plan: StaticPlan) -> None:
    workload = _workload()
    # (A, B) and (B, C) overlap in q1 and q3 alone.
    verify(_sharing(plan, {"p3": ("q1", "q2")}), workload)
    verify(_sharing(plan, {"p1": ("q1", "q3")}), workload)
    with pytest.raises(PlanError, match="both p1 and p3"):
        verify(_sharing(plan, {"p1": ("q1", "q3"), "p3": ("q2", "q3")}), workload)
    for few in ((), ("q1",), ("q1", "q1")):
        with pytest.raises(PlanError, match="fewer than two"):
            verify(_sharing(plan, {"p3": few}), workload)
    with pytest.raises(PlanError, match="does not hold it"):
        verify(_sharing(plan, {"p3": ("q1", "q4")}), workload)


def test_a_forged_choice_is_not_valid(plan: StaticPlan) -> None:
    workload = _workload()
    queries = {c.id: c.queries for c in plan.candidates}
    for pair in combinations([c.id for c in plan.candidates], 2):
        forged = _sharing(plan, {name: queries[name] for name in pair})
        if pair == ("p1", "p4"):  # the one pair without a conflict
            verify(forged, workload)
        else:
            with pytest.raises(PlanError, match="overlap"):
                verify(forged, workload)
    with pytest.raises(PlanError, match="twice"):
        verify(plan.model_copy(update={"chosen": ("p2", "p2")}), workload)
    with pytest.raises(PlanError, match="does not hold"):
        verify(plan.model_copy(update={"chosen": ("p9",)}), workload)


def test_a_forged_candidate_is_not_valid(plan: StaticPlan) -> None:
    document = json.loads(plan.to_json())
    document["candidates"][1]["occurrences"][0]["start"] = 1
    with pytest.raises(PlanError, match="does not hold"):
        verify(StaticPlan.from_json(_signed(document)), _workload())


def test_the_json_schema_is_that_of_the_model_and_fits_the_artifact(plan: StaticPlan) -> None:
    text = (Path(__file__).parents[3] / "schemas/plans/static_plan.json").read_text()
    assert text == plan_schema()  # `python -m elsinore.sharing.plan` writes it anew
    validator = Draft202012Validator(json.loads(text))
    document = json.loads(plan.to_json())
    validator.validate(document)
    for name in document:
        short = {key: value for key, value in document.items() if key != name}
        assert list(validator.iter_errors(short)), name
    assert list(validator.iter_errors(document | {"more": 1}))
