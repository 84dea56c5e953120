"""The static plan: found whole, written, read, explained, refused when damaged, stale or wrong."""

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

from elsinore.choices import Optimizer
from elsinore.errors import PlanError
from elsinore.query.bound import Workload
from elsinore.query.fingerprints import fingerprint
from elsinore.sharing.explain import cut_query, explain_cuts, explain_plan, explain_savings, reason
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.plan import Fate, StaticPlan, plan_schema
from elsinore.sharing.replan import verify
from elsinore.sharing.statistics import Statistics
from tests.unit.sharing.support import bind, count_trends, pattern_sets

# In a window of 10: A 10, B 2, C 4, D 1.
RATES = Statistics.given(10, {"A": 10, "B": 2, "C": 4, "D": 1})
PARTS = {"q1": "ABCD", "q2": "BC", "q3": "ABC", "q4": ["D", "B+"], "q5": ["C", "D", "B+"]}


def _workload(parts: dict[str, Any]) -> Workload:
    return bind({name: count_trends(pattern) for name, pattern in parts.items()})


WORKLOAD = _workload(PARTS)


@pytest.fixture(name="plan")
def _plan() -> StaticPlan:
    return find_plan(WORKLOAD, RATES)


def _sharing(plan: StaticPlan, sharing: dict[str, tuple[str, ...]]) -> StaticPlan:
    """The plan with another choice: the queries that share each chosen candidate."""
    candidates = tuple(
        c.model_copy(update={"shared_by": sharing.get(c.id, ())}) for c in plan.candidates
    )
    return plan.model_copy(update={"chosen": tuple(sharing), "candidates": candidates})


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


def test_rows_for_people(plan: StaticPlan) -> None:
    found = [(c.id, c.pattern, c.queries, c.benefit, c.degree, f) for c, f in explain_plan(plan)]
    assert found == [
        ("p2", ("A", "B", "C"), ("q1", "q3"), 159, 3, "chosen"),
        ("p3", ("B", "C"), ("q1", "q2", "q3"), 89, 3,
         "pruned by the reduction: at most 89 < 95.3333"),
        ("p1", ("A", "B"), ("q1", "q3"), 94, 2, "in conflict with p2"),
        ("p4", ("C", "D"), ("q1", "q5"), 6, 2, "in conflict with p2"),
    ]  # fmt: skip


def test_a_workload_without_candidates_has_an_empty_plan() -> None:
    workload = _workload({"q1": "AB", "q2": "CD"})
    plan = find_plan(workload, RATES)
    assert (plan.candidates, plan.chosen, plan.score, plan.guaranteed_weight) == ((), (), 0, 0)
    verify(plan, workload)


@pytest.mark.slow
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
    savings = explain_savings(plan, workload, statistics)
    assert {s.candidate.id for s in savings.shared} == set(plan.chosen)
    assert len(savings.shared) + len(savings.unshared) == len(plan.candidates)
    assert sum(s.net or 0 for s in savings.shared) == pytest.approx(plan.score)
    for shared in savings.shared:
        assert shared.net == pytest.approx(shared.candidate.shared_benefit)
    for query, parts, cut in zip(workload.queries, sets, explain_cuts(plan, workload), strict=True):
        assert [box.text for box in cut.boxes] == parts
        told = {(s.candidate, query.name, s.start, s.stop) for s in cut.stretches if s.candidate}
        assert told == {
            (name, place.query, place.start, place.stop)
            for name in plan.chosen
            for place in plan.by_id[name].shared_occurrences
            if place.query == query.name
        }
    shuffled = list(named.items())
    random.shuffle(shuffled)
    assert find_plan(_workload(dict(shuffled)), statistics).to_json() == plan.to_json()


def _spoilt(value: Any) -> Iterator[Any]:
    """A JSON document with one of its values changed or gone, for each of them."""
    for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
        deeper = _spoilt(inner) if isinstance(inner, dict | list) else ()
        another = f"{inner}x" if isinstance(inner, str) else 77
        for other in (another, None, *deeper):
            if other != inner:
                changed = value.copy()
                changed[key] = other
                yield changed


def test_every_change_is_noticed(plan: StaticPlan) -> None:
    documents = list(_spoilt(json.loads(plan.to_json())))
    assert len(documents) > 120
    for document in documents:
        with pytest.raises(PlanError):
            StaticPlan.from_json(json.dumps(document))


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
    assert StaticPlan.from_json(json.dumps(document, indent=2)) == plan  # however it is spelt
    assert StaticPlan.from_json(_signed(document)) == plan
    for other in (1, 2, 3):
        with pytest.raises(PlanError, match=f"version {other}; this release reads version 4"):
            StaticPlan.from_json(_signed(document | {"version": other}))
    with pytest.raises(PlanError, match="more"):
        StaticPlan.from_json(_signed(document | {"more": 1}))
    with pytest.raises(PlanError, match="damaged"):
        StaticPlan.from_json(_signed(document | {"score": "159"}))


def test_the_fingerprint_follows_workload_statistics_and_choice(plan: StaticPlan) -> None:
    others = [
        find_plan(_workload(PARTS | {"q6": "AD"}), RATES),
        find_plan(WORKLOAD, Statistics.given(100, {"A": 100, "B": 20, "C": 40, "D": 10})),
        plan.model_copy(update={"chosen": ()}),
    ]
    assert len({plan.fingerprint, *(other.fingerprint for other in others)}) == 4


def test_a_plan_for_another_workload_is_stale(plan: StaticPlan) -> None:
    verify(plan, WORKLOAD)
    for other in (PARTS | {"q6": "AD"}, PARTS | {"q2": "CB"}, {"q1": "ABCD"}):
        with pytest.raises(PlanError, match="another workload"):
            verify(plan, _workload(other))
    renamed = {f"r{name}": pattern for name, pattern in PARTS.items()}
    with pytest.raises(PlanError, match="another workload"):
        verify(plan, _workload(renamed))


def test_any_valid_subset_may_share_and_no_other(plan: StaticPlan) -> None:
    # (A, B) and (B, C) overlap in q1 and q3 alone.
    verify(_sharing(plan, {"p3": ("q1", "q2")}), WORKLOAD)
    verify(_sharing(plan, {"p1": ("q1", "q3")}), WORKLOAD)
    with pytest.raises(PlanError, match="both p1 and p3"):
        verify(_sharing(plan, {"p1": ("q1", "q3"), "p3": ("q2", "q3")}), WORKLOAD)
    for few in ((), ("q1",), ("q1", "q1")):
        with pytest.raises(PlanError, match="fewer than two"):
            verify(_sharing(plan, {"p3": few}), WORKLOAD)
    with pytest.raises(PlanError, match="does not contain it"):
        verify(_sharing(plan, {"p3": ("q1", "q4")}), WORKLOAD)


def test_a_forged_choice_is_not_valid(plan: StaticPlan) -> None:
    queries = {c.id: c.queries for c in plan.candidates}
    for pair in combinations([c.id for c in plan.candidates], 2):
        forged = _sharing(plan, {name: queries[name] for name in pair})
        if pair == ("p1", "p4"):  # the one pair without a conflict
            verify(forged, WORKLOAD)
        else:
            with pytest.raises(PlanError, match="overlap"):
                verify(forged, WORKLOAD)
    with pytest.raises(PlanError, match="twice"):
        verify(plan.model_copy(update={"chosen": ("p2", "p2")}), WORKLOAD)
    with pytest.raises(PlanError, match="does not contain"):
        verify(plan.model_copy(update={"chosen": ("p9",)}), WORKLOAD)


def test_a_forged_candidate_is_not_valid(plan: StaticPlan) -> None:
    document = json.loads(plan.to_json())
    document["candidates"][1]["occurrences"][0]["start"] = 1
    with pytest.raises(PlanError, match="does not contain"):
        verify(StaticPlan.from_json(_signed(document)), WORKLOAD)


def test_the_json_schema_is_that_of_the_model_and_fits_the_artifact(plan: StaticPlan) -> None:
    text = (Path(__file__).parents[3] / "schemas/plans/static_plan.json").read_text()
    assert text == plan_schema()  # printed by `python -m elsinore.sharing.plan`
    validator = Draft202012Validator(json.loads(text))
    document = json.loads(plan.to_json())
    validator.validate(document)
    for name in document:
        short = {key: value for key, value in document.items() if key != name}
        assert list(validator.iter_errors(short)), name
    assert list(validator.iter_errors(document | {"more": 1}))


# ---- a plan explained: how it cuts queries, what each query gains, why candidates are not taken
def test_only_the_queries_that_share_are_cut(plan: StaticPlan) -> None:
    found = explain_cuts(_sharing(plan, {"p3": ("q1", "q2")}), WORKLOAD)  # (B, C)
    assert [str(cut) for cut in found[:3]] == [
        "SEQ(A | shared p3: B, C | D)",
        "SEQ(shared p3: B, C)",
        "SEQ(A, B, C)",
    ]


@pytest.mark.parametrize(
    ("pattern", "boxes"),
    [
        ("A", [("A", 0, 1, "", False)]),
        ("SEQ(A a, B+, A b)", [("A", 0, 1, "", False), ("B+", 1, 2, "B", False),
                               ("A", 2, 3, "", False)]),
        ("SEQ(A a, NOT SEQ(B+, C), D)", [("A", 0, 1, "", False),
                                         ("NOT SEQ(B+, C)", 1, 3, "", True),
                                         ("D", 3, 4, "", False)]),
        ("(SEQ(A+, B b*))+", [("SEQ(A+, B*)+", 0, 2, "AB", False)]),
        ("SEQ(A, B OR C+, D?)", [("A", 0, 1, "", False), ("B OR C+", 1, 3, "C", False),
                                 ("D?", 3, 4, "", False)]),
    ],
)  # fmt: skip
def test_boxes_cover_the_positions(pattern: str, boxes: list[tuple[object, ...]]) -> None:
    (query,) = bind([f"RETURN COUNT(*) PATTERN {pattern} WITHIN 10"]).queries
    found = cut_query(query, {}).boxes
    assert [(b.text, b.start, b.stop, "".join(sorted(b.kleene)), b.negated) for b in found] == boxes


def test_why_not(plan: StaticPlan) -> None:
    found = explain_savings(plan, WORKLOAD, RATES).unshared
    assert [(u.candidate.id, reason(u, plan.guaranteed_weight)) for u in found] == [
        ("p1", "p2 is shared instead in q1, q3"),  # 94
        ("p3", "a plan with it saves at most 89; 95.3333 is guaranteed"),
        ("p4", "p2 is shared instead in q1"),  # (C, D) in q1 and q5
    ]
    poor = Statistics.given(10, {"A": 2, "B": 3, "C": 5, "D": 7})
    costly = find_plan(WORKLOAD, poor, optimizer=Optimizer.GWMIN)
    reasons = {u.candidate.id: reason(u, 0) for u in explain_savings(costly, WORKLOAD).unshared}
    assert reasons["p3"] == "sharing it costs more than it saves"


def test_who_is_left_out_and_why(plan: StaticPlan) -> None:
    # (B, C) shared by q2 and q3 alone: nothing else takes its place in q1.
    (found,) = explain_savings(_sharing(plan, {"p3": ("q2", "q3")}), WORKLOAD, RATES).shared
    assert found.left_out == {"q1": ()}


def test_what_takes_the_place_of_a_query_that_is_left_out() -> None:
    # (A, B) of q1 and q4 takes the place of (B, C) in q1, which q2 and q3 share.
    workload = bind([count_trends(parts) for parts in ("ABC", "BC", "BC", "AB")])
    whole = find_plan(workload, RATES)
    (first,) = [c.id for c in whole.candidates if c.pattern == ("A", "B")]
    (second,) = [c.id for c in whole.candidates if c.pattern == ("B", "C")]
    plan = _sharing(whole, {first: ("q1", "q4"), second: ("q2", "q3")})
    told = {s.candidate.id: s.left_out for s in explain_savings(plan, workload, RATES).shared}
    assert told == {first: {}, second: {"q1": (first,)}}


def test_candidates_that_meet_nothing(plan: StaticPlan) -> None:
    other = _sharing(plan, {"p1": ("q1", "q3")})  # (A, B)
    met = {u.candidate.id: u.meets for u in explain_savings(other, WORKLOAD).unshared}
    assert met == {"p2": {"p1": ("q1", "q3")}, "p3": {"p1": ("q1", "q3")}, "p4": {}}
